// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <thread>

#include "contract/store/store_contract.hpp"
#include "support/mysql_place.hpp"

namespace dlock::test {

/// For the actors of the store contract: each has a store object of its own on the same tables.
class mysql_store_place final : public store_place {
 public:
  std::shared_ptr<store> open() override { return tables.open(more); }
  void pass(microseconds time) override { std::this_thread::sleep_for(time); }

  mysql_place tables{};
  std::string more{};  ///< parameters of the stores to come
};

/// The server's number of an actor's connection.
inline std::uint64_t connection_id(const actor& of) { return of.on->identity().id; }

}  // namespace dlock::test
