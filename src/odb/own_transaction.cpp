// SPDX-License-Identifier: GPL-2.0-or-later
#include "odb/own_transaction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace dlock::detail {

using namespace std::chrono_literals;

odb_place& place_of(engine& home) {
  auto& where = *home.shared().where;
  auto* const place = dynamic_cast<odb_place*>(&where);
  if (place == nullptr || !where.caps().rows) {
    throw std::invalid_argument(
        fmt::format("dlock: rows can be locked in place by a service whose locks live in the same database; {} is none",
                    where.name()));
  }
  return *place;
}

void ensure_can_write(engine& home) {
  fault why;
  if (!home.shared().where->caller_may_wait(why)) {
    throw store_error(errc::store_failed, why.text, why.native, why.sqlstate, false);
  }
}

own_transaction::own_transaction(engine& home, odb::database& db, use what)
    : session_(odb::session::current_pointer()), on_(db.connection()) {
  if (what == use::writes) ensure_can_write(home);
  mine_.reset(what == use::writes ? place_of(home).begin_to_write(*on_) : on_->begin(), false);
  odb::transaction::current(mine_);
  odb::session::reset_current();
}

own_transaction::~own_transaction() {
  if (!mine_.finalized()) {
    try {
      mine_.rollback();
    } catch (...) {
      // The connection broke: the server rolls back.
    }
  }
  odb::session::current_pointer(session_);
}

void own_transaction::commit(odb_place& place, const std::function<void()>& unsure) {
  try {
    mine_.commit();
  } catch (const odb::exception& error) {
    const auto why = place.fault_of(error);
    if (!why.connection) throw;  // refused: rolled back
    if (unsure) unsure();
    throw store_error(errc::outcome_unknown, fmt::format("the commit was not answered: {}", why.text), why.native,
                      why.sqlstate, true);
  }
}

void with_patience(odb_place& place, std::chrono::milliseconds patience, const std::function<void()>& work) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (auto pause = 1ms;; pause = std::min(2 * pause, 20ms)) {
    try {
      return work();
    } catch (const store_error& error) {
      if (!error.transient() || error.code() == errc::outcome_unknown) throw;
      if (std::chrono::steady_clock::now() + pause >= until) throw;
    } catch (const odb::exception& error) {
      const auto why = place.fault_of(error);
      if (why.connection || !(why.transient || why.contended)) throw;
      if (std::chrono::steady_clock::now() + pause >= until) throw;
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace dlock::detail
