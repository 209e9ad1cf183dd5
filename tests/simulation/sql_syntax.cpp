// SPDX-License-Identifier: BSL-1.0
#include "simulation/sql_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <stdexcept>

namespace dlock::simulation::sql {

namespace {

using kind = expression::kind;

struct token {
  enum class kind : std::uint8_t { end, word, number, bytes, parameter, sign };
  kind what = kind::end;
  std::string text{};
};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class reader {
 public:
  explicit reader(std::string_view text) : text_(text) { next(); }

  statement whole() {
    statement made;
    if (word("INSERT")) {
      made = insert();
    } else if (word("UPDATE")) {
      made = update();
    } else if (word("DELETE")) {
      made = remove();
    } else {
      expect("SELECT");
      made.read = rest_of_query();
    }
    if (now_.what != token::kind::end) fail("its end");
    const bool reads = made.what == statement::kind::insert && !made.read.locks;
    made.reads_unlocked = reads || (unlocked_sub_query_ && made.what != statement::kind::select);
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::logic_error(fmt::format(
        "the simulated tables don't know this SQL: {} was expected where it has '{}': {}", what, now_.text, text_));
  }

  // ---- tokens -------------------------------------------------------------------------------------------------------

  void next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    now_ = {};
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    const auto take_while = [&](auto fits) {
      const auto begin = at_;
      while (at_ < text_.size() && fits(text_[at_])) ++at_;
      return std::string(text_.substr(begin, at_ - begin));
    };
    if (c == '"') {  // a name
      ++at_;
      now_ = {token::kind::word, take_while([](char each) { return each != '"'; })};
      ++at_;
    } else if (c == '\'' || (c == 'X' && text_.substr(at_ + 1, 1) == "'")) {
      at_ += c == 'X' ? 2 : 1;
      auto inside = take_while([](char each) { return each != '\''; });
      ++at_;
      now_ = {token::kind::bytes, c == 'X' ? from_hex(inside) : std::move(inside)};
    } else if (c == ':') {
      ++at_;
      now_ = {token::kind::parameter, take_while(in_word)};
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      now_ = {token::kind::number, take_while(in_word)};
    } else if (in_word(c)) {
      now_ = {token::kind::word, take_while(in_word)};
    } else {
      const auto two = text_.substr(at_, 2);
      const bool both = two == "<=" || two == ">=" || two == "<>";
      now_ = {token::kind::sign, std::string(text_.substr(at_, both ? 2 : 1))};
      at_ += now_.text.size();
    }
  }
  static std::string from_hex(std::string_view digits) {
    std::string made;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
      int byte = 0;
      std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
      made += static_cast<char>(byte);
    }
    return made;
  }
  bool is_word(std::string_view text) const { return now_.what == token::kind::word && now_.text == text; }
  bool word(std::string_view text) {
    const bool there = is_word(text);
    if (there) next();
    return there;
  }
  bool sign(std::string_view text) {
    const bool there = now_.what == token::kind::sign && now_.text == text;
    if (there) next();
    return there;
  }
  void expect(std::string_view text) {
    if (!word(text) && !sign(text)) fail(std::string(text));
  }
  std::string name() {
    if (now_.what != token::kind::word) fail("a name");
    auto text = std::move(now_.text);
    next();
    return text;
  }

  // ---- expressions --------------------------------------------------------------------------------------------------

  static expression made_of(kind what, std::vector<expression> of, std::string name = {}) {
    expression made;
    made.what = what;
    made.of = std::move(of);
    made.name = std::move(name);
    return made;
  }

  expression condition() {
    std::vector<expression> any{conjunction()};
    while (word("OR")) any.push_back(conjunction());
    return any.size() == 1 ? std::move(any.front()) : made_of(kind::any_of, std::move(any));
  }
  expression conjunction() {
    std::vector<expression> all{predicate()};
    while (word("AND")) all.push_back(predicate());
    return all.size() == 1 ? std::move(all.front()) : made_of(kind::all_of, std::move(all));
  }
  expression predicate() {
    if (word("NOT")) return made_of(kind::negation, {predicate()});
    auto left = sum();
    if (word("IS")) {
      const bool is_not = word("NOT");
      expect("NULL");
      return made_of(is_not ? kind::is_not_null : kind::is_null, {std::move(left)});
    }
    if (word("IN")) {
      expect("(");
      std::vector<expression> of{std::move(left)};
      do of.push_back(sum());
      while (sign(","));
      expect(")");
      return made_of(kind::in_list, std::move(of));
    }
    for (const auto* const each : {"=", "<>", "<=", ">=", "<", ">"}) {
      if (!sign(each)) continue;
      auto right = sum();
      return made_of(kind::compare, {std::move(left), std::move(right)}, each);
    }
    return left;
  }
  expression sum() {
    auto left = operand();
    for (;;) {
      const bool adds = sign("+");
      if (!adds && !sign("-")) return left;
      auto right = operand();
      left = made_of(adds ? kind::add : kind::subtract, {std::move(left), std::move(right)});
    }
  }
  expression operand() {
    expression made;
    switch (now_.what) {
      case token::kind::number:
        made.what = kind::number;
        std::from_chars(now_.text.data(), now_.text.data() + now_.text.size(), made.number);
        next();
        return made;
      case token::kind::bytes:
      case token::kind::parameter:
        made.what = now_.what == token::kind::bytes ? kind::bytes : kind::parameter;
        made.name = std::move(now_.text);
        next();
        return made;
      case token::kind::sign: {
        expect("(");
        if (word("SELECT")) {
          made.what = kind::scalar;
          made.inner = sub_query();
        } else {
          made = condition();
        }
        expect(")");
        return made;
      }
      case token::kind::end: fail("an expression");
      case token::kind::word: break;
    }
    if (word("NULL")) return made;
    if (word("NOW")) return made_of(kind::now, {});
    if (word("CASE")) return rest_of_case();
    if (word("EXISTS")) {
      expect("(");
      expect("SELECT");
      made.what = kind::exists;
      made.inner = sub_query();
      expect(")");
      return made;
    }
    made.name = name();
    if (sign("(")) {
      constexpr std::array known{"COALESCE", "SUM", "RETURNED"};
      if (std::find(known.begin(), known.end(), made.name) == known.end()) fail("a known function, not " + made.name);
      made.what = kind::call;
      do made.of.push_back(condition());
      while (sign(","));
      expect(")");
      return made;
    }
    made.what = kind::column;
    if (sign(".")) {
      made.table = std::move(made.name);
      made.name = name();
    }
    return made;
  }
  expression rest_of_case() {
    std::vector<expression> of;
    bool whens = word("WHEN");
    const bool searched = whens;
    if (!searched) {
      of.push_back(sum());
      whens = word("WHEN");
    }
    for (; whens; whens = word("WHEN")) {
      of.push_back(searched ? condition() : sum());
      expect("THEN");
      of.push_back(sum());
    }
    expect("ELSE");
    of.push_back(sum());
    expect("END");
    return made_of(searched ? kind::case_when : kind::case_of, std::move(of));
  }

  // ---- statements ---------------------------------------------------------------------------------------------------

  std::shared_ptr<const query> sub_query() {
    auto made = std::make_shared<const query>(rest_of_query());
    unlocked_sub_query_ = unlocked_sub_query_ || !made->locks;
    return made;
  }
  source table_with_alias() {
    source made{.table = name(), .alias = {}};
    const bool ends = is_word("WHERE") || is_word("LEFT") || is_word("ON") || is_word("GROUP") || is_word("ORDER") ||
                      is_word("LIMIT") || is_word("FOR") || is_word("LOCK");
    made.alias = now_.what == token::kind::word && !ends ? name() : made.table;
    return made;
  }
  static bool is_about(const expression& one, const query& in) {
    if (one.inner != nullptr) return false;
    const bool of_first = one.table.empty() ? in.from.size() == 1 : one.table == in.from.front().alias;
    if (one.what == kind::column && !of_first) return false;
    return std::all_of(one.of.begin(), one.of.end(), [&](const expression& each) { return is_about(each, in); });
  }
  /// So that not all rows of all tables are joined first.
  static void split(query& made, expression where) {
    if (where.what != kind::all_of) {
      if (!is_about(where, made)) {
        made.where = std::move(where);
      } else {
        made.of_first.push_back(std::move(where));
      }
      return;
    }
    const auto rest = std::stable_partition(where.of.begin(), where.of.end(),
                                            [&](const expression& each) { return is_about(each, made); });
    made.of_first.assign(std::make_move_iterator(where.of.begin()), std::make_move_iterator(rest));
    where.of.erase(where.of.begin(), rest);
    if (!where.of.empty()) made.where = std::move(where);
  }
  query rest_of_query() {
    query made;
    do made.columns.push_back(condition());
    while (sign(","));
    expect("FROM");
    made.from.push_back(table_with_alias());
    while (word("LEFT")) {
      expect("JOIN");
      made.from.push_back(table_with_alias());
      expect("ON");
      made.from.back().on = condition();
    }
    if (word("WHERE")) split(made, condition());
    if (word("GROUP")) {
      expect("BY");
      do made.group.push_back(sum());
      while (sign(","));
    }
    if (word("HAVING")) made.having = condition();
    if (word("ORDER")) {
      expect("BY");
      made.order = sum();
    }
    if (word("LIMIT")) made.limit = operand();
    if (word("FOR")) {
      expect("UPDATE");
      word("NOWAIT");
      made.locks = true;
    } else if (word("LOCK")) {
      for (const auto* const each : {"IN", "SHARE", "MODE"}) expect(each);
      made.locks = true;
    }
    return made;
  }
  statement insert() {
    statement made;
    made.what = statement::kind::insert;
    expect("INTO");
    made.table = name();
    expect("(");
    do made.columns.push_back(name());
    while (sign(","));
    expect(")");
    expect("SELECT");
    made.read = rest_of_query();
    return made;
  }
  statement update() {
    statement made;
    made.what = statement::kind::update;
    made.table = name();
    expect("SET");
    do {
      auto column = name();
      expect("=");
      made.set.emplace_back(std::move(column), sum());
    } while (sign(","));
    expect("WHERE");
    made.where = condition();
    return made;
  }
  statement remove() {
    statement made;
    made.what = statement::kind::remove;
    expect("FROM");
    made.table = name();
    expect("WHERE");
    made.where = condition();
    return made;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  token now_{};
  bool unlocked_sub_query_ = false;
};

}  // namespace

statement parse(std::string_view text) { return reader(text).whole(); }

}  // namespace dlock::simulation::sql
