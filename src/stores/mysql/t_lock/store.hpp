// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stores/mysql/client/quoting.hpp"
#include "stores/mysql/t_lock/request_holds.hpp"
#include "stores/mysql/t_lock/sql.hpp"

namespace dlock::stores::mysql::t_lock {

/// The published table t_lock, beside programs that run its published protocol. A request id of ours is
/// "<session>/<attempt>/<fence>": whatever comes late names its grant. Where the program says which request it serves
/// (request::request_id), the row has that id, and counts what the request holds through all programs.
class t_lock_store final : public shared_table::shared_table_store {
 public:
  explicit t_lock_store(t_lock_settings settings)
      : shared_table_store(settings, true), table_(quote_mysql_name(settings.table)), settings_(std::move(settings)) {}

  capabilities caps() const noexcept override {
    auto made = shared_table_store::caps();
    made.request_ids = true;
    return made;
  }

 private:
  shared_table::scheme_sql make_sql(const shared_table::layout& table) const override {
    return t_lock::make_sql(table, settings_);
  }
  std::string our_name(const request& request) const override;
  reply change(native& with, const request& request) override;
  void tell_fence(native& with, const request& request, std::uint64_t sent, reply& answer) const override;
  reply enter(native& with, const request& request);
  /// In milliseconds, as the table has its times.
  static std::optional<std::int64_t> server_time(native& with, fault& why);
  reply stay(native& with, const request& request);
  reply leave(native& with, const request& request);
  seen holder_named(std::string_view owner, std::uint64_t fence) const override;

  const std::string table_;  // quoted
  const t_lock_settings settings_;
  request_holds holds_{};
};

}  // namespace dlock::stores::mysql::t_lock
