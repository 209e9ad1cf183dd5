// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/detail/no_unit.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/multi_lease.hpp"
#include "dlock/observer.hpp"
#include "dlock/service_options.hpp"
#include "dlock/store/holder_info.hpp"
#include "dlock/stores/linked.hpp"

namespace dlock {

class distributed_mutex;
class store;

/// Gives out leases from one store. Make one per process and database and keep it; it owns connections and four
/// threads. Thread safety: all functions may be called from any thread. In a forked child every call throws
/// lock_refused(forked), and destroying the service or its leases does nothing.
class lock_service {
 public:
  /// Opens the store (see store_url.hpp), makes or verifies its schema. Throws std::invalid_argument, store_error. Where the
  /// database may start later than this program: service_options::start_limit.
  explicit lock_service(std::string_view url, service_options options = {});
  explicit lock_service(std::shared_ptr<store> where, service_options options = {});
  /// close(service_options::close_limit), unless all that is held is held by calls of this thread; leases still held then
  /// stay valid, renewed and releasable. What is waited for and what is left is told to the observer (still_held).
  ~lock_service();
  lock_service(const lock_service&) = delete;
  lock_service& operator=(const lock_service&) = delete;

  /// Waits until the key is ours. Throws lock_timeout, lock_refused, store_error, std::invalid_argument; lock_lost if
  /// this owner holds the key by a lease that is lost.
  /// Cost: one round trip if the key is free, known and the connection warm; none for re-entry.
  lease acquire(const lock_key& key, const lock_options& options);
  lease acquire(const lock_key& key) { return acquire(key, defaults()); }

  /// One attempt, whatever options.wait says: an empty lease when the key is busy. Throws as acquire() otherwise.
  /// Cost: one round trip if free, two if busy.
  lease try_acquire(const lock_key& key, const lock_options& options);
  lease try_acquire(const lock_key& key) { return try_acquire(key, defaults()); }
  /// For {.wait = 5}: doesn't compile, and says why.
  template <detail::without_units T = detail::options_without_units>
  lease acquire(const lock_key&, const T&) {
    return detail::refuse_time_without_unit<T>(), lease{};
  }
  template <detail::without_units T = detail::options_without_units>
  lease try_acquire(const lock_key&, const T&) {
    return detail::refuse_time_without_unit<T>(), lease{};
  }

  /// Several keys, all or none, under the one wait: acquire({from, to}, {.wait = 2s}). See docs/several-locks.md.
  /// Throws as above; lock_timeout names the key that was busy. Keys that this owner holds are entered again.
  /// Cost: two round trips if all are free and known, on MySQL and MariaDB; else about two more for each that is not.
  multi_lease acquire(const lock_keys& keys, const lock_options& options);
  multi_lease acquire(const lock_keys& keys) { return acquire(keys, defaults()); }
  multi_lease acquire(key_list keys, const lock_options& options) { return acquire(lock_keys(keys), options); }
  multi_lease acquire(key_list keys) { return acquire(lock_keys(keys)); }
  /// One attempt, whatever options.wait says: empty when one of them is busy.
  multi_lease try_acquire(const lock_keys& keys, const lock_options& options);
  multi_lease try_acquire(const lock_keys& keys) { return try_acquire(keys, defaults()); }
  multi_lease try_acquire(key_list keys, const lock_options& options) { return try_acquire(lock_keys(keys), options); }
  multi_lease try_acquire(key_list keys) { return try_acquire(lock_keys(keys)); }

  /// service_options::defaults.
  const lock_options& defaults() const& noexcept;
  const lock_options& defaults() const&& = delete;

  /// Who holds the key, or row, now; nobody: empty. One statement. Throws store_error; std::invalid_argument: a row of
  /// another service's.
  std::optional<holder_info> holder(const lock_key& key);
  /// Held keys in byte order, those after `after`, at most `limit`. Rows locked in place are not among them: they are in
  /// tables of the application's, which nobody lists here. One statement. Throws store_error.
  std::vector<holder_info> held_keys(std::size_t limit = 1000, std::string_view after = {});
  /// Dooms the session of the present holder: its renewals are refused (its process is told "renewal refused" for every
  /// lease of that session) and the key is taken over after the session's expiry. False: nobody holds it, or by an
  /// expiry of its own, which ends by itself. At most two statements. Throws as holder().
  bool force_release(const lock_key& key);

  /// No new acquires from now on (lock_refused(closed), waiters too). Waits up to `limit` for leases to be released.
  /// Returns the keys still held. Those stay renewed until they are released.
  std::vector<std::string> close(std::chrono::milliseconds limit);

  /// How often something happened since the service was made; also without an observer. Never throws.
  std::uint64_t count(event::kind what) const noexcept;
  /// Statements sent for acquires, releases and inspection; renewals and background work not counted.
  std::uint64_t statements() const noexcept;
  /// The store's name: its URL without the password.
  const std::string& name() const& noexcept;
  const std::string& name() const&& = delete;

 private:
  friend struct detail::access;
  friend class distributed_mutex;
  friend void set_default_service(lock_service& service);
  std::shared_ptr<detail::engine> engine_;
};

/// Makes `service` the one that macros, free functions and decorators use. Set once: throws std::logic_error if another
/// one is set. It is unset when that service is destroyed. A forked child may replace the one that its parent has set.
void set_default_service(lock_service& service);
/// Throws std::logic_error with what to do while none is set.
lock_service& default_service();

/// On the default service.
inline lease acquire(const lock_key& key, const lock_options& options) {
  return default_service().acquire(key, options);
}
inline lease acquire(const lock_key& key) { return default_service().acquire(key); }
inline lease try_acquire(const lock_key& key, const lock_options& options) {
  return default_service().try_acquire(key, options);
}
inline lease try_acquire(const lock_key& key) { return default_service().try_acquire(key); }
template <detail::without_units T = detail::options_without_units>
lease acquire(const lock_key&, const T&) {
  return detail::refuse_time_without_unit<T>(), lease{};
}
template <detail::without_units T = detail::options_without_units>
lease try_acquire(const lock_key&, const T&) {
  return detail::refuse_time_without_unit<T>(), lease{};
}
inline multi_lease acquire(const lock_keys& keys, const lock_options& options) {
  return default_service().acquire(keys, options);
}
inline multi_lease acquire(const lock_keys& keys) { return default_service().acquire(keys); }
inline multi_lease acquire(key_list keys, const lock_options& options) {
  return default_service().acquire(keys, options);
}
inline multi_lease acquire(key_list keys) { return default_service().acquire(keys); }
inline multi_lease try_acquire(const lock_keys& keys, const lock_options& options) {
  return default_service().try_acquire(keys, options);
}
inline multi_lease try_acquire(const lock_keys& keys) { return default_service().try_acquire(keys); }
inline multi_lease try_acquire(key_list keys, const lock_options& options) {
  return default_service().try_acquire(keys, options);
}
inline multi_lease try_acquire(key_list keys) { return default_service().try_acquire(keys); }

}  // namespace dlock
