// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/lock_settings.hpp"
#include "dlock/observer.hpp"
#include "dlock/service_options.hpp"
#include "dlock/store/transactional_store.hpp"
#include "engine/connection_pool.hpp"
#include "engine/fair_share.hpp"
#include "engine/local_queue.hpp"

namespace dlock::detail {

/// What went wrong in that store, and which store it is: each of them once. Without "dlock: ".
std::string told_once(const std::string& store, std::string_view text);

/// What the parts of an engine share: nothing in here depends on them.
struct context {
  context(std::shared_ptr<store> place, service_options how);

  const std::shared_ptr<store> where;
  const service_options options;  // with defaults that leave nothing open
  const lock_settings defaults;
  time_source& time;
  const std::string host;
  const std::int64_t pid;
  connection_pool pool;
  local_queue queue;
  reigns had;
  std::atomic<std::uint64_t> nonces;

  instant now() const noexcept { return time.now(); }
  /// What a call means that gives these options.
  lock_settings settled(const lock_options& given) const { return detail::settled(given, defaults); }
  session_record record(const id128& id, microseconds ttl) const noexcept {
    return {.id = id, .ttl = ttl, .host = host, .pid = pid, .label = options.label};
  }
  /// See transactional_store::caller_may_wait().
  bool may_wait(fault& why) const noexcept {
    const auto* const transactions = where->transactions();
    return transactions == nullptr || transactions->caller_may_wait(why);
  }
  /// See told_once().
  std::string trouble(const fault& why) const;
  /// Counts the event and tells the observer; whatever that throws is counted and dropped.
  void tell(const event& what) noexcept {
    add_up(what.what);
    deliver(what);
  }
  /// The two halves of it.
  void add_up(event::kind what) noexcept {
    counts_[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
  }
  void deliver(const event& what) noexcept;
  std::uint64_t count(event::kind what) const noexcept { return counts_[static_cast<std::size_t>(what)].load(); }

 private:
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(event::kind::observer_failed) + 1> counts_{};
};

}  // namespace dlock::detail
