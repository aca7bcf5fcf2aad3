"""The ledger end to end: what it hides, how long it keeps, who may change it, and the trail that all of that leaves."""
import csv
import hmac
import io
import json
import os
import sqlite3
import subprocess
import unittest

import console_page
from wrackline import BINARY, ROOT, CommandTest, job

COLUMNS = {"page": "text", "email": "text", "user_id": "bigint", "price": "numeric(10,2)", "at": "timestamptz"}
KEY = "0123456789abcdef0123456789abcdef"
SECRETS = ("ann@secret.example", "4711000", "bob@secret.example", "4712000")


def time(second):
    return f"2024-05-01T{12 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def record(second, page="/p", email="ann@secret.example", user_id=4711000, price=1.5, **more):
    return {"page": page, "email": email, "user_id": user_id, "price": price, "at": time(second), **more}


def lines(records):
    return "".join(json.dumps(one) + "\n" for one in records)


# On time, then far ahead, then late: two late records, of which one is of another user.
LATE = [record(0), record(600, email="x", user_id=1), record(1), record(2, email="bob@secret.example", user_id=4712000)]


class Ledger(CommandTest):
    def state_bytes(self, state="job.state"):
        return b"".join(path.read_bytes() for path in sorted((self.folder / state).rglob("*")) if path.is_file())

    def assert_hidden(self, *secrets):
        found = self.state_bytes()
        self.assertGreater(len(found), 1000)
        for secret in secrets or SECRETS:
            self.assertNotIn(secret.encode(), found)
            self.assertNotIn(json.dumps(secret)[1:-1].encode(), found)

    def hmac(self, text):
        return hmac.new(KEY.encode(), text.encode(), "sha256").hexdigest()[:32]

    def audit(self):
        return self.run_command("ledger", "audit", "--state", "job.state", "--json").document


class Masks(Ledger):
    OPTIONS = {"ledger_mask": "email", "ledger_hash": "user_id", "ledger_key_file": "ledger.key"}

    def setUp(self):
        super().setUp()
        self.write("ledger.key", KEY + "\n")

    def run_records(self, records, *arguments, source=(), path="clicks.jsonl", **options):
        self.write(path, records if isinstance(records, str) else lines(records))
        return self.run_job(job(path, columns=COLUMNS, source={**self.OPTIONS, **dict(source)}, **options), *arguments)

    def test_no_secret_reaches_the_state_directory(self):
        self.run_records(LATE)
        entries = self.ledger()
        self.assertEqual([entry["offset"] for entry in entries], [2, 3])
        for entry in entries:
            self.assertEqual(entry["payload_state"], "masked")
            self.assertEqual(json.loads(entry["payload"])["email"], "***")
            self.assertEqual(json.loads(entry["payload"])["page"], "/p")
        self.assertEqual([json.loads(entry["payload"])["user_id"] for entry in entries], [self.hmac("4711000"), self.hmac("4712000")])
        self.assert_hidden()

    def test_csv(self):
        text = "at,user_id,\"email\",page,price\n"
        for one in LATE:
            text += ",".join([one["at"], str(one["user_id"]), '"' + one["email"] + '"', one["page"], "1.5"]) + "\n"
        self.run_records(text, path="clicks.csv")
        entries = self.ledger()
        self.assertEqual([entry["payload"] for entry in entries],
                         [f"{time(1)},{self.hmac('4711000')},***,/p,1.5", f"{time(2)},{self.hmac('4712000')},***,/p,1.5"])
        self.assert_hidden()

    def test_records_merged_by_arrival(self):
        columns = {**COLUMNS, "received": "timestamptz"}
        text = "received,at,user_id,email,page,price\n"
        for arrival, one in enumerate(LATE):
            text += ",".join([time(700 + arrival), one["at"], str(one["user_id"]), one["email"], one["page"], "1.5"]) + "\n"
        self.write("clicks.csv", text)
        self.run_job(job("clicks.csv", columns=columns, source={**self.OPTIONS, "order_by": "arrival_time", "arrival_time": "received"}))
        self.assertEqual([entry["payload_state"] for entry in self.ledger()], ["masked", "masked"])
        self.assert_hidden()

    def test_records_that_do_not_parse_are_kept_without_their_bytes(self):
        broken = ['{"page":"/p","email":"ann@secret.example","user_id":4711000',
                  '{"page":"/p","price":"ann@secret.example","at":"2024-05-01T12:00:00Z"}',
                  '{"page":"/p","user_id":"bob@secret.example","at":"2024-05-01T12:00:00Z"}',
                  'ann@secret.example 4711000',
                  '{"email":"ann@secret.example' + "x" * 300 + '"}',
                  '{"user_id":4711000,"email":"ann@secret.example"}']
        select = "count(*) AS n, sum(price) AS total, max(user_id) AS last"
        self.run_records("\n".join(broken) + "\n", source={"max_record_bytes": "200"}, select=select)
        entries = self.ledger()
        self.assertEqual(len(entries), 6)
        for entry in entries[:5]:
            self.assertEqual((entry["payload"], entry["payload_state"]), ("", "withheld"))
            self.assert_says(entry["detail"], "bytes withheld", "HMAC-SHA-256")
        self.assert_says(entries[1]["detail"], 'column "price": the value does not fit numeric(10,2)')
        self.assertIn(self.hmac(broken[3]), entries[3]["detail"])
        self.assertEqual(entries[5]["payload_state"], "masked")
        self.assert_hidden()

    def test_errors_of_expressions_quote_nothing(self):
        self.run_records([record(0)], select="sum(email::bigint) AS n")
        entry, = self.ledger()
        self.assertEqual(entry["reason"], "unparseable")
        self.assert_says(entry["detail"], "invalid input syntax for type bigint", "withheld")
        self.assert_hidden()

    def test_keys_are_hidden_as_the_payload_is(self):
        self.write("clicks.jsonl", lines(LATE))
        self.write("job.sql", job(columns=COLUMNS, source=self.OPTIONS, keys=("user_id", "lower(email)"), sink=""))
        self.run_command("run", "job.sql", "--format", "jsonl")
        entries = self.ledger()
        self.assertEqual([(entry["key"]["user_id"], sorted(entry["key"].values())[0]) for entry in entries],
                         [(self.hmac("4711000"), "***"), (self.hmac("4712000"), "***")])
        self.assertNotIn(b"@secret", (self.folder / "job.state" / "ledger.sqlite").read_bytes())

    def test_views_over_views_hide_what_comes_from_hidden_columns(self):
        self.write("clicks.jsonl", lines(LATE))
        text = job(columns=COLUMNS, source=self.OPTIONS, keys=("email",), view={"allowed_lateness": "1 h"}, sink="") + """
CREATE MATERIALIZED VIEW upper AS
SELECT window_start, window_end, lower(email) AS who, sum(1 / (clicks - 1)) AS n
FROM TUMBLE(per_window, window_end, INTERVAL '1 hour') GROUP BY window_start, window_end, lower(email);
"""
        self.write("job.sql", text)
        self.run_command("run", "job.sql", "--format", "jsonl")
        entries = [entry for entry in self.ledger() if entry["view"] == "upper"]
        self.assertTrue(entries)
        for entry in entries:
            self.assertEqual((entry["key"], json.loads(entry["payload"])["email"]), ("***", "***"))
        self.assertNotIn(b"@secret", (self.folder / "job.state" / "ledger.sqlite").read_bytes())

    def test_a_key_in_the_environment(self):
        self.write("clicks.jsonl", lines(LATE))
        self.write("job.sql", job(columns=COLUMNS, source={"ledger_hash": "user_id"}))
        self.assert_says(self.run_command("run", "job.sql", code=1).err, 'ledger_hash of source "clicks" has no key', "WRACKLINE_LEDGER_KEY")
        os.environ["WRACKLINE_LEDGER_KEY"] = "short"
        self.addCleanup(os.environ.pop, "WRACKLINE_LEDGER_KEY", None)
        self.assert_says(self.run_command("run", "job.sql", code=1).err, "has 5 bytes, a key has at least 16")
        os.environ["WRACKLINE_LEDGER_KEY"] = KEY
        self.run_command("run", "job.sql")
        self.assertEqual(json.loads(self.ledger()[0]["payload"])["user_id"], self.hmac("4711000"))
        self.assertNotIn(KEY.encode(), self.state_bytes())

    def test_a_key_must_not_stand_beside_what_it_protects(self):
        self.write("job.state/key", KEY)
        self.write("clicks.jsonl", lines(LATE))
        said = self.refuse_job(job(columns=COLUMNS, source={**self.OPTIONS, "ledger_key_file": "job.state/key"}))
        self.assert_says(said, "stands in the state directory")
        said = self.refuse_job(job(columns=COLUMNS, source={**self.OPTIONS, "ledger_key_file": "none.key"}))
        self.assert_says(said, "none.key", "openssl rand")

    def test_what_cannot_be_hidden_is_refused(self):
        for source, fragments in (({"ledger_mask": "at"}, ("is a time",)),
                                  ({"ledger_mask": "emal"}, ('did you mean "email"',)),
                                  ({"ledger_msk": "email"}, ('did you mean "ledger_mask"',)),
                                  ({"ledger_mask": "page", "partition": "page"}, ("is the partition",)),
                                  ({"ledger_mask": "email", "ledger_hash": "email"}, ("named already",)),
                                  ({"ledger_key_file": "ledger.key"}, ("without ledger_hash",))):
            with self.subTest(source=source):
                self.assert_says(self.refuse_job(job(columns=COLUMNS, source=source)), *fragments)

    def test_check_explains(self):
        self.write("job.sql", job(columns=COLUMNS, source=self.OPTIONS, keys=("email",),
                                  view={"ledger_retention": "90 days", "ledger_max_entries": "1000", "ledger_max_bytes": "10 GiB"}))
        outcome = self.run_command("check", "job.sql")
        self.assert_says(outcome.out, "ledger_mask", "ledger_hash", "ledger.key", "*** for email", "for user_id", "kept without its bytes",
                         "ledger_retention", "90 days", "ledger_max_entries", "10,737,418,240", "stay counted by reason")
        self.assert_says(outcome.out + outcome.err, 'column "email"', 'view "per_window" computes with it')


class Retention(Ledger):
    def test_what_goes_is_counted(self):
        records = [record(0), record(6000)] + [record(1, page=f"/{i}") for i in range(20)]
        self.write("clicks.jsonl", lines(records))
        document = self.run_job(job(columns=COLUMNS, view={"ledger_max_entries": "5"}))
        self.assertEqual(document["balance"][0]["ledgered"], 20)
        self.assertEqual([entry["offset"] for entry in self.ledger()], [17, 18, 19, 20, 21])
        self.assert_says(self.run_command("run", "job.sql").err, "5 entries", "15 more removed by retention")
        self.assert_says(self.run_command("ledger", "list", "--state", "job.state").out, "5 entries", "15  more were removed by retention")
        first = self.audit()[0]
        self.assertEqual((first["action"], first["run"], first["entries"], first["counts"][0]["reason"]), ("retention_entries", 1, 15, "late"))
        self.assertEqual(sum(line["entries"] for line in self.audit()), 35, "with the five that the first run had left")

    def test_values_that_make_no_sense_are_refused(self):
        for option, value in (("ledger_retention", "0 s"), ("ledger_max_entries", "0"), ("ledger_max_bytes", "1 parsec"),
                              ("ledger_retention", "1 month")):
            with self.subTest(option=option, value=value):
                self.assert_says(self.refuse_job(job(columns=COLUMNS, view={option: value})), option)


class Changes(Ledger):
    def setUp(self):
        super().setUp()
        self.write("clicks.jsonl", lines(LATE) + "broken\n")
        self.run_job(job(columns=COLUMNS))
        self.assertEqual(len(self.ledger()), 3)

    def change(self, *arguments, **options):
        return self.run_command("ledger", *arguments, "--state", "job.state", **options)

    def test_waive(self):
        said = self.change("waive", "--reason", "late", "--because", "test devices").out
        self.assert_says(said, "2 entries waived", "reason late", "line 1 of the audit trail")
        self.assertEqual([entry["state"] for entry in self.ledger()], ["open", "waived", "waived"])
        self.assertEqual([entry["audit"] for entry in self.ledger()], [None, 1, 1])
        line, = self.audit()
        self.assertEqual((line["action"], line["because"], line["chosen"], line["entries"]), ("waive", "test devices", "reason late", 2))
        self.assertTrue(line["who"])
        self.assert_says(self.change("list").out, "2 of them waived", "[waived]")
        self.assert_says(self.change("audit").out, "waive", "test devices", line["who"])
        document = self.change("waive", "--all", "--because", "done", "--json").document
        self.assertEqual((document["entries"], document["left_alone"], document["audit"]), (1, 2, 2))

    def test_a_reason_must_be_given(self):
        self.assert_says(self.change("waive", "--seq", "1", code=2).err, "--because")
        self.assert_says(self.change("purge", "--seq", "1", "--because", " ", code=2).err, "--because is empty")

    def test_what_is_meant_must_be_said(self):
        self.assert_says(self.change("purge", "--because", "x", code=2).err, "which entries", "--all")
        self.assert_says(self.change("purge", "--because", "x", "--all", "--seq", "1", code=2).err, "contradicts")
        self.assert_says(self.change("waive", "--because", "x", "--vew", "per_window", code=2).err, "--vew")
        self.assert_says(self.change("waive", "--because", "x", "--view", "per_windw", code=1).err, '"per_window"')
        self.assert_says(self.change("waive", "--because", "x", "--reason", "lat", code=2).err, "The reasons are")
        self.assert_says(self.change("waive", "--because", "x", "--seq", "77", code=1).err, "no entry 77")
        self.assertEqual(self.audit(), [])

    def test_purge_leaves_no_byte(self):
        self.assertIn(b"ann@secret.example", self.state_bytes())
        dry = self.change("purge", "--all", "--because", "x", "--dry-run").out
        self.assert_says(dry, "3 entries would be emptied")
        self.assertIn(b"ann@secret.example", self.state_bytes())
        self.change("purge", "--view", "per_window", "--because", "erasure request 12")
        self.assert_hidden(*SECRETS, "broken")
        entries = self.ledger()
        self.assertEqual({(entry["payload"], entry["key"], entry["payload_state"]) for entry in entries}, {("", None, "purged")})
        self.assertEqual([entry["reason"] for entry in entries], ["unparseable", "late", "late"])
        self.assert_says(self.change("show", "1").out, "(purged)", "line 1 of `wrackline ledger audit`")

    def test_purge_of_entries_stays_counted(self):
        self.change("purge", "--entries", "--window", "2024-05-01T12:00:00Z", "--because", "retention schedule")
        self.assertEqual([entry["reason"] for entry in self.ledger()], ["unparseable"])
        self.assert_says(self.change("list").out, "1 entries", "2  more were purged")
        self.assertEqual(self.audit()[0]["entries"], 2)

    def test_a_running_job_is_named(self):
        self.write("job.sql", job(columns=COLUMNS, source={"follow": "on"}))
        process = subprocess.Popen([BINARY, "run", "job.sql"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            lock = self.folder / "job.state" / "lock"
            for _ in range(200):
                if lock.exists() and lock.read_text().strip() == str(process.pid):
                    break
                try:
                    process.wait(0.05)
                except subprocess.TimeoutExpired:
                    pass
            said = self.change("waive", "--all", "--because", "x", code=1).err
            self.assert_says(said, f"in use by process {process.pid}", "stop the job", "--dry-run")
        finally:
            process.terminate()
            process.wait()

    def test_export_covers_states_and_the_audit(self):
        self.change("waive", "--seq", "1", "--because", "x")
        rows = [json.loads(line) for line in self.change("export").out.splitlines()]
        self.assertEqual([(row["state"], row["audit"], row["payload_state"]) for row in rows],
                         [("waived", 1, "whole"), ("open", None, "whole"), ("open", None, "whole")])
        table = list(csv.DictReader(io.StringIO(self.change("export", "--format", "csv").out)))
        self.assertEqual([(row["state"], row["audit"], row["payload_state"]) for row in table],
                         [("waived", "1", "whole"), ("open", "", "whole"), ("open", "", "whole")])
        # Who reads no further ends the export quietly.
        self.write("more.jsonl", lines([record(0), record(60000)] + [record(1)] * 20000))
        self.run_job(job("more.jsonl", columns=COLUMNS))
        piped = subprocess.run(f"{BINARY} ledger export --state job.state | head -n 1", shell=True, cwd=self.folder, capture_output=True, check=True)
        self.assertEqual(piped.stderr, b"")
        self.assertEqual(json.loads(piped.stdout)["seq"], 4)

    def test_the_trail_in_sql(self):
        self.change("waive", "--seq", "1", "--because", "x")
        with sqlite3.connect(self.folder / "job.state" / "ledger.sqlite") as database:
            self.assertEqual(database.execute('SELECT action, because, reason, entries FROM audit_trail').fetchall(), [("waive", "x", "unparseable", 1)])


class Page(CommandTest):
    def test_the_page_is_true(self):
        self.assertGreater(console_page.check(self, ROOT / "docs/ledger.md"), 10)


if __name__ == "__main__":
    unittest.main()
