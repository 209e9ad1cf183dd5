// SPDX-License-Identifier: GPL-2.0-or-later
// What rows and transactions of the application's need of the engine.
#include <fmt/format.h>

#include "engine/attempt.hpp"
#include "engine/transaction_watch.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

void engine::check_row(const lock_key& key, const lock_settings& options) const {
  if (key.row() != nullptr) {
    check_rows("row '" + printable(key) + "'", key.row()->table->renewal, options);
    return;
  }
  if (const auto* const why = lacks(keeping(false, options).kind)) {
    throw std::invalid_argument("dlock: key '" + printable(key) + "': " + shared_.where->name() + why);
  }
}

const char* engine::lacks(lease_kind kind) const noexcept {
  const auto can = shared_.where->caps();
  if (kind == lease_kind::session && !can.session_leases) {
    return " has no leases that are renewed: renewal::manual or renewal::none";
  }
  if (kind == lease_kind::expiring && !can.expiring_leases) {
    return " has no leases with an expiry of their own: renewal::automatic";
  }
  return nullptr;
}

void engine::check_ttl(const lock_key& key, const lock_settings& with) const {
  validate(with, shared_.options);
  check_row(key, with);
}

void engine::check_rows(const std::string& which, row_renewal how, const lock_settings& options) const {
  const auto refuse = [&](const std::string& why) { throw std::invalid_argument("dlock: " + which + ": " + why); };
  if (!shared_.where->caps().rows) refuse(shared_.where->name() + " has no tables whose rows could be locked");
  if (const auto* const why = lacks(keeping(how == row_renewal::column, options).kind)) {
    refuse(shared_.where->name() + why);
  }
  if (options.min_hold > 0ms) {
    refuse(fmt::format("min_hold = {} ms: a row keeps no time of its grant; lock a key for that",
                       options.min_hold.count()));
  }
  if (how == row_renewal::column && options.ttl < 5s) {
    refuse(fmt::format("ttl = {} ms: at least 5000 ms where the row's own expiry is renewed (row_renewal::column)",
                       options.ttl.count()));
  }
}

std::vector<lease> engine::adopt(const lock_settings& options, row_renewal how,
                                 const std::function<std::vector<taken>(ticket&)>& take) {
  refuse_if_forked();
  validate(options, shared_.options);
  check_rows("rows to be claimed", how, options);
  if (options.cancel.stop_requested()) throw lock_refused(errc::cancelled, "rows to be claimed");
  const visit here(*this);
  if (closed_.stop_requested()) throw lock_refused(errc::closed, "rows to be claimed");
  const keeping as(how == row_renewal::column, options);
  const auto begun = shared_.now();
  fault why;
  struct pin {  // whatever happens
    keeper& of;
    std::shared_ptr<session> by;
    ~pin() {
      if (by != nullptr) of.unpin(*by);
    }
  };
  const pin mine{keeper_, keeper_.pin(as.session_ttl(), begun + statement_patience, why)};
  if (mine.by == nullptr) {
    throw store_error(why.connection ? errc::store_unreachable : errc::store_failed,
                      fmt::format("rows to be claimed: {}", shared_.trouble(why)), why.native, why.sqlstate,
                      why.transient);
  }
  ticket about{mine.by->id, shared_.nonces.fetch_add(1), as.own_ttl(), {}, false};
  const auto cancel = [&](const lock_key& key) {
    chores_.add({.what = chore::kind::cancel,
                 .by = mine.by,
                 .key = key,
                 .nonce = about.nonce,
                 .settled = !about.unsure,
                 .lasting = about.unsure,
                 .kept = as.kept,
                 .ghost = false,
                 .give_up = about.unsure ? shared_.now() + longest_ghost : instant::max()});
  };
  std::vector<taken> rows;
  const auto sent = shared_.now();
  try {
    rows = take(about);
  } catch (...) {
    for (const auto& key : about.maybe) cancel(key);
    throw;
  }
  about.unsure = false;  // there was an answer
  const auto now = shared_.now();
  std::vector<lease> leases;
  std::size_t next = 0;
  try {
    leases.reserve(rows.size());
    for (; next < rows.size(); ++next) {
      won w{.key = rows[next].key,
            .options = options,
            .who = current_owner(),
            .by = nullptr,
            .nonce = about.nonce,
            .fence = rows[next].fence,
            .trusted_until = as.trusted_until(*mine.by, sent, now, shared_.options.margin),
            .begun = begun,
            .attempts = 1,
            .spare = attempt::spare_for(rows[next].key),
            .has_turn = shared_.queue.try_enter(rows[next].key)};
      if (auto one = adopted(w, mine.by)) {
        leases.push_back(std::move(one));
      } else {
        cancel(rows[next].key);
      }
    }
  } catch (...) {
    for (; next < rows.size(); ++next) cancel(rows[next].key);
    throw;  // the leases so far release what they have
  }
  return leases;
}

/// Empty: too late to be trusted.
lease engine::adopted(won& w, const std::shared_ptr<session>& by) {
  const struct cleanup {  // of what did not go to a grant
    engine& home;
    won& of;
    ~cleanup() {
      if (of.has_turn) home.shared_.queue.leave(of.key);
      if (of.by != nullptr) home.keeper_.unpin(*of.by);
    }
  } guard{*this, w};
  if (shared_.now() >= w.trusted_until || !keeper_.pin_again(by)) return {};
  w.by = by;
  return granted(w);
}

void engine::keep_column(const std::shared_ptr<grant>& one) {
  bool start = false;
  {
    const std::lock_guard lock(mutex_);
    start = !std::exchange(rows_kept_, true);
  }
  if (start) {
    try {
      run_thread([](engine& e) { e.rows_.run(); });
    } catch (...) {
      const std::lock_guard lock(mutex_);
      rows_kept_ = false;
      throw;
    }
  }
  rows_.add(one);
}

void engine::check_transaction(const lock_key& key) {
  auto* const watch = watched_transactions();
  if (watch == nullptr || !watch->open_here(*shared_.where)) return;
  shared_.tell({.what = event::kind::in_transaction,
                .key = key.view(),
                .text =
                    "acquired inside an open transaction: what that reads may be older than the lock, and the key is "
                    "not freed before it ends; take the lock first, then begin"});
}

std::string engine::blocked(attempt& a, connection& on) {
  const bool known = a.blocked_by.id != 0;
  const auto grace = shared_.options.break_verified_after;
  if (known && grace.count() == 0) return {};  // told once
  const auto& holder = a.machine.holder();
  const request about{.resource = a.key.view(), .session = holder.holder, .row = a.key.row(), .fence = holder.fence};
  connection_identity who;
  auto* const transactions = shared_.where->transactions();
  if (transactions == nullptr || transactions->blocker(on, about, who).result != outcome::yes) return {};
  const auto now = shared_.now();
  const auto text = fmt::format("connection {} of the database has a transaction open that the dead holder{} verified",
                                who.id, holder.who.empty() ? "" : " " + holder.who);
  if (!known || who.id != a.blocked_by.id) {
    a.blocked_by = who;
    a.blocked_since = now;
    return text;
  }
  if (now - a.blocked_since < grace) return {};
  a.blocked_since = now;  // not again at once
  return text + (shared_.where->terminate(on, who) ? "; ended (break_verified_after)" : "; it could not be ended");
}

}  // namespace dlock::detail
