"""What bad input gets: a message that says what, where and what to do; never a crash, a hang or a lost count."""
import collections
import os
import random
import subprocess
import time
import unittest

import wrackline
from wrackline import CLICKS, NOBODY, CommandTest, job

GOOD = "".join(f'{{"user_id":{n},"page":"/p{n % 2}","at":"2024-05-01T12:{n:02}:00Z"}}\n' for n in range(10))


def reasons(entries):
    return collections.Counter(entry["reason"] for entry in entries)


class BadFile(CommandTest):
    def test_missing_file(self):
        said = self.refuse_job(job(path="clikcs.jsonl"))
        self.assert_says(said, "clikcs.jsonl", "no such file")

    def test_missing_file_of_measure(self):
        said = self.run_command("measure", "nothing.jsonl", "--event-time", "at", "--arrival-time", "at", code=1).err
        self.assert_says(said, "nothing.jsonl", "no such file")

    def test_glob_that_matches_nothing(self):
        self.assert_says(self.refuse_job(job(path="clicks-*.jsonl")), "clicks-*.jsonl", "hint")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become another user")
    def test_unreadable_file(self):
        os.chmod(self.write("clicks.jsonl", GOOD), 0o600)
        said = self.refuse_job(job(), user=NOBODY)
        self.assert_says(said, "clicks.jsonl", "permission denied")

    def test_directory(self):
        (self.folder / "clicks.jsonl").mkdir()
        self.assert_says(self.refuse_job(job()), "clicks.jsonl", "directory")

    def test_empty_file(self):
        self.write("clicks.jsonl", "")
        document = self.run_job(job())
        self.assertEqual(document["balance"][0]["read"], 0)
        self.assertEqual(self.rows(), [])

    def test_empty_csv_file(self):
        self.write("clicks.csv", "")
        said = self.run_command("measure", "clicks.csv", "--event-time", "at", "--arrival-time", "at", "--json", code=1)
        self.assert_says(said.err, "no records")

    def test_binary_file(self):
        noise = random.Random(1).randbytes(200_000).replace(b"\r", b"")
        self.write("clicks.jsonl", noise)
        lines = [line for line in noise.split(b"\n") if line.strip(b" \t\r\n\v\f")]
        balance = self.run_job(job())["balance"][0]
        self.assertEqual(balance["read"], len(lines))
        self.assertEqual(balance["ledgered"], len(lines))
        self.assertEqual(reasons(self.ledger()), {"unparseable": len(lines)})

    def test_binary_file_as_csv(self):
        self.write("clicks.csv", random.Random(2).randbytes(100_000))
        said = self.refuse_job(job(path="clicks.csv"))
        self.assert_says(said, "clicks.csv")

    def test_truncated_gzip(self):
        import gzip
        whole = gzip.compress(GOOD.encode() * 5000)
        self.write("clicks.jsonl.gz", whole[: len(whole) // 2])
        self.assert_says(self.refuse_job(job(path="clicks.jsonl.gz")), "clicks.jsonl.gz", "gzip")

    def test_file_that_is_not_gzip(self):
        self.write("clicks.jsonl.gz", GOOD)
        self.assert_says(self.refuse_job(job(path="clicks.jsonl.gz")), "clicks.jsonl.gz", "gzip")


class BadLine(CommandTest):
    def only_the_last_fails(self, line, reason):
        """Ten good records, then one that must be the only entry of the ledger."""
        self.write("clicks.jsonl", GOOD.encode() + line)
        balance = self.run_job(job(select="count(*) AS clicks, max(user_id) AS user_id"))["balance"][0]
        self.assertEqual((balance["read"], balance["accepted"], balance["ledgered"]), (11, 10, 1))
        entries = self.ledger()
        self.assertEqual([(entry["reason"], entry["offset"]) for entry in entries], [(reason, 10)])
        return entries[0]

    def test_half_a_line_at_the_end(self):
        self.only_the_last_fails(b'{"user_id":10,"page":"/p', "unparseable")

    def test_last_line_without_its_end_counts(self):
        self.write("clicks.jsonl", GOOD + '{"user_id":10,"page":"/p1","at":"2024-05-01T12:10:00Z"}')
        self.assertEqual(self.run_job(job())["balance"][0]["accepted"], 11)

    def test_invalid_utf8(self):
        self.only_the_last_fails(b'{"user_id":10,"page":"/\xff\xfe","at":"2024-05-01T12:10:00Z"}\n', "unparseable")

    def test_invalid_utf8_in_a_column_nobody_asked_for(self):
        self.only_the_last_fails(b'{"user_id":10,"page":"/p1","at":"2024-05-01T12:10:00Z","other":"\xc3("}\n', "unparseable")

    def test_nul_byte(self):
        self.only_the_last_fails(b'{"user_id":10,"page":"/p\x001","at":"2024-05-01T12:10:00Z"}\n', "unparseable")

    def test_trailing_content(self):
        self.only_the_last_fails(b'{"user_id":10,"page":"/p1","at":"2024-05-01T12:10:00Z"} 1\n', "unparseable")

    def test_column_of_another_type(self):
        self.only_the_last_fails(b'{"user_id":"ten","page":"/p1","at":"2024-05-01T12:10:00Z"}\n', "unparseable")

    def test_number_out_of_range(self):
        self.only_the_last_fails(b'{"user_id":9223372036854775808,"page":"/p1","at":"2024-05-01T12:10:00Z"}\n', "out_of_range")

    def test_time_out_of_range(self):
        columns = {**CLICKS, "at": "bigint"}
        lines = "".join(f'{{"user_id":{n},"page":"/p","at":{1_714_564_800 + n}}}\n' for n in range(10))
        self.write("clicks.jsonl", lines + '{"user_id":10,"page":"/p","at":9223372036854775807}\n')
        balance = self.run_job(job(columns=columns, source={"time_unit": "s"}))["balance"][0]
        self.assertEqual((balance["read"], balance["accepted"], balance["ledgered"]), (11, 10, 1))
        self.assertEqual(reasons(self.ledger()), {"out_of_range": 1})

    def test_no_event_time(self):
        self.only_the_last_fails(b'{"user_id":10,"page":"/p1","at":null}\n', "no_event_time")

    def test_column_missing_in_a_record_is_null(self):
        self.write("clicks.jsonl", GOOD + '{"user_id":10,"at":"2024-05-01T12:10:00Z"}\n')
        self.assertEqual(self.run_job(job())["balance"][0]["accepted"], 11)
        self.assertIn(None, {row["page"] for row in self.rows()})

    def test_line_of_100_mb(self):
        long_line = b'{"user_id":10,"page":"' + b"x" * 100_000_000 + b'","at":"2024-05-01T12:10:00Z"}\n'
        self.write("clicks.jsonl", GOOD.encode() + long_line + b'{"user_id":11,"page":"/p1","at":"2024-05-01T12:11:00Z"}\n')
        document = self.run_job(job())
        balance = document["balance"][0]
        self.assertEqual((balance["read"], balance["accepted"], balance["ledgered"]), (12, 11, 1))
        self.assertEqual(reasons(self.ledger()), {"oversize": 1})

    @unittest.skipIf(wrackline.SANITIZED, "a sanitizer needs memory of its own")
    def test_line_of_100_mb_is_not_held_in_memory(self):
        self.write("clicks.jsonl", GOOD.encode() + b"x" * 100_000_000 + b"\n")
        self.write("job.sql", job())
        outcome = self.run_command("run", "job.sql", "--json")
        self.assertLess(outcome.memory_kb, 150_000, "the whole line was held in memory")

    def test_bad_csv_fields(self):
        self.write("clicks.csv", "user_id,page,at\n1,/a,2024-05-01T12:00:00Z\nx,/a,2024-05-01T12:00:00Z\n2,/a\n"
                                 '3,"/a,2024-05-01T12:00:00Z\n')
        balance = self.run_job(job(path="clicks.csv", select="max(user_id) AS user_id"))["balance"][0]
        self.assertEqual((balance["read"], balance["accepted"], balance["ledgered"]), (4, 1, 3))
        self.assertEqual(reasons(self.ledger()), {"unparseable": 3})

    def test_every_bad_line_says_where_it_is(self):
        self.write("clicks.jsonl", GOOD + "nonsense\n")
        self.run_job(job())
        said = self.run_command("ledger", "list", "--state", "job.state").out
        self.assert_says(said, "clicks.jsonl", "11", "unparseable")


class BadJob(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("clicks.jsonl", GOOD)

    def test_missing_job_file(self):
        self.assert_says(self.run_command("run", "jobb.sql", code=1).err, "jobb.sql", "no such file")

    def test_column_not_there_in_the_query(self):
        said = self.refuse_job(job(select="sum(amuont) AS total"))
        self.assert_says(said, "job.sql:10:44", "amuont", "^", "hint")

    def test_column_not_there_in_the_csv_header(self):
        self.write("clicks.csv", "user_id,pgae,at\n1,/a,2024-05-01T12:00:00Z\n")
        self.assert_says(self.refuse_job(job(path="clicks.csv")), "clicks.csv", "page", "pgae")

    def test_column_not_there_for_measure(self):
        said = self.run_command("measure", "clicks.jsonl", "--event-time", "att", "--arrival-time", "at", code=1).err
        self.assert_says(said, "att", "at")

    def test_wrong_type_in_the_query(self):
        self.assert_says(self.refuse_job(job(where="page > 5")), "job.sql:12:12", "^")

    def test_unknown_option_of_a_source(self):
        said = self.refuse_job(job(source={"watermark_dealy": "30 s"}))
        self.assert_says(said, "watermark_dealy", 'did you mean "watermark_delay"', "^")

    def test_unknown_option_of_a_view(self):
        said = self.refuse_job(job(view={"alowed_lateness": "1 h"}))
        self.assert_says(said, "alowed_lateness", 'did you mean "allowed_lateness"')

    def test_unknown_option_value(self):
        self.assert_says(self.refuse_job(job(view={"late": "corect"})), "corect", "correct", "ledger", "drop")

    def test_unknown_option_of_the_command(self):
        self.write("job.sql", job())
        self.assert_says(self.run_command("run", "job.sql", "--stat", "x", code=2).err, "--stat")

    def test_unknown_command(self):
        self.assert_says(self.run_command("rnu", "job.sql", code=2).err, "rnu")

    def test_no_watermark_delay_names_budget(self):
        self.assert_says(self.refuse_job(job(source={"watermark_delay": None})), "watermark_delay", "wrackline budget")

    def test_options_that_contradict_each_other(self):
        for source, view, named in [
            ({"order_by": "arrival_time"}, {}, ("order_by", "arrival_time")),
            ({"time_unit": "ms"}, {}, ("time_unit",)),
            ({}, {"late": "drop", "allowed_lateness": "1 h"}, ("drop", "allowed_lateness")),
        ]:
            with self.subTest(source=source, view=view):
                self.assert_says(self.refuse_job(job(source=source, view=view)), *named)

    def test_numeric_time_without_unit(self):
        self.assert_says(self.refuse_job(job(columns={**CLICKS, "at": "bigint"})), "time_unit", "ms")

    def test_delay_without_unit(self):
        self.assert_says(self.refuse_job(job(source={"watermark_delay": "30"})), "watermark_delay", "30")

    def test_negative_delay(self):
        self.assert_says(self.refuse_job(job(source={"watermark_delay": "-30 s"})), "watermark_delay", "negative")

    def test_append_sink_of_a_view_that_corrects(self):
        said = self.refuse_job(job(view={"allowed_lateness": "1 h"}, sink="connector = 'file', path = 'out.jsonl', mode = 'append'"))
        self.assert_says(said, "append", "correct")

    def test_what_is_not_supported_is_refused_with_its_place(self):
        for query in ("SELECT a.page FROM clicks a ASOF JOIN clicks b ON a.page = b.page",
                      "SELECT page, rank() OVER (ORDER BY page) FROM clicks",
                      "SELECT window_start, count(*) FROM HOP(clicks, at, INTERVAL '1 s') GROUP BY window_start, window_end"):
            with self.subTest(query=query):
                head = job(sink="").split("CREATE MATERIALIZED")[0]
                said = self.refuse_job(f"{head}CREATE MATERIALIZED VIEW v AS {query};\n")
                self.assert_says(said, "job.sql:", "^")

    def test_syntax_error_has_its_place(self):
        self.assert_says(self.refuse_job("CREATE TABEL x (a int);\n"), "job.sql:1:8", "^")

    def test_job_that_is_not_sql(self):
        self.write("job.sql", random.Random(3).randbytes(5000))
        self.assert_says(self.run_command("check", "job.sql", code=1).err, "job.sql")

    def test_statement_too_long(self):
        self.refuse_job("SELECT " + "1+" * 100_000 + "1;")


class BadState(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("clicks.jsonl", GOOD)

    def test_state_in_use(self):
        self.write("job.sql", job(source={"connector": "stdin", "path": None, "format": "jsonl"}))
        first = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--state", "s"], cwd=self.folder, stdin=subprocess.PIPE,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            first.stdin.write(GOOD.encode())
            first.stdin.flush()
            deadline = time.monotonic() + 60
            while not (self.folder / "s").exists() or not list((self.folder / "s").iterdir()):
                self.assertLess(time.monotonic(), deadline, "the first run made no state")
                time.sleep(0.01)
            time.sleep(0.2)
            said = self.run_command("run", "job.sql", "--state", "s", code=1).err
            self.assert_says(said, '"s"', "in use")
        finally:
            _, complaints = first.communicate(timeout=60)
        self.assertEqual(first.returncode, 0, complaints)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become another user")
    def test_state_not_writable(self):
        (self.folder / "s").mkdir(mode=0o755)
        said = self.refuse_job(job(), "--state", "s", user=NOBODY)
        self.assert_says(said, '"s', "permission denied")

    def test_state_is_a_file(self):
        self.write("s", "hello")
        self.assert_says(self.refuse_job(job(), "--state", "s"), '"s', "directory")

    def test_ledger_that_is_not_a_database(self):
        self.run_job(job(), "--state", "s")
        for file in (self.folder / "s").glob("ledger*"):
            file.write_bytes(b"not a database at all" * 100)
        self.assert_says(self.refuse_job(job(), "--state", "s"), "ledger", "database")

    def test_ledger_list_without_state(self):
        self.assert_says(self.run_command("ledger", "list", "--state", "none-such", code=1).err, "none-such")


class FullDisk(CommandTest):
    """Late records fill the ledger, or results the sink, until no space is left."""

    RECORDS = 40_000

    def setUp(self):
        super().setUp()
        late = "".join(f'{{"user_id":{n},"page":"/{n}{"x" * 60}","at":"2024-05-01T10:00:00Z"}}\n' for n in range(self.RECORDS))
        self.write("clicks.jsonl", GOOD + late)

    def small_disk(self, name):
        """A disk of 1 MB at folder/name where we may mount one; otherwise None, and the caller limits file sizes."""
        place = self.folder / name
        place.mkdir()
        if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True).returncode:
            return None
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=True)
        return place

    def refuse_for_space(self, name, text, *arguments):
        limit = None if self.small_disk(name) else 1 << 20
        if limit:
            print("note: no small disk could be mounted; files may not grow beyond 1 MB instead")
        return self.refuse_job(text, *arguments, file_bytes_max=limit)

    def test_no_space_for_the_ledger(self):
        said = self.refuse_for_space("small", job(), "--state", "small/s")
        self.assertRegex(said.lower(), "no space|disk is full|full|too large")
        self.assert_says(said, "small/s")

    def test_no_space_for_the_results(self):
        text = job(view={"allowed_lateness": "1 day"}, sink="connector = 'file', path = 'small/out.jsonl'")
        said = self.refuse_for_space("small", text)
        self.assertRegex(said.lower(), "no space|disk is full|full|too large")
        self.assert_says(said, "out.jsonl")

    def test_nothing_is_lost_once_there_is_space(self):
        self.refuse_for_space("small", job(), "--state", "small/s")
        balance = self.run_job(job(), "--state", "roomy")["balance"][0]
        self.assertEqual((balance["accepted"], balance["ledgered"]), (10, self.RECORDS))

    def test_no_space_on_standard_output(self):
        with open("/dev/full", "wb") as full:
            self.write("job.sql", job(sink=""))
            process = subprocess.run([wrackline.BINARY, "run", "job.sql"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=full,
                                     stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assert_says(process.stderr.decode(), "standard output")


if __name__ == "__main__":
    unittest.main()
