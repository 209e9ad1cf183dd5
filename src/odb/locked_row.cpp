// SPDX-License-Identifier: BSL-1.0
#include "dlock/odb/locked_row.hpp"

#include <fmt/format.h>

#include <exception>
#include <stdexcept>

#include "api/access.hpp"
#include "dlock/odb/verify.hpp"
#include "dlock/store_interface/transactional_store.hpp"
#include "odb/own_transaction.hpp"
#include "odb/transaction_guard.hpp"
#include "odb/verify_grant.hpp"

namespace dlock::detail {

namespace {

/// Restores the entity's version unless the write was committed.
class until_committed {
 public:
  explicit until_committed(const entity_write& write) : write_(write) {}
  ~until_committed() {
    if (!committed_) write_.restore();
  }
  until_committed(const until_committed&) = delete;
  until_committed& operator=(const until_committed&) = delete;
  void committed() noexcept { committed_ = true; }

 private:
  const entity_write& write_;
  bool committed_ = false;
};

/// Writes and releases in one transaction. It releases the row first, which locks the row and proves that it is ours
/// before anything is written; on a cluster it verifies the row first and releases it last. Returns false, with the
/// reason in `unknown`, if it is unknown whether the transaction was committed.
bool try_commit(engine::service_core& home, odb::database& db, engine::grant& grant, const entity_write& write,
                std::exception_ptr& unknown) {
  const auto application = application_of(home);
  const auto free = home.where().transactions()->release_of(grant.ask(verb::release));
  const auto moved = [&] { leads_elsewhere_now(home.where()); };
  const auto free_row = [&](odb::connection& connection) {
    if (execute_there(application, connection, free.text, free.expected_rows, moved) == free.expected_rows) return;
    throw lock_lost(engine::grant_lifecycle::not_ours(grant, home.shared().time.now()),
                    fmt::format("key '{}': commit: fence {} is not the holder's any more; nothing was written",
                                printable(grant.key), grant.fence));
  };
  own_transaction in(home, db, own_transaction::use::writes);
  if (application->ends_unseen()) {
    const auto verify_row = [&](odb::connection& connection) { verify_grant(connection, grant); };
    verify_row(in.connection());
    guard_transaction(in.get(), application, &grant, verify_row);
    check_at_commit(in.get(), free_row);
  } else {
    free_row(in.connection());
  }
  until_committed version(write);
  write.write();
  try {
    in.commit(application);
  } catch (const store_error& error) {
    if (error.code() != errc::outcome_unknown) throw;
    unknown = std::current_exception();
    return false;
  } catch (const std::logic_error&) {  // the row may have been freed before it
    unknown = std::current_exception();
    return false;
  }
  version.committed();
  return true;
}

}  // namespace

void read_rows(lock_service& service, odb::database& db, const std::function<void()>& read) {
  auto& home = *access::core_of(service);
  own_transaction in(home, db, own_transaction::use::reads);
  read();
  in.commit(application_of(home));
}

void commit_row(odb::database& db, lease held, const entity_write& write) {
  const auto grant = access::grant_of(held);  // keeps its engine alive
  auto& home = *grant->home;
  home.refuse_if_forked();
  if (!home.all().table.sole(*grant)) {
    update_row(db, held, write);
    held.release();
    return;
  }
  ensure_can_write(home);  // before the release begins, which would fail too
  std::exception_ptr unknown;
  access::release_by(held, [&] {
    bool done = false;
    with_retries(application_of(home), home.shared().options.release_limit,
                 [&] { done = try_commit(home, db, *grant, write, unknown); });
    return done;
  });
  if (unknown) std::rethrow_exception(unknown);
}

void update_row(odb::database& db, const lease& held, const entity_write& write) {
  const auto& grant = access::grant_of(held);
  auto& home = *grant->home;
  const auto application = application_of(home);
  with_retries(application, home.shared().options.release_limit, [&] {
    own_transaction in(home, db, own_transaction::use::writes);
    verify(in.get(), held);
    until_committed version(write);
    write.write();
    in.commit(application);
    version.committed();
  });
}

void update_row(odb::transaction& in, const lease& held, const entity_write& write) {
  verify_all(in, {&held}, false);
  // ODB's functions act in the current transaction, whatever database they are called on.
  const outer_transaction outer;
  odb::transaction::current(in);
  try {
    at_outcome(in, [restore = write.restore](unsigned short event) {
      if (event == odb::transaction::event_rollback) restore();
    });
    write.write();
    // If something ended the transaction meanwhile, later writes would not be verified.
    ensure_open(application_of(*access::grant_of(held)->home), in.connection());
  } catch (...) {
    try {
      in.rollback();
    } catch (...) {
      // The connection broke, so the server rolls back.
    }
    throw;
  }
}

void empty_row(const char* call) { throw std::logic_error(std::string("dlock: ") + call + " on an empty locked_row"); }

}  // namespace dlock::detail
