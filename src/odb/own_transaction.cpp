// SPDX-License-Identifier: BSL-1.0
#include "odb/own_transaction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace dlock::detail {

using namespace std::chrono_literals;

odb_application application_of(engine::service_core& home) {
  home.ensure_ready();
  auto& store = home.where();
  auto* const application = stores::sql::application_database_of(store);
  if (application == nullptr || !store.caps().rows) {
    throw std::invalid_argument(
        fmt::format("dlock: rows can be locked in place by a service whose locks live in the same database; {} is none",
                    store.name()));
  }
  return odb_application(*application);
}

void ensure_can_write(engine::service_core& home) {
  fault why;
  if (!home.all().may_wait(why)) {
    throw store_error(errc::store_failed, why.text, why.native, why.sqlstate, false);
  }
}

void leads_elsewhere_now(const store& store, const std::string& why) {
  throw std::invalid_argument(
      fmt::format("dlock: the rows' database leads to another place now than the locks, which live in {}{}{}",
                  store.name(), why.empty() ? "" : ": ", why));
}

void ensure_open(const odb_application& application, odb::connection& connection) {
  if (application.transaction_on(connection) == stores::sql::transaction_state::open) return;
  if (application->ends_unseen()) {
    throw store_error(errc::store_failed,
                      "the transaction has ended before its commit: the cluster has rolled it back for a write of "
                      "another node, or a statement that commits by itself (DDL, for example) has ended it; try again",
                      1213, "40001", true);
  }
  throw std::logic_error(
      "dlock: a statement that commits by itself (DDL, for example) has ended the transaction in which a locked row "
      "was written; what was written before it stays");
}

own_transaction::own_transaction(engine::service_core& home, odb::database& db, use purpose)
    : purpose_(purpose), session_(odb::session::current_pointer()), connection_(db.connection()) {
  if (purpose == use::writes) ensure_can_write(home);
  const auto application = application_of(home);
  if (application.glance(*connection_) == outcome::no) {
    leads_elsewhere_now(home.where(), application.why_elsewhere(*connection_));
  }
  application.catch_up(*connection_);
  mine_.reset(purpose == use::writes ? application.begin_to_write(*connection_) : connection_->begin(), false);
  odb::transaction::current(mine_);
  odb::session::reset_current();
}

namespace {

template <class How>
void roll_back(How work) noexcept {
  try {
    work();
  } catch (...) {
    // The connection broke, so the server rolls back.
  }
}

}  // namespace

own_transaction::~own_transaction() {
  if (!mine_.finalized()) roll_back([&] { mine_.rollback(); });
  odb::session::current_pointer(session_);
}

void own_transaction::commit(const odb_application& application, const std::function<void()>& unsure) {
  if (purpose_ == use::writes) ensure_open(application, *connection_);
  try {
    mine_.commit();
  } catch (const odb::exception& error) {
    const auto why = application.fault_of(error);
    if (!application->may_be_done(why)) {
      // COMMIT was refused. The connection's next user would commit a transaction that the server left open.
      if (application.transaction_on(*connection_) == stores::sql::transaction_state::open)
        roll_back([&] { connection_->execute("ROLLBACK"); });
      throw;
    }
    if (unsure) unsure();
    throw store_error(errc::outcome_unknown, fmt::format("the commit was not answered: {}", why.text), why.native,
                      why.sqlstate, true);
  }
}

void at_outcome(odb::transaction& in, std::function<void(unsigned short event)> ended) {
  auto mine = std::make_unique<std::function<void(unsigned short)>>(std::move(ended));
  const auto call = [](unsigned short event, void* key, unsigned long long /*data*/) {
    const std::unique_ptr<std::function<void(unsigned short)>> own(
        static_cast<std::function<void(unsigned short)>*>(key));
    (*own)(event);
  };
  in.callback_register(call, mine.get(), odb::transaction::event_all, 0, nullptr);
  mine.release();
}

void with_retries(const odb_application& application, std::chrono::milliseconds timeout,
                  const std::function<void()>& work) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  for (auto pause = 1ms;; pause = std::min(2 * pause, 20ms)) {
    try {
      return work();
    } catch (const store_error& error) {
      if (!error.transient() || error.code() == errc::outcome_unknown) throw;
      if (std::chrono::steady_clock::now() + pause >= until) throw;
    } catch (const odb::exception& error) {
      const auto why = application.fault_of(error);
      if (why.connection || !(why.transient || why.contended)) throw;
      if (std::chrono::steady_clock::now() + pause >= until) throw;
    }
    std::this_thread::sleep_for(pause);
  }
}

// ---- what was executed where the locks live ------------------------------------------------------------------------

namespace {

bool leads_elsewhere(const odb_application& application, odb::connection& connection) {
  auto answer = application.glance(connection);
  fault why;
  if (answer == outcome::unknown) answer = application.shares(connection, why);
  return answer == outcome::no;
}

}  // namespace

unsigned long long execute_there(const odb_application& application, odb::connection& connection,
                                 const std::string& sql, unsigned long long expected,
                                 const std::function<void()>& elsewhere) {
  unsigned long long changed = 0;
  try {
    changed = connection.execute(sql);
  } catch (const odb::exception& error) {
    const auto why = application.fault_of(error);
    // For example a missing table.
    const bool lasting = !why.connection && !why.transient && !why.contended;
    if (lasting && leads_elsewhere(application, connection)) elsewhere();
    throw;
  }
  if (changed != expected && leads_elsewhere(application, connection)) elsewhere();
  return changed;
}

}  // namespace dlock::detail
