// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/mark_store.hpp"
#include "stores/redis/leases/scripts.hpp"
#include "stores/redis/server_store.hpp"

namespace dlock::stores::redis::leases {

/// The locks that the sessions of this process hold, as far as the store has replied. A renewal checks some of them at
/// the server. Thread-safe.
class held_locks {
 public:
  struct held {
    std::string key{};
    std::uint64_t nonce = 0;  ///< of a member; 0: it is exclusive
    std::uint64_t fence = 0;

    /// What names it at the server, and for its lease.
    std::uint64_t number() const noexcept { return nonce != 0 ? nonce : fence; }
  };

  void granted(const id128& session, std::string_view key, std::uint64_t nonce, std::uint64_t fence) noexcept;
  void ended(const id128& session, std::string_view key, std::uint64_t nonce) noexcept;
  void forget(const id128& session) noexcept;
  /// Returns up to `most` of a session's locks, in turn, so that repeated calls return each of them.
  std::vector<held> next(const id128& session, std::size_t most);

 private:
  using name = std::pair<std::string, std::uint64_t>;  // key and nonce
  using name_seen = std::pair<std::string_view, std::uint64_t>;
  struct by_name {
    using is_transparent = void;
    bool operator()(const name_seen& a, const name_seen& b) const noexcept { return a < b; }
  };
  struct book {
    std::map<name, std::uint64_t, by_name> locks{};
    name last{};  ///< the last one that next() returned
  };

  base::mutex mutex_;
  std::map<id128, book> sessions_ DLOCK_GUARDED_BY(mutex_){};
};

/// The position of clean-up in the locks.
struct cleanup_cursor {
  std::string after{};           ///< the last key of the previous window; empty at the beginning
  std::set<std::string> dead{};  ///< sessions that were dead at the beginning, and that no lock read so far names
};

/// Locks in Redis, with sessions and fencing tokens. The rules in the comments are those of docs/protocol.md.
class lease_store final : public server_store<redis_store>, private mark_store {
 public:
  explicit lease_store(const lease_settings& settings);

  capabilities caps() const noexcept override {
    return {.consecutive_fences = !by_clock_, .waits = waiting::notified, .shares = true, .marks = true};
  }
  void prepare() override;
  reply session(connection& on, session_verb action, const session_record& of) noexcept override;
  mark_store* marks() noexcept override { return this; }

 private:
  // mark_store
  reply find_mark(connection& on, std::string_view key, done_mark& found) noexcept override;
  reply set_mark(connection& on, const request& grant, std::optional<microseconds> valid,
                 std::string_view by) noexcept override;
  reply delete_mark(connection& on, std::string_view key) noexcept override;
  // store_admin
  reply inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept override;
  reply list(connection& on, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  reply revoke(connection& on, const request& key) noexcept override;
  reply cleanup(connection& on, microseconds idle, std::size_t limit) noexcept override;
  reply overview(connection& on, std::size_t limit, store_overview& found) noexcept override;
  reply waiters(connection& on, std::string_view key, std::size_t limit, waiter_overview& found) noexcept override;
  reply examine(connection& on, std::vector<store_finding>& found) noexcept override;

  bool introduce(script_connection& to, fault& why) const override;
  void add(script_calls& to, const request& asked, std::string_view epoch) const override;
  static bool concerns_members(const request& asked) noexcept;
  void add_about_members(script_calls& to, const request& asked, std::string_view epoch) const;
  reply judge(const request& asked, const answer& response) override;
  void note(const request& asked, const reply& response) noexcept;
  /// A renewal also checks some of the session's locks, and reports which are gone.
  reply renew(script_connection& on, const session_record& of);
  /// Finds the dead sessions at the beginning of a pass of clean-up.
  void find_dead(script_connection& on) DLOCK_REQUIRES(cleanup_mutex_);
  reply sweep_window(script_connection& on, microseconds idle, std::size_t limit) DLOCK_REQUIRES(cleanup_mutex_);
  reply forget_dead(script_connection& on, std::size_t limit) DLOCK_REQUIRES(cleanup_mutex_);
  std::string session_name(const id128& id) const;

  const bool by_clock_;
  // The names of keys, or their prefixes.
  const std::string locks_;
  const std::string sessions_;
  const std::string index_;  ///< the locks by key
  const std::string ends_;   ///< the sessions by their expiry
  const std::string meta_;
  const std::string done_;
  const std::string members_;
  held_locks held_{};
  base::mutex cleanup_mutex_;
  cleanup_cursor cleanup_cursor_ DLOCK_GUARDED_BY(cleanup_mutex_){};
};

}  // namespace dlock::stores::redis::leases
