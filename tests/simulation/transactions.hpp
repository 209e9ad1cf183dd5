// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "dlock/lease.hpp"
#include "simulation/store.hpp"

namespace dlock::simulation {

/// A transaction of the application's on the server that has the locks, open on the thread that made it. What ODB's
/// transactions are to dlock::odb.
class open_transaction {
 public:
  open_transaction(network& by, process& of);
  open_transaction(const open_transaction&) = delete;
  open_transaction& operator=(const open_transaction&) = delete;
  /// Rolls back.
  ~open_transaction();

  /// As dlock::odb does it. False: it is rolled back.
  bool verify(const lease& held);
  void at_commit(std::function<void()> what) { inner_.at_commit.push_back(std::move(what)); }
  void commit();

  // Claims, as dlock::odb makes them.
  std::vector<std::string> lock_free_rows(bool by_column, std::size_t most);
  std::uint64_t claim(const request& q);
  /// False: nobody knows whether it is committed, or will be.
  bool commit_claim();

 private:
  class watch;
  void end();
  void travel() { process_.sleep(by_.travel(process_)); }

  network& by_;
  process& process_;
  transaction inner_{};
  bool open_ = true;
  std::vector<std::function<void()>> ended_{};
  std::vector<std::shared_ptr<engine::grant>> verified_{};
};

}  // namespace dlock::simulation
