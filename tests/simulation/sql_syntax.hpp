// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The part of SQL in which the store's statements about members are written (src/stores/sql/shared_keys.cpp).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock::simulation::sql {

struct query;

struct expression {
  enum class kind : std::uint8_t {
    null,
    number,     ///< number
    bytes,      ///< name: the bytes
    parameter,  ///< name
    column,     ///< name, and table if there is a prefix
    now,        ///< the statement's clock
    call,       ///< name: COALESCE, SUM, RETURNED
    negation,
    all_of,
    any_of,
    compare,  ///< name: the operator
    add,
    subtract,
    is_null,
    is_not_null,
    in_list,    ///< the first of `of` is looked for among the others
    case_of,    ///< value, then pairs of value and result, then the result of ELSE
    case_when,  ///< pairs of condition and result, then the result of ELSE
    exists,     ///< inner
    scalar,     ///< inner
  };
  kind what = kind::null;
  std::string name{};
  std::string table{};
  std::int64_t number = 0;
  std::vector<expression> of{};
  std::shared_ptr<const query> inner{};
};

/// A table of FROM. All but the first are joined by LEFT JOIN.
struct source {
  std::string table;
  std::string alias;
  std::optional<expression> on{};
};

struct query {
  std::vector<expression> columns{};
  std::vector<source> from{};
  std::vector<expression> of_first{};  ///< conditions of WHERE that concern the first table alone
  std::optional<expression> where{};   ///< the others
  std::vector<expression> group{};
  std::optional<expression> having{};
  std::optional<expression> order{};
  std::optional<expression> limit{};
  bool locks = false;  ///< FOR UPDATE or LOCK IN SHARE MODE
};

struct statement {
  enum class kind : std::uint8_t { select, insert, update, remove };
  kind what = kind::select;
  std::string table{};                 ///< that is changed
  std::vector<std::string> columns{};  ///< insert
  std::vector<std::pair<std::string, expression>> set{};
  std::optional<expression> where{};  ///< update, remove
  query read{};                       ///< select, insert
  /// It reads rows without locking them, so it may see older ones than those that it locks.
  bool reads_unlocked = false;
};

/// Throws std::logic_error if it is written in another way, and says where.
statement parse(std::string_view text);

}  // namespace dlock::simulation::sql
