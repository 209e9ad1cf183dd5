// SPDX-License-Identifier: BSL-1.0
#include "odb/claim_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "odb/column_name.hpp"

namespace dlock::detail {

namespace {

using part = odb::query_base::clause_part;

/// The parts [begin, end) of a query's clause, which form a whole expression.
struct range {
  std::size_t begin;
  std::size_t end;
};

/// Lists the operands of a query that was put together with operator+. A clause is in reverse Polish notation.
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

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether that whole word is at that place, in any case. `word` is in capitals.
bool is_word_at(std::string_view text, std::size_t at, std::string_view word) {
  if (at != 0 && word_character(text[at - 1])) return false;
  if (at + word.size() < text.size() && word_character(text[at + word.size()])) return false;
  return text.size() - at >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, char b) { return a == static_cast<char>(std::toupper(static_cast<unsigned char>(b))); });
}

/// Where ORDER BY begins in a text of the caller's, outside parentheses and quotes; the text's size if it has none.
std::size_t find_order(std::string_view text) {
  constexpr std::array<std::string_view, 6> unfit{"LIMIT", "FOR", "GROUP", "HAVING", "UNION", "LOCK"};
  auto order = text.size();
  int depth = 0;
  char quote = 0;
  for (std::size_t at = 0; at != text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '\'' || c == '"' || c == '`') quote = c;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth != 0) continue;
    for (const auto word : unfit) {
      if (!is_word_at(text, at, word)) continue;
      throw std::invalid_argument(
          fmt::format("dlock: claim: the query has {}: it may have a condition and ORDER BY, no more", word));
    }
    if (order == text.size() && is_word_at(text, at, "ORDER")) order = at;
  }
  return order;
}

bool blank(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
}

/// Whether ODB takes the text to name a column of the table with that alias: `alias`.`column`.
bool names_column_of(std::string_view text, const std::string& alias) {
  const auto prefix = alias + '.' + alias.front();
  for (auto at = text.find(prefix); at != std::string_view::npos; at = text.find(prefix, at + 1)) {
    if (at == 0 || text[at - 1] != '.') return true;
  }
  return false;
}

}  // namespace

claim_query::claim_query(const odb::query_base& from) : query_(from) {
  if (from.const_true()) query_.clear();
  std::vector<range> leaves;
  flatten(query_, {0, query_.clause().size()}, leaves);
  // ODB puts whole queries together. It takes none apart, because no function returns a parameter. So the parenthesis
  // that closes the condition goes into the text that follows it. query_ is a copy, and not const.
  auto& texts = const_cast<odb::query_base::strings_type&>(query_.strings());
  for (const auto& leaf : leaves) {
    const auto& first = query_.clause()[leaf.begin];
    if (leaf.end - leaf.begin != 1 || first.kind != part::kind_native) {
      has_condition_ = has_condition_ || !ordered_;
      continue;
    }
    auto& text = texts[first.data];
    const auto at = find_order(text);
    if (ordered_) continue;
    ordered_ = at != text.size();
    has_condition_ = has_condition_ || !blank(std::string_view(text).substr(0, at));
    if (ordered_ && has_condition_) text.insert(at, ") ");
  }
}

odb::query_base claim_query::narrowed(const std::string& more) const {
  if (!has_condition_) return odb::query_base(more) + query_;
  const auto query = odb::query_base(more + " AND (") + query_;
  return ordered_ ? query : query + ")";
}

bool joins_tables(const odb::query_base& query, const entity_columns& entity, const std::string& own,
                  odb::database_id database) {
  if (entity.always_joins) return true;
  return std::any_of(query.clause().begin(), query.clause().end(), [&](const auto& each) {
    if (each.kind == part::kind_column) return name_of(each.native_info, database).table != own;
    if (each.kind != part::kind_native) return false;
    return std::any_of(entity.joins.begin(), entity.joins.end(),
                       [&](const auto& alias) { return names_column_of(query.strings()[each.data], alias); });
  });
}

}  // namespace dlock::detail
