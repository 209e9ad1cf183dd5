// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "stores/mysql/t_lock/sql.hpp"

namespace dlock::stores::mysql::t_lock {

/// The published table t_lock, beside programs that run its published protocol. A request id of ours is
/// "<session>/<attempt>/<fence>": whatever comes late names its grant.
class t_lock_store final : public shared_table::shared_table_store {
 public:
  explicit t_lock_store(t_lock_settings settings)
      : shared_table_store(settings, true), settings_(std::move(settings)) {}

 private:
  shared_table::scheme_sql make_sql(const shared_table::layout& table) const override {
    return t_lock::make_sql(table, settings_);
  }
  std::string our_name(const request& request) const override;
  seen holder_named(std::string_view owner, std::uint64_t fence) const override;

  const t_lock_settings settings_;
};

}  // namespace dlock::stores::mysql::t_lock
