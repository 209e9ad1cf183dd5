// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/batch_change.hpp"

#include <algorithm>
#include <string_view>

#include "stores/mysql/client/errors.hpp"

namespace dlock::stores::mysql::lease_table {

batch_change change_rows(lease_connection& on, verb action, bool can_skip, std::size_t count,
                         const std::function<std::string(bool skip)>& text) {
  batch_change change;
  const bool never_waits = can_skip || action == verb::take || action == verb::extend;
  const auto prefix = never_waits ? on.quick_prefix() : std::string_view();
  const auto run = [&](bool skip) {
    change.skipped = skip;
    const auto sql = std::string(prefix) + text(skip);
    if (!on.fits(sql)) {
      change.why = lease_connection::too_large();
      return;
    }
    ++change.statements;
    change.said = on.query(sql, "a batch", nullptr, &change.rows, change.why);
  };
  run(can_skip && prefix.empty());
  const bool locked = change.said == outcome::failed && change.why.contended;
  if (locked && can_skip && !change.skipped && action != verb::extend) {
    change.why = {};
    run(true);
  }
  // A node that has not seen our grants yet frees those that it knows.
  const bool frees = action == verb::release || action == verb::cancel;
  if (change.said == outcome::yes && frees && change.rows < count && !on.sync_prefix().empty()) {
    const auto freed = change.rows;
    ++change.statements;
    change.said =
        on.query(std::string(on.sync_prefix()) + text(change.skipped), "a batch", nullptr, &change.rows, change.why);
    if (change.said == outcome::yes) change.rows += freed;
    if (change.said == outcome::failed && freed != 0) {  // not of all of them
      change.said = outcome::unknown;
      change.why.transient = change.why.connection = true;
      on.interrupt();
    }
  }
  on.explain(change.why);
  return change;
}

reply locked_row() {
  constexpr unsigned not_waited = 3572;
  return {.why = make_mysql_fault(not_waited, "HY000", "a transaction has the row locked", "a batch")};
}

void fill_all(std::span<reply> replies, outcome said, const fault& why) {
  for (auto& each : replies) {
    each = reply{};
    each.result = said;
    each.why = why;
  }
}

reply doubtful(lease_connection& on) {
  reply answer{.result = outcome::unknown,
               .why = make_own_fault("read a batch: a row is not as it was left", true, true)};
  on.note_error(answer.why);
  return answer;
}

void doubt(lease_connection& on, std::span<reply> replies) {
  for (auto& each : replies) {
    if (each.result != outcome::yes) each = doubtful(on);
  }
}

void answer_frees(lease_connection& on, verb action, std::span<const after_free> found, std::span<reply> replies,
                  const batch_change& change) {
  const auto count = [&](after_free what) {
    return static_cast<std::uint64_t>(std::count(found.begin(), found.end(), what));
  };
  const auto freed_and_gone = change.rows - std::min(change.rows, count(after_free::free));
  const bool all_gone_were_freed = freed_and_gone == count(after_free::gone);
  for (std::size_t i = 0; i != found.size(); ++i) {
    replies[i] = {.result = outcome::no};
    switch (found[i]) {
      case after_free::free:
        if (change.rows != 0) replies[i].result = outcome::yes;
        break;
      case after_free::held:
        if (change.skipped) replies[i] = locked_row();
        break;
      case after_free::kept: break;
      case after_free::gone:
        if (all_gone_were_freed) {
          replies[i].result = outcome::yes;
        } else if (freed_and_gone != 0 && action == verb::release) {
          replies[i] = doubtful(on);  // one of several: that it was freed, or that others had taken it before
        }
        break;
    }
  }
}

void unread(lease_connection& on, std::span<reply> replies, fault why) {
  why.transient = why.connection = true;
  on.interrupt();
  fill_all(replies, outcome::unknown, why);
}

}  // namespace dlock::stores::mysql::lease_table
