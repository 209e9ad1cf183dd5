// SPDX-License-Identifier: BSL-1.0
#include "dlock/odb/once.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "api/access.hpp"
#include "engine/operations/lock_errors.hpp"
#include "odb/own_transaction.hpp"
#include "odb/transaction_guard.hpp"

namespace dlock {

namespace detail {
namespace {

/// One mark in one transaction.
class transaction_mark {
 public:
  transaction_mark(odb::transaction& in, engine::service_core& core, const lock_key& key)
      : in_(in), core_(core), key_(key), application_(application_of(core)) {}

  /// Before anything is asked, so that a wrong transaction is an error also where the key is done.
  void check() {
    if (application_.glance(in_.connection()) == outcome::no) elsewhere();
    check_open();
  }
  void check_open() {
    if (application_.transaction_on(in_.connection()) == stores::sql::transaction_state::open) return;
    if (application_->ends_unseen()) ensure_open(application_, in_.connection());
    throw std::logic_error(fmt::format(
        "dlock: once(): key '{}': no transaction is open on this connection: a deadlock that was ignored has rolled it "
        "back, or a statement that commits by itself (DDL, for example) has ended it",
        printable(key_)));
  }
  bool set(const once_options& options) {
    const auto valid = options.valid ? std::optional<microseconds>(*options.valid) : std::nullopt;
    const auto statements = application_->mark_as_done(key_.view(), valid, core_.shared().who());
    for (const auto& create : statements.create) in_.connection().execute(create);
    if (execute(statements.insert) == 0) {
      if (read(statements.counts) != 0) return false;
      if (execute(statements.replace) == 0) {
        throw store_error(
            errc::store_failed,
            fmt::format("key '{}': once: the mark was neither inserted nor found; rolled back", printable(key_)), 0, "",
            true);
      }
    }
    ensure_open(application_, in_.connection());
    guard(statements.holds);
    return true;
  }

 private:
  [[noreturn]] void elsewhere() const {
    throw std::invalid_argument(
        fmt::format("dlock: once(): the transaction's database is not the one that key '{}' lives in, {}",
                    printable(key_), core_.where().name()));
  }
  unsigned long long execute(const std::string& statement) {
    return explained(
        [&] { return execute_there(application_, in_.connection(), statement, 1, [this] { elsewhere(); }); });
  }
  unsigned long long read(const std::string& statement) {
    return explained([&] { return in_.connection().execute(statement); });
  }
  template <class Run>
  unsigned long long explained(Run run) {
    try {
      return run();
    } catch (const odb::exception& error) {
      const auto why = application_.fault_of(error);
      throw store_error(
          why.connection ? errc::store_unreachable : errc::store_failed,
          fmt::format("key '{}': once: {}; rolled back", printable(key_), engine::trouble(core_.all(), why)),
          why.native, why.sqlstate, why.transient || why.contended);
    }
  }
  /// Where the server may roll the transaction back unseen, looks again before each write after a read, and before the
  /// commit: the work must not be committed without its mark.
  void guard(const std::string& holds) {
    guard_transaction(in_, application_, &core_, [holds](odb::connection& connection) {
      if (connection.execute(holds) != 0) return;
      throw store_error(errc::store_failed, "once: the mark is not in this transaction any more; rolled back", 1213,
                        "40001", true);
    });
  }

  odb::transaction& in_;
  engine::service_core& core_;
  const lock_key& key_;
  const odb_application application_;
};

}  // namespace
}  // namespace detail

bool once_in(odb::transaction& in, lock_service& service, const lock_key& key, const once_options& options) {
  if (in.finalized()) throw std::logic_error("dlock: once(): the transaction has ended already");
  try {
    validate(options, true);
    auto& core = *detail::access::core_of(service);
    if (core.where().marks() == nullptr) return service.done(key).has_value();  // throws
    detail::transaction_mark mark(in, core, key);
    mark.check();
    // By a connection of dlock's, whose view is never older than the transaction. It also makes a missing table, which
    // the transaction can't do, because it would end by that.
    if (service.done(key)) return false;
    return mark.set(options);
  } catch (...) {
    roll_back_once(in, key);
    throw;
  }
}

void end_once_in(odb::transaction& in, lock_service& service, const lock_key& key) {
  if (in.finalized()) return;  // the function has committed it
  detail::transaction_mark(in, *detail::access::core_of(service), key).check_open();
}

void roll_back_once(odb::transaction& in, const lock_key& /*key*/) noexcept {
  try {
    if (!in.finalized()) in.rollback();
  } catch (...) {
    // The connection is broken, so the server rolls back.
  }
}

}  // namespace dlock
