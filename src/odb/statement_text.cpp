// SPDX-License-Identifier: BSL-1.0
#include "odb/statement_text.hpp"

#include <fmt/format.h>
#include <odb/connection.hxx>
#include <odb/database.hxx>
#include <odb/statement.hxx>
#include <odb/tracer.hxx>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

namespace dlock::detail {

namespace {

/// Takes a quoted name off the front; a quotation mark inside is doubled. Empty: there is none.
std::string take_name(std::string_view& text) {
  if (text.empty() || (text.front() != '`' && text.front() != '"')) return {};
  const char quote = text.front();
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != quote) continue;
    if (at + 1 < text.size() && text[at + 1] == quote) {
      ++at;
      continue;
    }
    std::string name(text.substr(0, at + 1));
    text.remove_prefix(at + 1);
    return name;
  }
  return {};
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

class watching final : public odb::tracer {
 public:
  watching(odb::tracer* theirs, const std::function<void(std::string_view)>& see) : theirs_(theirs), see_(see) {}

  void prepare(odb::connection& connection, const odb::statement& statement) override {
    if (theirs_ != nullptr) theirs_->prepare(connection, statement);
  }
  void execute(odb::connection& connection, const odb::statement& statement) override {
    see_(statement.text());
    if (theirs_ != nullptr) theirs_->execute(connection, statement);
  }
  void execute(odb::connection& connection, const char* statement) override {
    see_(statement);
    if (theirs_ != nullptr) theirs_->execute(connection, statement);
  }
  void deallocate(odb::connection& connection, const odb::statement& statement) override {
    if (theirs_ != nullptr) theirs_->deallocate(connection, statement);
  }

 private:
  odb::tracer* const theirs_;  // which this one takes the place of
  const std::function<void(std::string_view)>& see_;
};

}  // namespace

std::vector<std::string> compared_columns(std::string_view statement) {
  auto condition = std::string_view::npos;
  for_each_character(statement, [&](std::size_t at, int depth) {
    if (depth == 0 && is_word_at(statement, at, "WHERE")) condition = at + 5;
  });
  if (condition == std::string_view::npos) return {};
  std::string_view rest = statement.substr(condition);
  std::vector<std::string> columns;
  do {
    while (take(rest, " ")) continue;
    auto name = take_name(rest);
    while (take(rest, ".")) name = take_name(rest);
    if (name.empty() || !take(rest, "=?")) return {};
    columns.push_back(std::move(name));
  } while (take(rest, " AND "));
  return rest.empty() ? columns : std::vector<std::string>{};
}

bool joins_tables(std::string_view statement) {
  bool found = false;
  for_each_character(statement, [&](std::size_t at, int depth) {
    if (depth == 0 && is_word_at(statement, at, "JOIN")) found = true;
  });
  return found;
}

void before_each(odb::transaction& in, const std::function<void(std::string_view)>& see,
                 const std::function<void()>& work) {
  odb::tracer* const before = in.tracer();
  auto& connection = in.connection();
  odb::tracer* const theirs = before != nullptr                ? before
                              : connection.tracer() != nullptr ? connection.tracer()
                                                               : connection.database().tracer();
  watching mine(theirs, see);
  const struct put_back {
    odb::transaction& in;
    odb::tracer* tracer;
    ~put_back() {
      if (!in.finalized()) in.tracer(tracer);
    }
  } guard{in, before};
  in.tracer(mine);
  work();
}

namespace {

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

bool is_word_at(std::string_view text, std::size_t at, std::string_view word) {
  if (at != 0 && word_character(text[at - 1])) return false;
  if (at + word.size() < text.size() && word_character(text[at + word.size()])) return false;
  return text.size() - at >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, char b) { return a == static_cast<char>(std::toupper(static_cast<unsigned char>(b))); });
}

// ---- queries -------------------------------------------------------------------------------------------------------

namespace {

using part = odb::query_base::clause_part;

/// Parts of a query's clause, [begin, end): a whole expression.
struct range {
  std::size_t begin;
  std::size_t end;
};

/// A query that was put together with operator+, from left to right. A clause is in reverse Polish notation.
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
