// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>

#include "dlock/version.hpp"
#include "times.hpp"

namespace dlock::command {

namespace {

using namespace std::chrono_literals;
constexpr milliseconds day = 24h, month = 30 * day, year = 365 * day;

/// Adds "(default 30s; 1s to 24h)" to the text.
std::string with_range(const std::string& text, const std::string& standard, const std::string& least,
                       const std::string& most) {
  return fmt::format("{} (default {}; {} to {})", text, standard, least, most);
}

/// Adds an option that takes a time with its unit.
template <class Time>
void add_time(CLI::App& to, const std::string& name, Time& into, milliseconds least, milliseconds most,
              const std::string& standard, const std::string& text) {
  to.add_option_function<std::string>(
        name,
        [&into, name, least, most](const std::string& value) {
          try {
            const auto time = parse_time(value);
            if (time < least || time > most) {
              throw std::invalid_argument(
                  fmt::format("{} must be {} to {}", value, option_time(least), option_time(most)));
            }
            into = time;
          } catch (const std::invalid_argument& wrong) {
            throw CLI::ValidationError(name, wrong.what());
          }
        },
        with_range(text, standard, option_time(least), option_time(most)))
      ->type_name("TIME");
}

/// Adds an option that takes one of a few words.
template <class Value, class Into>
void add_choice(CLI::App& to, const std::string& name, Into& into, const std::map<std::string, Value>& words,
                const std::string& text) {
  std::string listed;
  for (const auto& [word, value] : words) listed += (listed.empty() ? "" : "|") + word;
  to.add_option_function<std::string>(
        name,
        [&into, words, name, listed](const std::string& value) {
          const auto found = words.find(value);
          if (found == words.end()) {
            throw CLI::ValidationError(name, fmt::format("'{}' is not one of {}", value, listed));
          }
          into = found->second;
        },
        text)
      ->type_name(listed);
}

/// Adds an option that takes a number.
void add_count(CLI::App& to, const std::string& name, std::size_t& into, std::size_t least, std::size_t most,
               const std::string& standard, const std::string& text) {
  to.add_option_function<std::string>(
        name,
        [&into, name, least, most](const std::string& value) {
          std::size_t number = 0;
          const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
          const bool whole = failed == std::errc{} && end == value.data() + value.size();
          if (!whole || number < least || number > most) {
            throw CLI::ValidationError(name, fmt::format("'{}' must be a number, {} to {}", value, least, most));
          }
          into = number;
        },
        with_range(text, standard, fmt::to_string(least), fmt::to_string(most)))
      ->type_name("NUMBER");
}

CLI::App& add_verb(CLI::App& to, const std::string& name, const std::string& text) {
  auto* const verb = to.add_subcommand(name, text);
  verb->fallthrough();
  return *verb;
}

void add_key_alone(CLI::App& to, key_options& into, const std::string& text) {
  to.add_option("key", into.key, text)->type_name("KEY")->required();
  to.add_flag("--escaped", into.escaped, "The key is written as list prints it, with escapes");
}

void add_key(CLI::App& to, key_options& into) {
  add_key_alone(to, into, "The key; with --table, the row's id (several columns: 7:name)");
  to.add_option("--table", into.table, "A table whose rows are locked in place: orders, or shop.orders")
      ->type_name("TABLE");
}

void add_run(CLI::App& app, run_options& into) {
  auto& verb = add_verb(app, "run", "Run a command while holding a key");
  verb.add_option("key", into.key, "The key to hold")->type_name("KEY")->required();
  add_time(verb, "--ttl", into.ttl, 1s, 24h, "30s",
           "After a crash of dlock or its host, the key is free within this time");
  add_time(verb, "--wait", into.wait, 0s, year, "no limit, or 0 with --on-busy fail and skip",
           "How long to wait for a busy key");
  add_choice<on_busy>(verb, "--on-busy", into.busy,
                      {{"wait", on_busy::wait}, {"fail", on_busy::fail}, {"skip", on_busy::skip}},
                      "What to do while another owner holds the key: wait (default), exit with 75, or exit with 0");
  add_time(verb, "--min-hold", into.min_hold, 0s, month, "0",
           "Keep the key for at least this time after the grant, even if the command ends earlier");
  verb.add_flag("--free-on-failure", into.free_on_failure,
                "Let --min-hold count only if the command exits with 0: after a failure the key is free at once");
  add_time(verb, "--max-hold", into.max_hold, 0s, year, "0, no limit",
           "End the command and release the key this time after the grant");
  add_time(verb, "--kill-after", into.kill_after, 0s, 6h, "three quarters of the margin",
           "When the lock is lost, the time from SIGTERM to SIGKILL. At most the margin, a quarter of the ttl");
  verb.add_flag("--lead", into.lead,
                "Lead: wait without end, and after a loss of the lock wait again and start the command again");
  verb.add_flag("--once", into.once,
                "Run the command once: if it has exited with 0 under this key before, exit with 0 at once");
  add_time(verb, "--valid", into.valid, 1s, 10 * year, "for ever", "With --once: how long it counts as done");
  verb.add_flag("--shared", into.shared,
                "Hold the key shared: beside other readers, and not beside an exclusive holder");
  add_count(verb, "--permits", into.permits, 1, 1'000'000, "the key has one holder",
            "Hold the key beside others: one of so many permits");
  verb.add_option("--label", into.label, "The holder's name, which operators see (default: the command's name)")
      ->type_name("TEXT");
  verb.add_flag("--hide-url", into.hide_url,
                "Take DLOCK_URL, which may have a password, out of the command's environment");
  verb.add_flag("--leave-children", into.leave_children,
                "Do not end the processes that the command leaves behind when it exits; they run without the lock");
  verb.add_flag("-v,--verbose", into.verbose,
                "Print on the standard error what happens to the lock, and who holds it while dlock waits");
  verb.add_option("command", into.command, "The command and its arguments, after --")
      ->type_name("COMMAND")
      ->required()
      ->expected(1, -1);
}

void add_lists(CLI::App& app, all_options& into) {
  auto& list = add_verb(app, "list", "List held keys and rows");
  list.add_option("--prefix", into.list.prefix, "Only keys that begin with this text")->type_name("TEXT");
  list.add_option("--after", into.list.after, "Only keys greater than this one, in byte order")->type_name("KEY");
  add_count(list, "--limit", into.list.limit, 1, 1'000'000, "1000", "At most this many keys and this many rows");
  list.add_option("--table", into.list.table, "Only the rows of this table: orders, or shop.orders")
      ->type_name("TABLE");
  list.add_flag("--no-rows", into.list.no_rows, "Leave out rows that are locked in place");
  list.add_flag("--keys", into.list.keys_only, "Print only the keys, one in each line, as --escaped takes them");

  add_key(add_verb(app, "show", "Show who holds a key"), into.show);
  auto& waiters = add_verb(app, "waiters", "Show which processes wait for a key");
  add_key_alone(waiters, into.waiters.key, "The key");
  add_count(waiters, "--limit", into.waiters.limit, 1, 10'000, "100", "Show at most this many");

  add_key(add_verb(app, "force", "Take a key from its holder"), into.force);

  auto& done = add_verb(app, "done", "Show when a command of run --once was done");
  add_key_alone(done, into.done.key, "The key");
  done.add_flag("--forget", into.done.forget, "Delete the mark, so that it is done again");

  auto& watch = add_verb(app, "watch", "Print each change of a key's holder");
  add_key(watch, into.watch.key);
  add_time(watch, "--interval", into.watch.interval, 1ms, day, "500ms", "Time between two polls");
  add_choice<until>(watch, "--until", into.watch.end, {{"free", until::free}, {"held", until::held}},
                    "Exit with 0 as soon as the key is free or held");
  add_time(watch, "--for", into.watch.limit, 0s, year, "no limit", "Exit after this time; with --until, exit with 1");

  auto& top = add_verb(app, "top", "Show holders, sessions and rates on a live screen");
  add_time(top, "--interval", into.top.interval, 1ms, day, "2s", "Time between two refreshes");
  add_count(top, "--rows", into.top.rows, 1, 10'000, "as many as fit on the screen",
            "Number of keys and sessions to show");
  add_count(top, "--refreshes", into.top.refreshes, 1, 1'000'000'000, "no limit; 1 without a terminal, or with --json",
            "Exit after this many refreshes");
}

void add_service(CLI::App& app, all_options& into) {
  auto& doctor = add_verb(app, "doctor", "Check what matters to locks: settings, rights, tables, sizes");
  doctor.add_flag("--strict", into.doctor_strict, "Exit with 1 for warnings as well as for problems");

  auto& schema = add_verb(app, "schema", "Print the statements that a DBA executes: CREATE, GRANT, ALTER");
  auto& s = into.schema;
  schema.add_option("--database", s.database, "mysql, sqlite, redis or zookeeper (default: the URL's, or mysql)")
      ->type_name("KIND");
  schema
      .add_option(
          "--scheme", s.scheme,
          "lease_table, t_lock, state_row, unique_insert, shedlock, for_update, named_lock, setnx (default: the "
          "URL's)")
      ->type_name("SCHEME");
  schema
      .add_option("--prefix", s.prefix,
                  "The beginning of the lock tables' names, or of Redis' keys (default: the URL's)")
      ->type_name("TEXT");
  schema.add_option("--table", s.table, "The table of a scheme that has one (default: the URL's)")->type_name("TABLE");
  schema.add_option("--name", s.name, "The database (default: the URL's, or locks)")->type_name("NAME");
  schema.add_option("--user", s.user, "Print GRANT statements for this user (default: the URL's)")->type_name("NAME");
  schema.add_option("--host", s.host, "The host from which that user connects (default %)")->type_name("HOST");
  schema.add_option("--rows", s.rows, "Print the ALTER TABLE that lets rows of this table be locked in place")
      ->type_name("TABLE");

  auto& gc = add_verb(app, "gc", "Delete idle keys, dead sessions and expired marks now");
  add_time(gc, "--idle", into.gc.idle, 0s, year, "1d",
           "Delete free keys that were not granted for this time, with 0 no keys");
  add_count(gc, "--step", into.gc.step, 1, 10'000, "100", "Rows that one step deletes at most");
  gc.add_flag("--dry-run", into.gc.dry_run, "Count, and delete nothing");

  auto& bench = add_verb(
      app, "bench", "Measure this server: one lock, a hand-over, and the lower bounds of a statement and a commit");
  add_time(bench, "--time", into.bench.time, 10ms, 24h, "10s", "How long to measure");
  bench.add_option("--prefix", into.bench.prefix, "The beginning of the keys that it locks (default dlock-bench:)")
      ->type_name("TEXT");

  auto& timeline = add_verb(app, "timeline", "Draw event logs as an SVG picture");
  auto& t = into.timeline;
  timeline.add_option("file", t.files, "Logs that dlock::make_event_log() wrote")
      ->type_name("FILE")
      ->required()
      ->expected(1, -1);
  timeline.add_option("-o,--out", t.out, "Write to this file (default: the standard output)")->type_name("FILE");
  timeline.add_option("--key", t.key, "Only keys that begin with this text")->type_name("TEXT");
  timeline.add_option("--from", t.from, "Only events from this time on: 2026-11-24T08:00:00Z, or seconds since 1970")
      ->type_name("TIMESTAMP");
  timeline.add_option("--to", t.to, "Only events up to this time")->type_name("TIMESTAMP");
  add_count(timeline, "--keys", t.most_keys, 1, 10'000, "60", "At most this many keys, the busiest ones");
}

}  // namespace

std::unique_ptr<CLI::App> make_command_line(all_options& into) {
  auto app = std::make_unique<CLI::App>("Distributed locks on MySQL, MariaDB, SQLite, Redis and ZooKeeper", "dlock");
  app->require_subcommand(1);
  app->set_version_flag("--version", std::string(library_version()), "Print the version");
  app->set_help_flag("-h,--help", "Print the options of dlock or of a verb");
  // As functions, because an empty text must not count as a missing option.
  app->add_option_function<std::string>(
         "--url", [&into](const std::string& url) { into.common.url = url; },
         "The store. Every user of the host can read a command line, so write a URL that has a password into "
         "DLOCK_URL or the configuration file")
      ->type_name("URL");
  app->add_option_function<std::string>(
         "--config", [&into](const std::string& path) { into.common.config = path; },
         "The configuration file, instead of DLOCK_URL (default: DLOCK_CONFIG, ~/.config/dlock.conf, "
         "/etc/dlock.conf)")
      ->type_name("FILE");
  app->add_flag("--json", into.common.json, "Print JSON");
  add_time(*app, "--timeout", into.common.timeout, 1ms, day, "10s", "Time limit of a question to the store");
  add_run(*app, into.run);
  add_lists(*app, into);
  add_service(*app, into);
  return app;
}

}  // namespace dlock::command
