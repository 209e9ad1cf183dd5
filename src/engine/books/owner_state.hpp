// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/books/fork_guard.hpp"

namespace dlock::engine {

/// Somebody who may hold locks: what an owner and a thread point to.
struct owner_state {
  owner_state() = default;
  explicit owner_state(std::string id) : request_id(std::move(id)) {}

  const unsigned generation = fork_generation();  // of the process that made it
  const std::string request_id{};                 // by which other processes know it; empty: it is of this one alone
  std::atomic<std::size_t> grants{0};             // in the tables of all services
};

/// The owner of that request id in this process: the same for all who ask while anybody has it. Any thread. Throws
/// std::bad_alloc.
std::shared_ptr<owner_state> owner_of_request(std::string_view id);

}  // namespace dlock::engine
