// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <utility>

#include "stores/mysql/unique_insert/sql.hpp"

namespace dlock::stores::mysql::unique_insert {

/// A row is a lock: to insert it takes the key, to delete it frees the key.
class unique_insert_store final : public shared_table::shared_table_store {
 public:
  explicit unique_insert_store(unique_insert_settings settings)
      : shared_table_store(settings), settings_(std::move(settings)) {}

 private:
  shared_table::scheme_sql make_sql(const shared_table::layout& table) const override {
    return unique_insert::make_sql(table, settings_);
  }

  /// A free key has no row, so the first statement is the INSERT. Who has looked has seen one.
  reply take(native& with, const request& request) const override {
    if (request.looked) return with.change(verb::take);
    reply made = with.change(verb::insert);
    if (made.result != outcome::no) return made;
    reply taken = with.change(verb::take);
    ++taken.statements;
    return taken;
  }

  const unique_insert_settings settings_;
};

}  // namespace dlock::stores::mysql::unique_insert
