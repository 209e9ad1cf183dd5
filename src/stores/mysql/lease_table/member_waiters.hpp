// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "stores/mysql/lease_table/connection.hpp"
#include "stores/mysql/parked/waiter_table.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::mysql::lease_table {

/// A waiter that the last leave of a key has found.
enum class found_waiter : std::uint8_t { none, of_open_key, of_closed_key };

/// Wakes those who wait for keys that members share: docs/protocol.md, "Waiters for members". Thread-safe.
class waiters_for_members {
 public:
  /// `names` has the words of sql::shared_keys, and those of the waiter table.
  explicit waiters_for_members(const sql::table_names& names);

  /// waiter_sql::room.
  static std::string room_sql(const sql::table_names& names);

  /// After a member has left or joined, or the key was opened: wakes the first waiter of another process that may get
  /// the key now. Of a closed key that is the first of those that wait for its last member, once that has left.
  /// Errors don't matter, because waiters look now and then themselves.
  found_waiter wake_next(lease_connection& by, parked::waiter_table& table, std::string_view key,
                         reply& answer) const noexcept;
  /// The own process was woken, but the key has no room for it: wakes the next waiter behind it.
  void wake_behind(lease_connection& by, parked::waiter_table& table, std::string_view key,
                   reply& answer) const noexcept;

  /// Which waiter the last leave of the key found, so that the next leave does not ask first whether there is one.
  found_waiter expects(std::string_view key) const noexcept {
    const auto noted = place_of(key).load(std::memory_order_relaxed);
    return noted / 4 == hash(key) ? static_cast<found_waiter>(noted % 4) : found_waiter::none;
  }
  void expect(std::string_view key, found_waiter last) noexcept {
    place_of(key).store(hash(key) * 4 + static_cast<std::uint64_t>(last), std::memory_order_relaxed);
  }

 private:
  static std::uint64_t hash(std::string_view key) noexcept { return std::hash<std::string_view>{}(key) / 4; }
  std::atomic<std::uint64_t>& place_of(std::string_view key) const noexcept {
    return crowded_[hash(key) % crowded_.size()];
  }
  found_waiter wake(lease_connection& by, parked::waiter_table& table, const std::string& text,
                    reply& answer) const noexcept;

  std::string next_;
  std::string behind_;
  mutable std::array<std::atomic<std::uint64_t>, 64> crowded_{};
};

}  // namespace dlock::stores::mysql::lease_table
