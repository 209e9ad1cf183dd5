// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>

#include <odb/exceptions.hxx>
#include <odb/transaction.hxx>

#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/odb/verify.hpp"
#include "dlock/stores/memory.hpp"
#include "odb/verify/bank.hpp"
#include "support/calls.hpp"
#include "support/recording_observer.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// Where locks and the application's tables are: one implementation per store, linked with the same tests. Nobody else
/// uses these tables.
class verify_fixture {
 public:
  virtual ~verify_fixture() = default;
  /// For lock_service, in any process of this host.
  virtual std::string locks() const = 0;
  /// The same server (SQLite: the same file), for open_bank().
  virtual std::string bank() const = 0;
  /// Locks whose renewal no transaction of the application's disturbs: the same, or on SQLite a file of their own.
  virtual std::string locks_apart() const = 0;
  /// Whether a transaction locks rows, and not the whole database.
  virtual bool locks_rows() const = 0;
};

std::unique_ptr<verify_fixture> make_verify_fixture();

/// Runs it on another thread, to its end: as another process would, without the caller's transaction.
template <class F>
auto elsewhere(F&& body) {
  return std::async(std::launch::async, std::forward<F>(body)).get();
}

/// A bank of four wallets with 100 each, and two services that compete for its locks.
struct verify_scene {
  static constexpr std::int64_t balance = 100;

  verify_scene() { make_bank(*bank, 4, balance); }

  /// A lease of `slow`, which thinks that it holds it for ever, while the server lets it end after 100 ms.
  lease overslept(const std::string& key) {
    return slow.acquire(key, {.ttl = std::chrono::milliseconds{100}, .renewal = renewal::none});
  }
  /// Waits until the server thinks that nobody can rely on the key any more.
  bool expired(const std::string& key) {
    return eventually([&] {
      const auto now = others.holder(key);
      return !now || now->remaining.count() == 0;
    });
  }
  /// Takes it, on another thread, once it is free.
  lease take_elsewhere(const std::string& key) {
    return elsewhere(
        [&] { return others.acquire(key, {.ttl = std::chrono::seconds{5}, .wait = std::chrono::seconds{20}}); });
  }
  bool busy_elsewhere(const std::string& key) {
    return elsewhere([&] { return !granted(others.try_acquire(key, {.ttl = std::chrono::seconds{5}})); });
  }
  /// Another holder of wallet 1 writes it, verified, and lets go.
  void write_elsewhere(std::int64_t to) {
    elsewhere([&] {
      auto theirs = others.acquire("wallet:1", {.ttl = std::chrono::seconds{5}});
      odb::transaction in(begin(*bank));
      theirs.verify(in);
      write(*bank, 1, to);
      in.commit();
      theirs.release();
    });
  }
  /// Of a wallet, as somebody else sees it.
  std::int64_t seen(std::uint64_t id) {
    return elsewhere([&] { return read(*bank, id).balance; });
  }

  std::unique_ptr<verify_fixture> fixture = make_verify_fixture();
  std::unique_ptr<odb::database> bank = open_bank(fixture->bank());
  std::shared_ptr<recording_observer> observer = std::make_shared<recording_observer>();
  std::shared_ptr<recording_observer> others_observer = std::make_shared<recording_observer>();
  lock_service locks{fixture->locks(), {.observer = observer}};
  lock_service others{fixture->locks(), {.observer = others_observer}};
  stores::virtual_clock stands_still{};
  lock_service slow{fixture->locks(), {.cleanup_interval = std::chrono::milliseconds{0}, .time = &stands_still}};
};

/// What is true after verify() has thrown: nothing of the transaction is there, and nothing more can be.
inline void must_be_over(verify_scene& in, odb::transaction& t, std::uint64_t written) {
  CHECK(t.finalized());
  CHECK_FALSE(odb::transaction::has_current());
  CHECK_THROWS_AS(write(*in.bank, written, 666), odb::not_in_transaction);
  CHECK_THROWS_AS(t.commit(), odb::transaction_already_finalized);
  CHECK(in.seen(written) == verify_scene::balance);
}

}  // namespace dlock::test
