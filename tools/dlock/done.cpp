// SPDX-License-Identifier: BSL-1.0
// Shows, or deletes, the mark that something was done once.
#include <fmt/format.h>

#include <chrono>

#include "client.hpp"
#include "dlock/store_interface/mark_store.hpp"
#include "output.hpp"
#include "times.hpp"
#include "verbs.hpp"

namespace dlock::command {

int done(const all_options& options) {
  client with(options.common);
  const auto key = with.key_of(options.done.key);
  auto* const marks = with.where().marks();
  if (marks == nullptr) throw failure(exit_code::unavailable, with.name() + " keeps no marks of what was done");
  done_mark mark;
  const auto find = [&](connection& on) { return marks->find_mark(on, key.view(), mark); };
  const bool found = with.ask("find a mark", find).result == outcome::yes;
  if (found && options.done.forget) {
    with.ask("delete a mark", [&](connection& on) { return marks->delete_mark(on, key.view()); });
  }
  if (options.common.json) {
    json out{{"done", found}};
    add_key(out, key.view());
    if (found) {
      out["by"] = json_text(mark.by);
      out["since_seconds"] = std::chrono::duration<double>(mark.since).count();
      if (mark.remaining) out["remaining_seconds"] = std::chrono::duration<double>(*mark.remaining).count();
      if (mark.fence != 0) out["fence"] = mark.fence;
      out["forgotten"] = options.done.forget;
    }
    print_json(out);
  } else if (!found) {
    print_line(fmt::format("{}: not done", key.explain()));
  } else {
    print_line(fmt::format("{}: done {} ago by {}, counts {}{}", key.explain(), print_time(mark.since),
                           detail::printable_text(mark.by),
                           mark.remaining ? "for another " + print_time(*mark.remaining) : "for ever",
                           options.done.forget ? "; forgotten" : ""));
  }
  return code(found ? exit_code::done : exit_code::no);
}

}  // namespace dlock::command
