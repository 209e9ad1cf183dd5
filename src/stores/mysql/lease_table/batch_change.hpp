// SPDX-License-Identifier: BSL-1.0
#pragma once

/// One statement that changes many, of the lock table's or of a table of the application's.

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "dlock/store_interface/store_types.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/lease_table/connection.hpp"

namespace dlock::stores::mysql::lease_table {

/// What one statement for all did.
struct batch_change {
  outcome said = outcome::failed;
  std::uint64_t rows = 0;
  bool skipped = false;  ///< it passed over rows that somebody has locked
  unsigned statements = 0;
  fault why{};
};

/// One locked row must neither make the others wait nor fail them. MariaDB is told not to wait, and does it once more
/// without the locked rows if there are any; MySQL, which can't be told, passes over them at once. What knows neither
/// waits. An extension is not done once more: its caller repeats it for each row. `text`: makes the statement; its
/// argument says whether it is to pass over locked rows. `can_skip`: the server can. `count`: how many rows it names.
/// If a node of a cluster frees fewer, it is asked again when it has seen what others have committed.
batch_change change_rows(lease_connection& on, verb action, bool can_skip, std::size_t count,
                         const std::function<std::string(bool skip)>& text);

/// A row that was passed over because somebody's transaction has it locked: counts as busy.
reply locked_row();

void fill_all(std::span<reply> replies, outcome said, const fault& why);

/// It may have been done, but nobody can tell. As a batch without an answer it is settled on another connection.
reply doubtful(lease_connection& on);

/// More was granted than is seen now. As a grant without an answer, what is not seen is cancelled, by session and
/// nonce.
void doubt(lease_connection& on, std::span<reply> replies);

/// What a request of releases or cancels finds of its grant after the change.
enum class after_free {
  free,  ///< as the request leaves it: nobody's, and granted to nobody since
  held,  ///< its grant is still there
  kept,  ///< likewise, but the request names it wrongly
  gone,  ///< others have it, or it was deleted
};
/// Answers them by what they find. How many were freed is known. Each of them is free now, or was taken by others, or
/// deleted, as soon as it was. What was free before looks like what was freed.
void answer_frees(lease_connection& on, verb action, std::span<const after_free> found, std::span<reply> replies,
                  const batch_change& change);

/// The change was done, but what it did was not to be read: nobody knows for whom. As doubtful().
void unread(lease_connection& on, std::span<reply> replies, fault why);

/// Runs what answers them all. It returns a reply that tells how many statements there were; what it throws fails all.
template <class Body>
void answer_all(lease_connection& on, std::span<reply> replies, Body&& body) noexcept {
  const auto whole = reply_or_in_doubt(on, "a batch", body);
  for (auto& each : replies) each.statements = 0;
  replies.front().statements = whole.statements;
  if (whole.result == outcome::yes) return;
  for (auto& each : replies) {
    each.result = whole.result;
    each.why.native = whole.why.native;
    each.why.transient = whole.why.transient;
    each.why.connection = whole.why.connection;
  }
}

}  // namespace dlock::stores::mysql::lease_table
