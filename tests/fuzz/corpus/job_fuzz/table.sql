CREATE TEMP TABLE IF NOT EXISTS public.t (a int NOT NULL DEFAULT 3 CHECK (a > 1), b text[] COLLATE "C", c interval second(3), LIKE x, PRIMARY KEY (a))
INHERITS (y) PARTITION BY RANGE (a) WITH (a.b = 1, c, d = -5.5, e = on) ON COMMIT DROP TABLESPACE s;
