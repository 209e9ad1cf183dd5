// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <utility>

#include "stores/mysql/state_row/sql.hpp"

namespace dlock::stores::mysql::state_row {

/// A row for each key, made beforehand or at its first use; its state says whether it is taken.
class state_row_store final : public shared_table::shared_table_store {
 public:
  explicit state_row_store(state_row_settings settings)
      : shared_table_store(settings), settings_(std::move(settings)) {}

 private:
  shared_table::scheme_sql make_sql(const shared_table::layout& table) const override {
    return state_row::make_sql(table, settings_);
  }

  const state_row_settings settings_;
};

}  // namespace dlock::stores::mysql::state_row
