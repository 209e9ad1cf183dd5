// SPDX-License-Identifier: BSL-1.0
// The holders of locks: list, show, force.
#include <fmt/format.h>

#include <algorithm>

#include "client.hpp"
#include "output.hpp"
#include "times.hpp"
#include "verbs.hpp"

namespace dlock::command {

namespace {

std::vector<std::string> row_of(const holder_info& holder) {
  return {detail::printable_text(holder.key),
          who(holder),
          holder.since.count() == 0 ? "-" : print_time(holder.since),
          holder.remaining.count() == 0 ? "-" : print_time(holder.remaining),
          holder.fence == 0 ? "-" : fmt::to_string(holder.fence),
          kind_of(holder),
          state_of(holder)};
}

/// Returns at most `most` held keys that begin with the prefix, read in pages.
std::vector<holder_info> held_keys(client& with, const list_options& options, std::size_t most) {
  constexpr std::size_t page = 1000;
  std::vector<holder_info> all;
  std::string after = options.after;
  // Keys with the prefix follow the greatest text that is less than it.
  if (!options.prefix.empty() && after < options.prefix) {
    after = options.prefix.substr(0, options.prefix.size() - 1);
  }
  while (all.size() < most) {
    std::vector<holder_info> found;
    with.ask("list", [&](connection& on) { return with.admin().list(on, after, page, found); });
    if (found.empty()) break;
    after = found.back().key;
    for (auto& each : found) {
      const bool fits = each.key.starts_with(options.prefix);
      if (!fits && each.key > options.prefix && !options.prefix.empty()) return all;
      if (!fits || each.key <= options.after) continue;
      all.push_back(std::move(each));
      if (all.size() == most) return all;
    }
    if (found.size() < page) break;
  }
  return all;
}

std::vector<holder_info> held_rows(client& with, const list_options& options, std::size_t most) {
  std::vector<std::shared_ptr<const row_table>> tables;
  if (!options.table.empty()) {
    tables.push_back(with.table(options.table));
  } else if (with.where().caps().rows && options.prefix.empty() && options.after.empty()) {
    with.ask("find tables", [&](connection& on) { return with.admin().row_tables(on, {}, tables); });
  }
  std::vector<holder_info> all;
  for (const auto& table : tables) {
    std::vector<held_row> found;
    with.ask("list rows", [&](connection& on) { return with.admin().held_rows(on, table, most - all.size(), found); });
    for (auto& each : found) all.push_back(std::move(each.holder));
    if (all.size() >= most) break;
  }
  return all;
}

void print_holder(const holder_info& holder) {
  print_line(fmt::format("key      {}", detail::printable_text(holder.key)));
  print_line(fmt::format("holder   {}", who(holder)));
  print_line(fmt::format("state    {}", state_of(holder)));
  if (holder.since.count() != 0) print_line(fmt::format("held     {}", print_time(holder.since)));
  if (holder.remaining.count() != 0) {
    print_line(fmt::format("expires  in {}{}", print_time(holder.remaining),
                           holder.revoked ? "; the server refuses renewals" : " unless it is renewed"));
  }
  if (holder.fence != 0) print_line(fmt::format("fence    {}", holder.fence));
  print_line(fmt::format("kept by  {}", kind_of(holder)));
  if (holder.session) print_line(fmt::format("session  {}", holder.session.hex()));
}

}  // namespace

int list(const all_options& options) {
  client with(options.common);
  const auto& what = options.list;
  std::vector<holder_info> keys, rows;
  // One more than is shown, to know whether there are more.
  if (what.table.empty()) keys = held_keys(with, what, what.limit + 1);
  if (!what.no_rows) rows = held_rows(with, what, what.limit + 1);
  const bool complete = keys.size() <= what.limit && rows.size() <= what.limit;
  for (auto* const each : {&keys, &rows}) each->resize(std::min(each->size(), what.limit));
  if (options.common.json) {
    json out{{"keys", json::array()}, {"rows", json::array()}, {"complete", complete}};
    for (const auto& each : keys) out["keys"].push_back(to_json(each));
    for (const auto& each : rows) out["rows"].push_back(to_json(each));
    print_json(out);
    return code(exit_code::done);
  }
  keys.insert(keys.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  std::vector<std::string> lines;
  text_table table({"KEY", "HOLDER", "HELD", "EXPIRES IN", "FENCE", "KEPT BY", "STATE"});
  for (const auto& each : keys) {
    what.keys_only ? lines.push_back(detail::printable_text(each.key)) : table.add(row_of(each));
  }
  if (!table.empty()) lines = table.lines();
  if (!lines.empty()) print_line(fmt::format("{}", fmt::join(lines, "\n")));
  if (!complete) {
    fmt::print(stderr, "dlock: more is held than is shown: --limit shows more, --after KEY what follows a key\n");
  }
  return code(exit_code::done);
}

int show(const all_options& options) {
  client with(options.common);
  const auto key = with.key_of(options.show);
  const auto found = with.holders(key);
  if (options.common.json) {
    json out = json::object();
    add_key(out, key.view());
    out["held"] = !found.empty();
    if (!found.empty()) out["holder"] = to_json(found.front());
    print_json(out);
  } else if (found.empty()) {
    print_line(fmt::format("{} is free", key.explain()));
  } else {
    print_holder(found.front());
  }
  return code(found.empty() ? exit_code::no : exit_code::done);
}

namespace {

json to_json(const waiter_info& waiter) {
  json out = json::object();
  if (!waiter.host.empty()) out["host"] = json_text(waiter.host);
  if (waiter.pid != 0) out["pid"] = waiter.pid;
  out["label"] = json_text(waiter.label);
  if (waiter.waited.count() != 0) out["waited_seconds"] = static_cast<double>(waiter.waited.count()) / 1e6;
  return out;
}

std::string name_of(const waiter_info& waiter) {
  std::string name = waiter.host;
  if (waiter.pid != 0) name += fmt::format("/{}", waiter.pid);
  if (!waiter.label.empty()) name += (name.empty() ? "" : " ") + waiter.label;
  return detail::printable_text(name);
}

}  // namespace

int waiters(const all_options& options) {
  client with(options.common);
  const auto key = with.key_of(options.waiters.key);
  waiter_overview found;
  with.ask("list waiters",
           [&](connection& on) { return with.admin().waiters(on, key.view(), options.waiters.limit, found); });
  if (!found.known) {
    throw failure(
        exit_code::unavailable,
        fmt::format("{} does not know the waiters of a key, because they poll. The metric dlock_waiting_calls "
                    "counts those of each process",
                    with.name()));
  }
  if (options.common.json) {
    json out = json::object();
    add_key(out, key.view());
    out["count"] = found.count;
    out["waiters"] = json::array();
    for (const auto& each : found.first) out["waiters"].push_back(to_json(each));
    print_json(out);
  } else {
    print_line(
        fmt::format("{} {} for {}", found.count, found.count == 1 ? "process waits" : "processes wait", key.explain()));
    for (const auto& each : found.first) {
      const auto waited = each.waited.count() == 0 ? std::string{} : fmt::format("  for {}", print_time(each.waited));
      print_line(fmt::format("  {}{}", name_of(each), waited));
    }
  }
  return code(found.count == 0 ? exit_code::no : exit_code::done);
}

int force(const all_options& options) {
  client with(options.common);
  const auto key = with.key_of(options.force);
  const auto before = with.holders(key);
  const bool forced = !before.empty() && with.locks().force_release(key);
  const auto after = forced ? with.holders(key) : before;
  if (options.common.json) {
    json out = json::object();
    add_key(out, key.view());
    out["forced"] = forced;
    if (!before.empty()) out["holder"] = to_json(before.front());
    out["free"] = after.empty();
    print_json(out);
  } else if (before.empty()) {
    print_line(fmt::format("{} is free", key.explain()));
  } else if (!forced) {
    print_line(fmt::format("{} can't be taken from {}: that is not a lease of dlock, or it has just ended",
                           key.explain(), who(before.front())));
  } else if (after.empty()) {
    print_line(fmt::format("{} is free now. {} notices that at its next renewal or release", key.explain(),
                           who(before.front())));
  } else {
    print_line(
        fmt::format("{} is taken from {}: the server refuses its renewals, and the key is free in {} at the latest",
                    key.explain(), who(before.front()), print_time(after.front().remaining)));
  }
  return code(forced ? exit_code::done : exit_code::no);
}

}  // namespace dlock::command
