// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>
#include <string>

#include "stores/sql/application_database.hpp"
#include "stores/sql/row_sql.hpp"

namespace dlock::stores::sql {

/// What the stores share of application_database. It stands apart from the interface because dlock::odb, a library of
/// its own, has no row_sql.
class application_rows : public application_database {
 public:
  std::string free_rows(const row_table& table) const final { return rows_.free_rows(table); }
  std::string abandoned_rows(const row_table& table) const final { return rows_.abandoned_rows(table); }
  std::string claim(const claim_request& request) const override { return rows_.claim(request); }
  std::string rows_by_id(const row_table& table, std::span<const row_id* const> rows) const final {
    return rows_.rows_by_id(table, rows);
  }
  std::string add_columns(const row_table& table) const final { return rows_.add_columns(table); }

 protected:
  /// `rows` must outlive it.
  explicit application_rows(const row_sql& rows) : rows_(rows) {}

  const row_sql& rows_;
};

}  // namespace dlock::stores::sql
