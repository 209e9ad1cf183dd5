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

/// What this process holds in the names of requests. A row counts the holds of a request and does not distinguish one
/// from the others, so that a statement that comes late could end another's. Here stands which are ours, and until
/// when: so long the row is that request's without a break, if no other program of the request has shortened its time.
/// Times are the server's, in milliseconds. Thread safety: any thread.
class request_holds {
 public:
  /// Makes room for an attempt's, before it is sent: nothing can fail after the server's yes. Throws std::bad_alloc.
  void expect(const request& attempt, std::int64_t now);
  /// Granted, or extended.
  void keep(const request& attempt, std::int64_t until) noexcept;
  /// Until when; nothing: it is none of ours. `last`: for the one statement that ends it, and it is not handed out
  /// again: what that statement did can't be seen in the row, and a second one could end another's.
  std::optional<std::int64_t> use(const request& attempt, bool last) noexcept;
  /// Whether it was used for the last time, and the result of that is unknown.
  bool spent(const request& attempt) noexcept;
  /// That statement has certainly not been executed.
  void unspend(const request& attempt) noexcept;
  void forget(const request& attempt) noexcept;

 private:
  struct hold {
    std::int64_t until = 0;  // 0: not granted yet
    bool spent = false;
  };
  using name = std::pair<id128, std::uint64_t>;
  static name name_of(const request& attempt) noexcept { return {attempt.session, attempt.nonce}; }
  hold* find(const request& attempt) noexcept DLOCK_REQUIRES(mutex_);

  base::mutex mutex_;
  std::map<name, hold> holds_ DLOCK_GUARDED_BY(mutex_){};
  std::size_t enough_ DLOCK_GUARDED_BY(mutex_) = 64;
};

/// What the URL names comes before `options`. Throws std::invalid_argument naming the parameter and its value.
shared_table::table_scheme t_lock_scheme(store_url url, const t_lock_options& options);

/// Those that have no verb, by their places in scheme_sql::others.
struct other {
  enum : std::size_t { clock, row, enter, stay, leave };
};

/// Reads the fence of a grant from its row, where the server's answer had none. `owner`: session and attempt. Finds no
/// row if the grant is over.
std::string granted_fence_sql(const shared_table::scheme_sql& sql, const request& grant, std::string_view owner);

/// The published table t_lock, beside programs that run its published protocol. A request id of ours is
/// "<session>/<attempt>/<fence>": whatever comes late names its grant. Where the program says which request it serves
/// (request::request_id), the row has that id, and counts what the request holds through all programs.
class t_lock_store final : public shared_table::shared_table_store {
 public:
  explicit t_lock_store(shared_table::table_scheme scheme) : shared_table_store(std::move(scheme), true) {}

  capabilities caps() const noexcept override {
    auto made = shared_table_store::caps();
    made.request_ids = true;
    made.consecutive_fences = false;  // every UPDATE counts, that of a release and of a renewal too
    return made;
  }

 private:
  std::string our_name(const request& request) const override;
  reply change(native& with, const request& request) override;
  void tell_fence(native& with, const request& request, reply& answer) const override;
  reply enter(native& with, const request& request);
  /// In milliseconds, as the table has its times.
  static std::optional<std::int64_t> server_time(native& with, fault& why);
  reply stay(native& with, const request& request);
  reply leave(native& with, const request& request);
  seen holder_named(std::string_view owner, std::uint64_t fence) const override;

  request_holds holds_{};
};

}  // namespace dlock::stores::mysql::t_lock
