// SPDX-License-Identifier: BSL-1.0
#include "dlock/odb/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "api/access.hpp"
#include "base/mutex.hpp"
#include "dlock/store_interface/transactional_store.hpp"
#include "engine/operations/lock_errors.hpp"
#include "engine/registry/transaction_watch.hpp"
#include "odb/own_transaction.hpp"
#include "odb/transaction_guard.hpp"
#include "odb/verify_grant.hpp"

namespace dlock::detail {

namespace {

/// The grants that threads got inside ODB's transactions that are still open.
class grants_inside {
 public:
  static grants_inside& all() {
    static auto* const known = new grants_inside;  // never destroyed: threads may outlive main()
    return *known;
  }
  void add(odb::transaction& in, const std::shared_ptr<engine::grant>& granted) {
    bool known = false;
    {
      const base::lock_guard lock(mutex_);
      known = grants_.contains(&in);
    }
    if (!known) at_outcome(in, [this, &in](unsigned short /*event*/) { forget(in); });
    const base::lock_guard lock(mutex_);
    grants_[&in].push_back(granted);
  }
  bool has(const odb::transaction& in, const std::shared_ptr<engine::grant>& granted) {
    const base::lock_guard lock(mutex_);
    const auto found = grants_.find(&in);
    if (found == grants_.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(),
                       [&](const auto& each) { return each.lock() == granted; });
  }

 private:
  void forget(const odb::transaction& in) {
    const base::lock_guard lock(mutex_);
    grants_.erase(&in);
  }

  base::mutex mutex_;
  std::map<const odb::transaction*, std::vector<std::weak_ptr<engine::grant>>> grants_ DLOCK_GUARDED_BY(mutex_);
};

/// Returns each grant once, in the global order of keys.
std::vector<std::shared_ptr<engine::grant>> in_order(const std::vector<const lease*>& held) {
  if (held.empty()) throw std::logic_error("dlock: verify() of no lease");  // an empty multi_lease has none
  std::vector<std::shared_ptr<engine::grant>> all;
  for (const auto* each : held) {
    const auto& grant = access::grant_of(*each);
    if (grant == nullptr) throw std::logic_error("dlock: verify() of an empty lease");
    grant->home->refuse_if_forked();
    all.push_back(grant);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    if (const auto order = a->key <=> b->key; order != 0) return order < 0;
    return a->home->where().name() < b->home->where().name();
  });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

odb_application application_of(const engine::grant& grant) {
  auto& store = grant.home->where();
  const auto* const application = stores::sql::application_database_of(store);
  if (application == nullptr) {
    throw std::logic_error(
        fmt::format("dlock: verify(): the locks live in {}, where no transaction of yours can see them", store.name()));
  }
  return odb_application(*application);
}

/// Throws, because the check could succeed on a copy of the row, on a replica for example. It must be the row on which
/// other processes take over.
[[noreturn]] void elsewhere(const engine::grant& grant, const std::string& why) {
  throw std::invalid_argument(
      fmt::format("dlock: verify(): the transaction's database is not the one that key '{}' lives in, {}{}{}",
                  printable(grant.key), grant.home->where().name(), why.empty() ? "" : ": ", why));
}

/// Throws, because in autocommit the check would hold for its own statement only.
[[noreturn]] void not_open(const odb_application& application, const engine::grant& grant) {
  if (application->ends_unseen()) {
    throw store_error(errc::store_failed,
                      fmt::format("key '{}': verify: no transaction is open on this connection: the cluster has rolled "
                                  "it back for a write of another node, or it was not begun, or a statement that "
                                  "commits by itself (DDL, for example) has ended it",
                                  printable(grant.key)),
                      1213, "40001", true);
  }
  throw std::logic_error(fmt::format(
      "dlock: verify(): key '{}': no transaction is open on this connection: none was begun, or a statement "
      "that commits by itself (DDL, for example) has ended it",
      printable(grant.key)));
}

[[noreturn]] void failed(const engine::grant& grant, const fault& why) {
  const bool may_pass = why.transient || why.contended;
  throw store_error(
      why.connection ? errc::store_unreachable : errc::store_failed,
      fmt::format("key '{}': verify: {}; rolled back", printable(grant.key), engine::trouble(grant.home->all(), why)),
      why.native, why.sqlstate, may_pass);
}

[[noreturn]] void not_ours(engine::grant& grant) {
  throw lock_lost(engine::grant_lifecycle::not_ours(grant, grant.home->shared().time.now()),
                  fmt::format("key '{}': verify: {} is not {} any more; rolled back", printable(grant.key),
                              grant.mode == exclusive ? fmt::format("fence {}", grant.fence) : "this lease",
                              grant.mode == exclusive ? "the holder's" : "among those that share the key"));
}

}  // namespace

void verify_grant(odb::connection& connection, engine::grant& grant) {
  const auto application = application_of(grant);
  const auto leads_elsewhere = [&] { elsewhere(grant, application.why_elsewhere(connection)); };
  if (application.glance(connection) == outcome::no) leads_elsewhere();
  if (application.transaction_on(connection) == stores::sql::transaction_state::none) not_open(application, grant);
  const auto check = grant.home->where().transactions()->verification_of(grant.ask(verb::poll));
  unsigned long long rows = 0;
  try {
    rows = execute_there(application, connection, check.text, check.expected_rows, leads_elsewhere);
  } catch (const odb::exception& error) {
    failed(grant, application.fault_of(error));
  }
  if (rows != check.expected_rows) not_ours(grant);
  if (application.transaction_on(connection) != stores::sql::transaction_state::open) not_open(application, grant);
}

namespace {

void verify_each(odb::connection& connection, const std::vector<std::shared_ptr<engine::grant>>& all) {
  for (const auto& grant : all) {
    engine::ensure_held(*grant);
    verify_grant(connection, *grant);
  }
}

void pin(odb::transaction& in, const std::vector<std::shared_ptr<engine::grant>>& all) {
  at_outcome(in, [all](unsigned short /*event*/) {
    for (const auto& grant : all) engine::transaction_ended(grant);
  });
  for (const auto& grant : all) engine::outlive_transaction(*grant);
}

/// A transaction that relies on the lock must see what earlier holders wrote. In REPEATABLE READ a transaction that
/// read something before the grant does not. This runs before the verification, because a transaction always sees the
/// row that it has written itself.
void ensure_view(odb::transaction& in, const std::shared_ptr<engine::grant>& grant) {
  if (!grants_inside::all().has(in, grant)) return;
  const auto application = application_of(*grant);
  const auto sees = application->sees(grant->ask(verb::poll));
  if (sees.empty()) return;
  try {
    if (in.connection().execute(sees) == 1) return;
  } catch (const odb::exception& error) {
    failed(*grant, application.fault_of(error));
  }
  throw std::logic_error(fmt::format(
      "dlock: verify(): key '{}' was acquired inside this transaction, which had read before and does not see what "
      "earlier holders have written{}; rolled back: take the lock first, then begin the transaction, or begin it in "
      "READ COMMITTED",
      printable(grant->key),
      application->ends_unseen() ? " (or this node of the cluster has not applied it yet)" : ""));
}

void guard(odb::transaction& in, const std::shared_ptr<engine::grant>& grant) {
  guard_transaction(
      in, application_of(*grant), grant.get(),
      [grant](odb::connection& connection) { verify_grant(connection, *grant); },
      [grant] {
        grant->home->shared().notify(
            {.what = event::kind::unchecked,
             .key = grant->key.view(),
             .fence = grant->fence_shown(),
             .text = "a verified transaction was committed on a cluster without the check before its commit, because "
                     "the program had replaced the tracer of the connection"});
      });
}

void undo(odb::connection& connection, const std::vector<const lease*>& held,
          const std::function<void()>& rollback) noexcept {
  try {
    rollback();
  } catch (...) {
    // The connection is broken, so the server rolls back; or it is in a state that allows no ROLLBACK (XA).
    for (const auto* each : held) {
      const auto& grant = access::grant_of(*each);
      const auto* const database =
          grant == nullptr ? nullptr : stores::sql::application_database_of(grant->home->where());
      if (database == nullptr || find_database_part(kind_of(database->library())) == nullptr) continue;
      const odb_application application(*database);
      if (application.glance(connection) != outcome::no &&
          application.transaction_on(connection) == stores::sql::transaction_state::open) {
        return application.break_off(connection);
      }
    }
  }
}

/// Rolls the transaction back if its check fails, so that it can't be committed. Otherwise the program could commit an
/// unverified write after error 1205, and each later write would commit by itself after 1213.
template <class Rollback, class Verify>
void or_roll_back(odb::connection& connection, const std::vector<const lease*>& held, Rollback&& rollback,
                  Verify&& verify) {
  try {
    verify();
  } catch (...) {
    undo(connection, held, rollback);
    throw;
  }
}

}  // namespace

void verify_all(odb::transaction& in, std::vector<const lease*> held, bool reads) {
  if (in.finalized()) throw std::logic_error("dlock: verify(): the transaction has ended already");
  const odb::connection_ptr connection(
      odb::details::inc_ref(&in.connection()));  // outlives the transaction's use of it
  or_roll_back(
      *connection, held, [&] { in.rollback(); },
      [&] {
        const auto all = in_order(held);
        pin(in, all);  // before the check, so that no release on another thread comes in between
        if (reads) {
          for (const auto& grant : all) ensure_view(in, grant);
        }
        verify_each(*connection, all);
        for (const auto& grant : all) guard(in, grant);
      });
}

void verify_all(odb::transaction& in, std::vector<const lease*> held) { verify_all(in, std::move(held), true); }

void verify_all(odb::connection& connection, std::vector<const lease*> held) {
  if (odb::transaction::has_current() && &odb::transaction::current().connection() == &connection) {
    // By ODB's transaction, because ODB must know of the rollback, or each later write would commit by itself.
    return verify_all(odb::transaction::current(), std::move(held));
  }
  or_roll_back(
      connection, held, [&] { connection.execute("ROLLBACK"); }, [&] { verify_each(connection, in_order(held)); });
}

// ---- the current transactions of threads ---------------------------------------------------------------------------

namespace {

/// The calling thread's current transaction, as ODB knows it.
class odb_watch final : public engine::transaction_watch {
 public:
  /// Sends nothing on the caller's connection, which may be in the middle of an uncached result. Where only the server
  /// could tell whether the connection leads to the locks, says that it does: a release then waits for the transaction.
  bool open_here(store& store) noexcept override try {
    if (!odb::transaction::has_current()) return false;
    const auto* const database = stores::sql::application_database_of(store);
    auto& connection = odb::transaction::current().connection();
    if (database == nullptr || kind_of(database->library()) != connection.database().id()) return false;
    // Without the part for that database the connection is unknown too.
    return find_database_part(connection.database().id()) == nullptr ||
           odb_application(*database).glance(connection) != outcome::no;
  } catch (...) {
    return false;
  }

  void granted_inside(const std::shared_ptr<engine::grant>& which) noexcept override try {
    if (odb::transaction::has_current()) grants_inside::all().add(odb::transaction::current(), which);
  } catch (...) {  // out of memory; the observer has been warned
  }

  bool at_end(store& store, std::function<void()> ended) noexcept override try {
    if (!open_here(store)) return false;
    at_outcome(odb::transaction::current(), [ended = std::move(ended)](unsigned short /*event*/) { ended(); });
    return true;
  } catch (...) {
    return false;
  }
};

}  // namespace

bool watch_odb_transactions() noexcept {
  static odb_watch* const watch = new (std::nothrow) odb_watch;  // never destroyed: threads may outlive main()
  if (watch != nullptr) watch_transactions(*watch);
  return watch != nullptr;
}

}  // namespace dlock::detail
