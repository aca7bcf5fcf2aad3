#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/version.h"

namespace wrackline::cli {
namespace {

// The command that was chosen; empty until a subcommand's callback sets it.
using Chosen = std::function<int()>;

void add_run(CLI::App& app, RunCommand& command, Chosen& chosen) {
  CLI::App* sub = app.add_subcommand("run", "Run a job; ends with the balance of every record");
  sub->add_option("job", command.job, "job file, - for standard input")->required();
  sub->add_option("--state", command.state,
                  "directory of the ledger (default: beside the job file, clicks.state for clicks.sql); none "
                  "keeps nothing");
  sub->add_option("--set", command.set,
                  "override an option of a source: source.option=value (may be repeated)")
      ->allow_extra_args(false);
  sub->add_option("--replay", command.replay,
                  "follow the tick log in this state directory: the same ticks, so the same results");
  sub->add_flag("--resume", command.resume,
                "go on with a run that was stopped or killed: from its newest checkpoint, along its tick log")
      ->excludes("--replay");
  sub->add_option("--checkpoint-interval", command.checkpoint_interval,
                  "how often the state is saved, where there is a state directory; off saves none")
      ->capture_default_str();
  sub->add_flag("--follow", command.follow, "go on reading files that grow, until interrupted");
  sub->add_option("--at-end", command.at_end, "what the end of bounded input does to open windows")
      ->check(CLI::IsMember({"flush", "hold"}))
      ->capture_default_str();
  sub->add_option("--format", command.format,
                  "rows on standard output (default: table on a terminal, else jsonl)")
      ->check(CLI::IsMember({"table", "jsonl", "csv"}));
  sub->add_option("--tick-rows", command.tick_rows, "most records in a tick")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20))
      ->capture_default_str();
  sub->add_option("--threads", command.threads, "shards of each view's keys, each with a thread")
      ->check(CLI::Range(uint64_t{1}, uint64_t{256}))
      ->capture_default_str();
  sub->add_option("--monitor-interval", command.monitor_interval,
                  "how often the watermark delay is judged, in arrival time; off watches nothing")
      ->capture_default_str();
  sub->add_option("--target-late", command.target_late, "share of records that may be late before an alarm")
      ->capture_default_str();
  sub->add_option("--false-alarm-every", command.false_alarm_every,
                  "mean time between false alarms that is acceptable")
      ->capture_default_str();
  sub->add_option("--alarm-command", command.alarm_command,
                  "shell command to start for each alarm, which it gets as JSON on standard input");
  sub->add_option("--metrics", command.metrics, "keep figures for Prometheus in this file");
  sub->add_flag("--json", command.json, "end with one JSON document on standard output");
  sub->footer(
      "Examples:\n"
      "  wrackline run clicks.sql\n"
      "  wrackline run clicks.sql --follow --metrics clicks.prom --alarm-command 'mail -s late "
      "ops@example.org'\n"
      "  wrackline run clicks.sql --set clicks.path=today.jsonl --state /var/lib/clicks\n"
      "  wrackline run clicks.sql --follow --resume\n"
      "  wrackline run clicks.sql --replay /var/lib/clicks --state again.state\n"
      "  zcat clicks.jsonl.gz | wrackline run from_stdin.sql | jq 'select(._status == \"correction\")'");
  sub->callback([&] { chosen = [&] { return run(command); }; });
}

void add_check(CLI::App& app, CheckCommand& command, Chosen& chosen) {
  CLI::App* sub = app.add_subcommand("check", "Check a job and explain it; runs nothing");
  sub->add_option("job", command.job, "job file, - for standard input")->required();
  sub->add_option("--set", command.set,
                  "override an option of a source: source.option=value (may be repeated)")
      ->allow_extra_args(false);
  sub->add_flag("--json", command.json, "one JSON document");
  sub->footer("Examples:\n  wrackline check clicks.sql");
  sub->callback([&] { chosen = [&] { return check(command); }; });
}

void add_input_options(CLI::App* sub, InputArguments& input) {
  sub->add_option("input", input.paths, "files or globs, .gz and .zst too; - for standard input");
  sub->add_option("--event-time", input.event_time, "column that says when it happened");
  sub->add_option("--arrival-time", input.arrival_time, "column that says when it arrived");
  sub->add_option("--partition", input.partition, "column that names the partition (default: the file)");
  sub->add_option("--time-unit", input.time_unit, "unit of numeric times: s, ms, us or ns");
  sub->add_option("--time-zone", input.time_zone, "zone of times without one, such as UTC or Europe/Vienna");
  sub->add_option("--time-missing", input.time_missing, "number that means: no time");
  sub->add_option("--format", input.format, "jsonl or csv (default: from the name)")
      ->check(CLI::IsMember({"jsonl", "csv"}));
  sub->add_option("--delimiter", input.delimiter, "of CSV")->capture_default_str();
  sub->add_option("--order-by", input.order_by,
                  "order of records: as in the input, or sorted by arrival time")
      ->check(CLI::IsMember({"input", "arrival"}))
      ->capture_default_str();
  sub->add_option("--max-future-skew", input.max_future_skew,
                  "event times further ahead of arrival do not move the watermark")
      ->capture_default_str();
  sub->add_option("--id", input.id,
                  "columns that identify a record, commas between them: later copies are left out");
  sub->add_flag("--drop-repeats", input.drop_repeats, "leave out records that repeat an earlier one exactly");
}

void add_measure(CLI::App& app, MeasureCommand& command, Chosen& chosen) {
  CLI::App* sub =
      app.add_subcommand("measure", "Measure how late records are: delay and disorder, per partition");
  add_input_options(sub, command.input);
  sub->add_option("--producer", command.producer, "column that names the sender, to judge each one's clock");
  sub->add_option("--out", command.out, "save the profile; saved ones are inputs that are added up");
  sub->add_option("--against", command.against,
                  "compare with a saved profile; exit 3 when the distribution changed");
  sub->add_option("--report", command.report, "write the figures as one HTML page into this file");
  sub->add_flag("--json", command.json, "one JSON document");
  sub->footer(
      "Examples:\n"
      "  wrackline measure clicks.jsonl --event-time at --arrival-time received --report clicks.html\n"
      "  wrackline measure 'trips/*.csv.gz' --event-time event_ms --arrival-time arrival_ms --time-unit ms\n"
      "  wrackline measure - --format jsonl --event-time at --partition device --json < clicks.jsonl | jq "
      ".all\n"
      "  wrackline measure clicks.jsonl --event-time at --arrival-time received --producer device --out "
      "may.json\n"
      "  wrackline measure may.json june.json --against april.json");
  sub->callback([&] { chosen = [&] { return measure(command); }; });
}

void add_budget(CLI::App& app, BudgetCommand& command, Chosen& chosen) {
  CLI::App* sub =
      app.add_subcommand("budget", "Derive watermark delay and allowed lateness, and what they cost");
  add_input_options(sub, command.input);
  sub->add_option("--window", command.window,
                  "size of the windows that the budget is for (default: judge records)");
  sub->add_option("--slide", command.slide, "slide of hopping windows (default: the size)");
  sub->add_option("--offset", command.offset, "offset of the windows");
  sub->add_option("--key", command.key, "column of the grouping key, to count the state that windows need");
  sub->add_option("--keys", command.keys, "expected number of grouping keys, instead of --key");
  sub->add_option("--target-late", command.target_late, "share of records that may be late")
      ->capture_default_str();
  sub->add_option("--tail", command.tail, "share of records that must reach their window in the end")
      ->capture_default_str();
  sub->add_option("--rule", command.rule, "exact (on disorder), or the plain nearest-rank recipe on delays")
      ->check(CLI::IsMember({"exact", "nearest-rank"}))
      ->capture_default_str();
  sub->add_option("--profile", command.profile, "a saved profile instead of input");
  sub->add_option(
      "--emit", command.emit,
      "settings for wrackline, flink, flink-sql, spark, kafka-streams or beam instead of the report");
  sub->add_option("--report", command.report, "write the figures as one HTML page into this file");
  sub->add_flag("--json", command.json, "one JSON document");
  sub->footer(
      "Examples:\n"
      "  wrackline budget clicks.jsonl --event-time at --arrival-time received --window '1 min' --key page\n"
      "  wrackline budget clicks.jsonl --event-time at --arrival-time received --rule nearest-rank "
      "--target-late 5%");
  sub->callback([&] { chosen = [&] { return budget(command); }; });
}

void add_sweep(CLI::App& app, SweepCommand& command, Chosen& chosen) {
  CLI::App* sub = app.add_subcommand(
      "sweep", "What-if: what every pair of watermark delay and allowed lateness would do, from one pass");
  sub->add_option("job", command.job, "job file, - for standard input")->required();
  sub->add_option("--delay", command.delay,
                  "candidate delays, commas between them (default: 0 s up to days)");
  sub->add_option("--lateness", command.lateness, "candidate latenesses, likewise");
  sub->add_option("--view", command.view, "the view to sweep, when the job has several");
  sub->add_option("--set", command.set,
                  "override an option of a source: source.option=value (may be repeated)")
      ->allow_extra_args(false);
  sub->add_option("--tick-rows", command.tick_rows, "most records in a tick; versions depend on it")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20))
      ->capture_default_str();
  sub->add_option("--report", command.report, "write the figures as one HTML page into this file");
  sub->add_flag("--json", command.json, "one JSON document");
  sub->footer(
      "Examples:\n"
      "  wrackline sweep clicks.sql\n"
      "  wrackline sweep clicks.sql --delay '0 s,10 s,30 s,2 min' --lateness '0 s,10 min,2 h' --json");
  sub->callback([&] { chosen = [&] { return sweep(command); }; });
}

void add_ledger(CLI::App& app, LedgerCommand& command, Chosen& chosen) {
  CLI::App* sub = app.add_subcommand("ledger", "Every record that is in no result, and why");
  sub->require_subcommand(1);
  sub->footer(
      "Examples:\n"
      "  wrackline ledger list --state clicks.state --window 2024-05-01T12:00:00Z\n"
      "  wrackline ledger show 17 --state clicks.state\n"
      "  wrackline ledger export --state clicks.state --format csv > late.csv\n"
      "  wrackline ledger waive --state clicks.state --seq 17 --because 'test device'\n"
      "  wrackline ledger purge --state clicks.state --view per_minute --because 'erasure request 4711'\n"
      "  wrackline ledger audit --state clicks.state");
  const auto add = [&](const char* action, const char* help) {
    CLI::App* part = sub->add_subcommand(action, help);
    part->add_option("--state", command.state, "state directory of the run")->required();
    part->add_option("--generation", command.generation, "of an earlier start (default: the newest)");
    part->callback([&command, &chosen, action] {
      command.action = action;
      chosen = [&command] { return ledger(command); };
    });
    return part;
  };
  const auto add_filters = [&](CLI::App* part) {
    part->add_option("--view", command.view, "entries of this view only");
    part->add_option("--window", command.window, "entries that missed the window that starts then");
    part->add_option("--reason", command.reason, "entries with this reason only");
  };
  const auto add_limit = [&](CLI::App* part) {
    part->add_option("--limit", command.limit, "at most so many entries")->check(CLI::NonNegativeNumber);
  };
  CLI::App* list = add("list", "List entries");
  add_filters(list);
  add_limit(list);
  list->add_flag("--json", command.json, "one JSON array");
  CLI::App* show = add("show", "Show one entry with its payload");
  show->add_option("seq", command.seq, "number of the entry")->required();
  show->add_flag("--json", command.json, "one JSON document");
  CLI::App* export_part = add("export", "Write entries as JSON lines or CSV");
  add_filters(export_part);
  add_limit(export_part);
  export_part->add_option("--format", command.format, "jsonl or csv")->capture_default_str();
  const auto add_change = [&](const char* action, const char* help) {
    CLI::App* part = add(action, help);
    add_filters(part);
    part->add_option("--seq", command.seq, "the entry with this number");
    part->add_flag("--all", command.all, "every entry of the run, instead of a filter");
    part->add_option("--because", command.because, "why; stands in the audit trail")->required();
    part->add_flag("--dry-run", command.dry_run, "only say how many; works while the job runs");
    part->add_flag("--json", command.json, "one JSON document");
    return part;
  };
  add_change("waive", "Mark open entries as left out on purpose");
  add_change("purge", "Remove what entries say: payload, key and detail")
      ->add_flag("--entries", command.entries,
                 "remove the whole entries; their number stays in the audit trail");
  CLI::App* audit = sub->add_subcommand("audit", "Who changed or removed entries, when and why");
  audit->add_option("--state", command.state, "state directory of the run")->required();
  audit->add_flag("--json", command.json, "one JSON array");
  audit->callback([&command, &chosen] {
    command.action = "audit";
    chosen = [&command] { return ledger(command); };
  });
}

void add_explain(CLI::App& app, ExplainCommand& command, Chosen& chosen) {
  CLI::App* sub = app.add_subcommand(
      "explain", "Why a record is where it is: the watermark that judged it, who held it, its fate");
  sub->add_option("--state", command.state, "state directory of the run")->required();
  sub->add_option("--source", command.source, "name of the source (may be left out if the job has one)");
  sub->add_option("--partition", command.partition, "the record's partition, or its file");
  sub->add_option("--offset", command.offset, "the record's number in its file, from 0")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--file", command.file, "its file, where one partition has the offset in several");
  sub->add_option("--entry", command.entry, "instead of a place: the number of a ledger entry");
  sub->add_flag("--json", command.json, "one JSON document");
  sub->footer(
      "The run's ticks are followed again up to the record, with nothing published; the input must be there\n"
      "as it was.\n"
      "Examples:\n"
      "  wrackline explain --state clicks.state --entry 1\n"
      "  wrackline explain --state clicks.state --source clicks --partition clicks.jsonl --offset 3\n"
      "  wrackline explain --state clicks.state --partition phone --file a.jsonl --offset 17 --json | jq "
      ".held_by");
  sub->callback([&] { chosen = [&] { return explain(command); }; });
}

void add_status(CLI::App& app, StatusCommand& command, Chosen& chosen) {
  CLI::App* sub =
      app.add_subcommand("status", "What a state directory knows: watermarks and who holds them, the ledger");
  sub->add_option("--state", command.state, "state directory of the run")->required();
  sub->add_flag("--json", command.json, "one JSON document");
  sub->footer(
      "Works while the run goes on.\n"
      "Examples:\n"
      "  wrackline status --state clicks.state\n"
      "  wrackline status --state clicks.state --json | jq '.sources[].held_by'");
  sub->callback([&] { chosen = [&] { return status(command); }; });
}

void add_generate(CLI::App& app, GenerateCommand& command, Chosen& chosen) {
  CLI::App* sub = app.add_subcommand("generate", "Seeded records with a stated delay law, as JSON lines");
  sub->add_option("kind", command.kind, "what to generate")
      ->required()
      ->check(CLI::IsMember({"bids", "clicks", "sensors"}));
  sub->add_option("--rows", command.rows, "how many records")->capture_default_str();
  sub->add_option("--seed", command.seed, "the same seed gives the same bytes")->capture_default_str();
  sub->add_option("--late", command.late, "delay law")
      ->check(CLI::IsMember({"none", "uniform", "pareto", "offline"}))
      ->capture_default_str();
  sub->add_option("--keys", command.keys,
                  "so many auctions, users or sensors, all alike (default: as the kind has them)")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
  sub->add_option("--order", command.order,
                  "of the lines: as records arrive, or as they happened; the same records")
      ->check(CLI::IsMember({"arrival", "event"}))
      ->capture_default_str();
  sub->add_option("--truth", command.truth, "write what the records must add up to into this file");
  sub->footer(
      "Delay laws (of 30 % of the records; the others arrive at once):\n"
      "  none     all arrive at once            uniform  up to 10 s\n"
      "  pareto   20 ms, alpha 1.1, at most 600 s\n"
      "  offline  pareto, and 1 % held back for 1 to 8 hours\n"
      "Examples:\n"
      "  wrackline generate bids --rows 1000000 --seed 7 > bids.jsonl");
  sub->callback([&] { chosen = [&] { return generate(command); }; });
}

// The words that can follow each command, for the shell. Written from the parser itself, so it cannot fall
// behind.
std::string bash_completion(const CLI::App& app) {
  std::string script =
      "# bash completion for wrackline: source <(wrackline completion bash)\n"
      "_wrackline() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} command= words i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    [[ ${COMP_WORDS[i]} == -* ]] || command+=${command:+ }${COMP_WORDS[i]}\n"
      "  done\n"
      "  case \"$command \" in\n";
  const std::function<void(const CLI::App&, const std::string&)> add = [&](const CLI::App& part,
                                                                           const std::string& path) {
    for (const CLI::App* sub : part.get_subcommands({})) {
      add(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name());
    }
    std::string words;
    for (const CLI::App* sub : part.get_subcommands({})) words += " " + sub->get_name();
    for (const CLI::Option* option : part.get_options()) {
      for (const std::string& name : option->get_lnames()) words += " --" + name;
    }
    const std::string pattern = path.empty() ? "\" \"" : format("\"{} \"*", path);
    script += format("    {}) words=\"{}\" ;;\n", pattern, words.empty() ? "" : words.substr(1));
  };
  add(app, "");
  return script +
         "    *) words= ;;\n"
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _wrackline wrackline\n";
}

void add_completion(CLI::App& app, std::string& shell, Chosen& chosen) {
  CLI::App* sub = app.add_subcommand("completion", "Print a completion script for the shell");
  sub->add_option("shell", shell, "bash")->required()->check(CLI::IsMember({"bash"}));
  sub->footer("Examples:\n  source <(wrackline completion bash)");
  sub->callback([&] {
    chosen = [&] {
      print(bash_completion(app));
      return kDone;
    };
  });
}

// Unknown words get the nearest known one.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* part = &app;
  while (!part->get_subcommands().empty()) part = part->get_subcommands()[0];
  const std::vector<std::string> extra = part->remaining();
  const bool unknown_command =
      !part->get_subcommands({}).empty() && !extra.empty() && !extra[0].empty() && extra[0][0] != '-';
  std::string text = unknown_command ? format("wrackline: unknown command \"{}\"\n", printable(extra[0]))
                                     : format("wrackline: {}\n", error.what());
  std::vector<std::string> known;
  for (const CLI::App* sub : part->get_subcommands({})) known.push_back(sub->get_name());
  for (const CLI::Option* option : part->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const std::string& word : extra) {
    const std::string nearest = nearest_name(word.substr(0, word.find('=')), names);
    if (!nearest.empty()) text += format("hint: did you mean \"{}\"?\n", nearest);
  }
  std::string path = part->get_name();
  for (const CLI::App* up = part->get_parent(); up != nullptr; up = up->get_parent())
    path = up->get_name() + " " + path;
  return text + format("hint: `{} --help` lists what there is.\n", path);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("The event-time stream processor that accounts for every record.", "wrackline");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("wrackline ") + kVersion);
  app.footer(
      "Examples:\n"
      "  wrackline measure clicks.jsonl --event-time at --arrival-time received\n"
      "  wrackline run clicks.sql\n"
      "`wrackline COMMAND --help` has examples for each command.");
  Chosen chosen;
  RunCommand run_command;
  CheckCommand check_command;
  MeasureCommand measure_command;
  BudgetCommand budget_command;
  SweepCommand sweep_command;
  LedgerCommand ledger_command;
  ExplainCommand explain_command;
  StatusCommand status_command;
  GenerateCommand generate_command;
  std::string shell;
  add_run(app, run_command, chosen);
  add_check(app, check_command, chosen);
  add_measure(app, measure_command, chosen);
  add_budget(app, budget_command, chosen);
  add_sweep(app, sweep_command, chosen);
  add_ledger(app, ledger_command, chosen);
  add_explain(app, explain_command, chosen);
  add_status(app, status_command, chosen);
  add_generate(app, generate_command, chosen);
  add_completion(app, shell, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    app.exit(success, text, text);
    print(text.str());
    return kDone;
  } catch (const CLI::ParseError& error) {
    std::cerr << usage_error(app, error);
    return kUsage;
  }
  return chosen();
}

}  // namespace wrackline::cli
