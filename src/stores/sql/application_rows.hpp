// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stores/sql/application_database.hpp"
#include "stores/sql/lease_sql.hpp"
#include "stores/sql/row_sql.hpp"
#include "stores/sql/shared_keys.hpp"

namespace dlock::stores::sql {

/// What the stores share of application_database. It stands apart from the interface because dlock::odb, a library of
/// its own, has no row_sql.
class application_rows : public application_database {
 public:
  verification verification_of(const request& grant) const final {
    if (grant.units != 0) return member_verification(grant);
    return on_this_server(grant.row != nullptr ? rows_.about(grant, row_statement::verify)
                                               : about_key(grant, template_of(lock_statement::verify).sql, verifier()));
  }
  verification release_of(const request& grant) const final {
    if (grant.row != nullptr) return on_this_server(rows_.about(grant, row_statement::release));
    if (grant.min_hold.count() <= 0) return on_this_server(about_key(grant, source_of(statement_id::release)));
    return on_this_server(about_key(grant, release_min_hold(), {{"min_hold", std::int64_t{grant.min_hold.count()}}}));
  }
  std::string free_rows(const row_table& table) const final { return rows_.free_rows(table); }
  std::string abandoned_rows(const row_table& table) const final { return rows_.abandoned_rows(table); }
  std::string claim(const claim_request& request) const override { return rows_.claim(request) + and_here(); }
  std::string rows_by_id(const row_table& table, std::span<const row_id* const> rows) const final {
    return rows_.rows_by_id(table, rows);
  }
  std::string add_columns(const row_table& table) const final { return rows_.add_columns(table); }

 protected:
  /// `words` are those of the templates for keys. `rows` and `members` must outlive it.
  application_rows(const row_sql& rows, const shared_keys& members, dictionary words)
      : rows_(rows), members_(members), words_(std::move(words)) {}

  verification about_key(const request& grant, const char* source, std::vector<named_value> more = {}) const {
    return rows_.about_key(grant, words_.fill(source), std::move(more));
  }
  /// The values of {connection}.
  virtual std::vector<named_value> verifier() const { return {}; }
  /// Rule 12.
  virtual const char* release_min_hold() const { return source_of(statement_id::release_min_hold); }
  /// The end of a condition for a statement on a connection of the application, whose address may lead to another
  /// server by then, with a copy of our rows: " AND <this is our server>".
  virtual std::string and_here() const { return {}; }

  const row_sql& rows_;
  const shared_keys& members_;

 private:
  verification on_this_server(verification statement, std::string_view end = {}) const {
    const auto condition = and_here();
    statement.sql.append(condition).append(end);
    statement.text.append(condition).append(end);
    return statement;
  }
  verification member_verification(const request& grant) const {
    auto values = verifier();
    values.push_back({"nonce", grant.nonce});
    auto made = on_this_server(rows_.about_key(grant, members_.verification(), std::move(values)),
                               members_.end_of_verification());
    made.reads = made.sql.starts_with("SELECT");
    return made;
  }

  const dictionary words_;
};

}  // namespace dlock::stores::sql
