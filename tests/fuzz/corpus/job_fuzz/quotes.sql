CREATE TABLE "t""x" (U&"\0061b" int, "ä" text) WITH (connector = $q$file$q$, path = U&'\0061', null = 'it''s') /* /* */ */ -- x
