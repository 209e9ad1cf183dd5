// SPDX-License-Identifier: BSL-1.0
#include "odb/query_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "odb/sql_words.hpp"

namespace dlock::detail {

namespace {

using part = odb::query_base::clause_part;

/// Parts of a query's clause, [begin, end): a whole expression.
struct range {
  std::size_t begin;
  std::size_t end;
};

/// What was put together with operator+, from left to right. A clause is in reverse Polish notation.
void flatten(const odb::query_base& from, range expression, std::vector<range>& leaves) {
  if (expression.begin == expression.end) return;
  const auto& last = from.clause()[expression.end - 1];
  if (last.kind != part::op_add) {
    leaves.push_back(expression);
    return;
  }
  flatten(from, {expression.begin, last.data + 1}, leaves);
  flatten(from, {last.data + 1, expression.end - 1}, leaves);
}

odb::query_base copy(const odb::query_base& from, range expression) {
  odb::query_base query;
  for (auto at = expression.begin; at != expression.end; ++at) {
    const auto& each = from.clause()[at];
    switch (each.kind) {
      case part::kind_column: query.append(each.native_info); break;
      case part::kind_param_val:
      case part::kind_param_ref:
        // By reference: the value lives in `from`.
        query.append_ref(reinterpret_cast<const odb::query_param*>(each.data)->value, each.native_info);
        break;
      case part::kind_native: query.append(from.strings()[each.data]); break;
      case part::op_add:
      case part::op_and:
      case part::op_or:
      case part::op_eq:
      case part::op_ne:
      case part::op_lt:
      case part::op_gt:
      case part::op_le:
      case part::op_ge:
        // The last part of the left side.
        query.append(each.kind, each.data - expression.begin);
        break;
      default: query.append(each.kind, each.data);
    }
  }
  return query;
}

/// Where ORDER BY begins in a native part, outside of parentheses and quotation marks; its size: nowhere.
std::size_t find_order(std::string_view text) {
  constexpr std::array<std::string_view, 6> unfit{"LIMIT", "FOR", "GROUP", "HAVING", "UNION", "LOCK"};
  auto order = text.size();
  for_each_character(text, [&](std::size_t at, int depth) {
    if (depth != 0) return;
    for (const auto word : unfit) {
      if (is_word_at(text, at, word)) {
        throw std::invalid_argument(
            fmt::format("dlock: claim: the query has {}: it may have a condition and ORDER BY, no more", word));
      }
    }
    if (order == text.size() && is_word_at(text, at, "ORDER")) order = at;
  });
  return order;
}

bool blank(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

query_parts::query_parts(const odb::query_base& from) {
  if (from.const_true()) return;
  std::vector<range> leaves;
  flatten(from, {0, from.clause().size()}, leaves);
  const auto add = [](odb::query_base& to, const odb::query_base& more) { to.empty() ? to = more : to += more; };
  bool ordered = false;
  for (const auto& leaf : leaves) {
    const auto& first = from.clause()[leaf.begin];
    if (leaf.end - leaf.begin != 1 || first.kind != part::kind_native) {
      add(ordered ? order : condition, copy(from, leaf));
      continue;
    }
    const std::string& text = from.strings()[first.data];
    const auto at = find_order(text);
    const auto before = text.substr(0, at);
    if (!blank(before)) add(ordered ? order : condition, odb::query_base(before));
    if (at != text.size()) {
      ordered = true;
      add(order, odb::query_base(text.substr(at)));
    }
  }
}

}  // namespace dlock::detail
