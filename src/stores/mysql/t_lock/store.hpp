// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "dlock/stores/mysql_shared_tables.hpp"
#include "stores/mysql/shared_table/store.hpp"

namespace dlock::stores::mysql::t_lock {

/// What this process holds in the names of requests. A row counts the holds of a request without telling them apart, so
/// a late statement could end another process's hold. This object knows which are ours, and until when: that long the
/// row is surely that request's, unless another program of the request has shortened its time. Times are the server's,
/// in milliseconds. Thread safety: any thread.
class request_holds {
 public:
  /// Makes room for an attempt's hold before it is sent, so that nothing can fail after the server's yes. Throws
  /// std::bad_alloc.
  void expect(const request& attempt, std::int64_t now);
  /// The attempt was granted or extended.
  void keep(const request& attempt, std::int64_t until) noexcept;
  /// Returns until when it is held, or nothing if it is not ours. `last`: for the one statement that ends it; later
  /// calls return nothing. The effect of that statement is not visible in the row, so a second one could end another's
  /// hold.
  std::optional<std::int64_t> use(const request& attempt, bool last) noexcept;
  /// Whether use() has returned it for the last time, and the result of that statement is unknown.
  bool spent(const request& attempt) noexcept;
  /// That statement was certainly not executed.
  void unspend(const request& attempt) noexcept;
  void forget(const request& attempt) noexcept;

 private:
  struct hold {
    std::int64_t until = 0;  // 0 if it is not granted yet
    bool spent = false;
  };
  using name = std::pair<id128, std::uint64_t>;
  static name name_of(const request& attempt) noexcept { return {attempt.session, attempt.nonce}; }
  hold* find(const request& attempt) noexcept DLOCK_REQUIRES(mutex_);

  base::mutex mutex_;
  std::map<name, hold> holds_ DLOCK_GUARDED_BY(mutex_){};
  std::size_t enough_ DLOCK_GUARDED_BY(mutex_) = 64;
};

/// The URL takes precedence over `options`. Throws std::invalid_argument naming the parameter and its value.
shared_table::table_scheme t_lock_scheme(store_url url, const t_lock_options& options);

/// Indices of the statements that belong to no verb, in scheme_sql::others.
struct other {
  enum : std::size_t { clock, row, enter, stay, leave };
};

/// Reads the fence of a grant from its row, if the server's reply did not contain it. `owner` is session and attempt.
/// Finds no row if the grant is over.
std::string granted_fence_sql(const shared_table::scheme_sql& sql, const request& grant, std::string_view owner);

/// The published table t_lock, shared with programs that run its published protocol. dlock's own request id is
/// "<session>/<attempt>/<fence>", so a late statement names its grant. If the program sets the request that it serves
/// (request::request_id), the row has that id, and counts the holds of the request in all programs.
class t_lock_store final : public shared_table::shared_table_store {
 public:
  explicit t_lock_store(shared_table::table_scheme scheme) : shared_table_store(std::move(scheme), true) {}

  capabilities caps() const noexcept override {
    auto made = shared_table_store::caps();
    made.request_ids = true;
    made.consecutive_fences = false;  // every UPDATE counts, including releases and renewals
    return made;
  }

 private:
  std::string our_name(const request& request) const override;
  reply change(native& with, const request& request) override;
  void tell_fence(native& with, const request& request, reply& answer) const override;
  reply enter(native& with, const request& request);
  /// In milliseconds, as in the table.
  static std::optional<std::int64_t> server_time(native& with, fault& why);
  reply stay(native& with, const request& request);
  reply leave(native& with, const request& request);
  seen holder_named(std::string_view owner, std::uint64_t fence) const override;

  request_holds holds_{};
};

}  // namespace dlock::stores::mysql::t_lock
