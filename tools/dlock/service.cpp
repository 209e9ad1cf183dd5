// SPDX-License-Identifier: BSL-1.0
// Occasional tasks of operators: doctor, gc.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "client.hpp"
#include "dlock/error.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/store_interface/unfit_tables.hpp"
#include "output.hpp"
#include "url_source.hpp"
#include "verbs.hpp"

namespace dlock::command {

namespace {

using level = store_finding::level;

const char* word_for(level of) noexcept {
  switch (of) {
    case level::good: return "ok";
    case level::note: return "note";
    case level::warning: return "warning";
    case level::problem: return "PROBLEM";
  }
  return "unknown";
}

json to_json(const store_finding& finding) {
  json out{{"check", finding.name}, {"level", word_for(finding.severity)}, {"value", finding.value}};
  if (finding.severity == level::problem) out["level"] = "problem";
  if (!finding.meaning.empty()) out["meaning"] = finding.meaning;
  if (!finding.advice.empty()) out["advice"] = finding.advice;
  return out;
}

/// Checks what the store can't see.
void check_here(const all_options& options, std::vector<store_finding>& found) {
  if (options.common.url && options.common.url->find('@') != std::string::npos) {
    found.push_back({level::warning, "command line", "--url with a user",
                     "Every user of this host can read a command line and the password in it.",
                     "Write the URL into DLOCK_URL, or into a configuration file that only you may read."});
  }
  const auto file = find_url(options.common).file;
  if (file.empty()) return;
  std::error_code ignored;
  const auto rights = std::filesystem::status(file, ignored).permissions();
  if ((rights & std::filesystem::perms::others_read) != std::filesystem::perms::none) {
    found.push_back({level::warning, "configuration file", file + " can be read by every user",
                     "It may hold a password.", "chmod 640 " + file});
  }
}

std::string how_tables_are_made(const common_options& from) {
  const bool file = store_url::parse(need_url(from)).scheme == "sqlite";
  return fmt::format(
      "Start one program with schema=create (dlock run makes the tables, too), or let a DBA execute: dlock schema | {}",
      file ? "sqlite3 FILE" : "mariadb");
}

/// Advice for a store that does not start.
std::string advice_for(const common_options& from, const store_error& wrong) {
  if (wrong.code() == errc::store_unreachable) return "Check host, port and firewall, and that the server runs.";
  if (dynamic_cast<const unfit_tables*>(&wrong) != nullptr) return how_tables_are_made(from);
  if (wrong.native_code() != 0) return fmt::format("docs/errors.md explains the number {}.", wrong.native_code());
  return "Change what the text names.";
}

void print(const store_finding& finding) {
  print_line(fmt::format("{:<8} {:<20} {}", word_for(finding.severity), finding.name, finding.value));
  if (finding.severity == level::good) return;
  if (!finding.meaning.empty()) print_line(fmt::format("{:29} {}", "", finding.meaning));
  if (!finding.advice.empty()) print_line(fmt::format("{:29} To do: {}", "", finding.advice));
}

}  // namespace

int doctor(const all_options& options) {
  std::vector<store_finding> found;
  check_here(options, found);
  std::string name;
  client with(options.common);
  with.open();
  try {
    name = with.name();
    const auto caps = with.where().caps();
    with.ask("examine", [&](connection& on) { return with.admin().examine(on, found); });
    found.push_back({level::good, "fencing tokens", caps.fence ? "yes" : "no", "", ""});
    if (!caps.fence) {
      found.back() = {level::note, "fencing tokens", "none",
                      "Your data can't reject a write that a former holder sends late.",
                      "If that matters, use a store with fencing tokens: docs/stores.md."};
    }
  } catch (const store_error& wrong) {
    found.push_back({level::problem, "connection", without_name(wrong.what()),
                     "No program gets locks with this URL now.", advice_for(options.common, wrong)});
  } catch (const std::invalid_argument& wrong) {
    // This is a server that the store refuses, with what to change.
    found.push_back({level::problem, "connection", without_name(wrong.what()),
                     "The store does not start on this server.", "Change what the text names."});
  }
  std::map<level, int> count;
  for (const auto& each : found) ++count[each.severity];
  const bool bad = count[level::problem] != 0 || (options.doctor_strict && count[level::warning] != 0);
  if (options.common.json) {
    json out{{"store", name}, {"ok", !bad}, {"checks", json::array()}};
    for (const auto& each : found) out["checks"].push_back(to_json(each));
    print_json(out);
  } else {
    if (!name.empty()) print_line(name);
    for (const auto& each : found) print(each);
    print_line(fmt::format("problems: {}, warnings: {}, notes: {}, ok: {}", count[level::problem],
                           count[level::warning], count[level::note], count[level::good]));
  }
  return code(bad ? exit_code::no : exit_code::done);
}

int gc(const all_options& options) {
  client with(options.common);
  const auto& what = options.gc;
  store_overview before;
  const auto look = [&](store_overview& into) {
    with.ask("count", [&](connection& on) { return with.admin().overview(on, 0, into); });
  };
  look(before);
  std::uint64_t gone = 0, steps = 0;
  if (!what.dry_run) {
    const auto idle = std::chrono::duration_cast<std::chrono::microseconds>(what.idle);
    for (bool more = true; more;) {
      const auto step = with.ask("clean up", [&](connection& on) { return with.admin().cleanup(on, idle, what.step); });
      gone += step.fence;
      ++steps;
      more = step.more || step.fence >= what.step;
    }
  }
  store_overview after = before;
  if (!what.dry_run) look(after);
  if (options.common.json) {
    print_json({{"deleted", gone},
                {"steps", steps},
                {"keys", after.keys},
                {"held", after.held},
                {"free", after.keys - std::min(after.keys, after.held)},
                {"sessions_alive", after.sessions_alive},
                {"sessions_dead", after.sessions_dead},
                {"complete", after.complete}});
    return code(exit_code::done);
  }
  if (!what.dry_run) print_line(fmt::format("deleted rows: {}", gone));
  print_line(fmt::format("keys: {}{}, held: {}; sessions: {}, dead: {}", after.complete ? "" : "at least ", after.keys,
                         after.held, after.sessions_alive + after.sessions_dead, after.sessions_dead));
  return code(exit_code::done);
}

}  // namespace dlock::command
