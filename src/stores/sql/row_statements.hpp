// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>

#include "dlock/store_interface/row_table.hpp"
#include "stores/sql/row_text.hpp"

namespace dlock::stores::sql {

/// A connection's prepared statements about the application's tables that it used last. `Prepared` is the database
/// driver's prepared statement, which keeps its statement_text.
template <class Prepared>
class row_statements {
 public:
  static constexpr std::size_t most_tables = 16;

  /// `make_text` makes the text of a statement that was not prepared yet. The reference is valid until the next call.
  template <class MakeText>
  Prepared& of(const std::shared_ptr<const row_table>& table, row_statement which, MakeText&& make_text) {
    auto& all = used_last_first_;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.table == table; });
    if (found != all.end()) {
      all.splice(all.begin(), all, found);
    } else {
      if (all.size() == most_tables) all.pop_back();
      all.emplace_front().table = table;
    }
    auto& prepared = all.front().statements[static_cast<std::size_t>(which)];
    if (!prepared) prepared.emplace(make_text());
    return *prepared;
  }

 private:
  struct table_statements {
    std::shared_ptr<const row_table> table{};  // kept alive, so that no other table gets its address
    std::array<std::optional<Prepared>, row_statement_count> statements{};
  };
  std::list<table_statements> used_last_first_;
};

}  // namespace dlock::stores::sql
