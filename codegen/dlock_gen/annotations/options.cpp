// SPDX-License-Identifier: BSL-1.0
#include "annotations/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dlock/detail/option_limits.hpp"
#include "source/diagnostics.hpp"
#include "source/lexer.hpp"

namespace dlock_gen {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr unsigned in_locked = 1;
constexpr unsigned in_row = 2;
constexpr unsigned in_defaults = 4;
constexpr unsigned in_all = in_locked | in_row | in_defaults;

struct option_rule {
  std::string_view name;
  unsigned scopes = in_all;
  bool lock_option = true;
  std::optional<dlock::detail::time_limits> time{};
};

/// Options that are no fields of lock_options.
constexpr std::array<option_rule, 5> further{{
    {.name = "prefix", .scopes = in_locked | in_defaults, .lock_option = false},
    {.name = "row", .scopes = in_row | in_defaults, .lock_option = false},
    {.name = "db", .scopes = in_row | in_defaults, .lock_option = false},
    {.name = "name", .scopes = in_defaults, .lock_option = false},
    {.name = "form", .scopes = in_defaults, .lock_option = false},
}};

constexpr auto lock_option_count = boost::pfr::tuple_size_v<dlock::lock_options>;

constexpr auto rules = []<std::size_t... I>(std::index_sequence<I...>) {
  std::array<option_rule, lock_option_count + further.size()> all{
      option_rule{.name = dlock::detail::field_name<dlock::lock_options, I>(),
                  .time = dlock::detail::limits_of(dlock::detail::field_name<dlock::lock_options, I>())}...};
  std::copy(further.begin(), further.end(), all.begin() + lock_option_count);
  return all;
}
(std::make_index_sequence<lock_option_count>());

unsigned scope_of(annotation_kind kind) noexcept {
  switch (kind) {
    case annotation_kind::locked: return in_locked;
    case annotation_kind::locked_row: return in_row;
    case annotation_kind::defaults: return in_defaults;
    case annotation_kind::on_busy:
    case annotation_kind::verified: break;
  }
  return 0;
}

const option_rule* rule_of(std::string_view name) {
  const auto* const found =
      std::find_if(rules.begin(), rules.end(), [&](const auto& each) { return each.name == name; });
  return found == rules.end() ? nullptr : found;
}

struct unit {
  std::string_view name;
  milliseconds length;
};
constexpr std::array<unit, 4> units{
    {{"ms", milliseconds{1}}, {"s", milliseconds{1000}}, {"min", milliseconds{60'000}}, {"h", hours{1}}}};

/// The digits of a number such as 1'500ms, and what follows them.
struct written_number {
  std::optional<std::int64_t> value{};  ///< empty if it is no whole decimal number, or a huge one
  std::string_view suffix{};
};
written_number read_number(std::string_view text) {
  const auto end = std::min(text.find_first_not_of("0123456789'"), text.size());
  written_number found{0, text.substr(end)};
  if (end > 12 || found.suffix.starts_with(".")) return {std::nullopt, {}};
  for (const char c : text.substr(0, end)) {
    if (c != '\'') found.value = *found.value * 10 + (c - '0');
  }
  return found;
}

/// Checks a literal; the compiler checks any other expression.
void check_time(const option& what, const option_rule& rule, diagnostics& out) {
  const auto tokens = split(what.value.text);
  if (tokens.size() != 1 || tokens[0].kind != token_kind::number) return;
  const auto width = what.value.text.size();
  const auto [value, suffix] = read_number(what.value.text);
  if (value && suffix.empty()) {
    out.error(what.value.where, fmt::format(".{} is a time and needs a unit: 5s, 500ms", rule.name), width);
    return;
  }
  const auto* const found =
      std::find_if(units.begin(), units.end(), [unit = suffix](const auto& each) { return each.name == unit; });
  if (!value || found == units.end()) {
    out.error(what.value.where,
              fmt::format(".{} is whole milliseconds: write it in h, min, s or ms, such as 500ms", rule.name), width);
    return;
  }
  const auto time = *value * found->length;
  const auto& limits = *rule.time;
  if (time < limits.least || time > limits.most) {
    out.error(
        what.value.where,
        fmt::format(".{} must be from {} ms to {} days", rule.name, limits.least.count(), limits.most / hours{24}),
        width);
  }
}

std::vector<std::string> names_in(unsigned scope) {
  std::vector<std::string> names;
  for (const auto& each : rules) {
    if ((each.scopes & scope) != 0) names.push_back("." + std::string(each.name));
  }
  return names;
}

class option_reader {
 public:
  option_reader(const annotation& from, diagnostics& out) : scope_(scope_of(from.kind)), from_(from), out_(out) {}

  void read(const argument& what) {
    const auto* const rule = rule_of(what.name);
    const auto width = what.name.size() + 1;
    if (rule == nullptr || (rule->scopes & scope_) == 0) {
      out_.error(what.where, unknown(what, rule), width);
    } else if (find_option(found_, what.name) != nullptr) {
      out_.error(what.where, fmt::format(".{} is given twice", what.name), width);
    } else if (!what.complete || what.value.text.empty()) {
      out_.error(what.where, fmt::format("write .{} = value", what.name), width);
    } else {
      found_.push_back({what.name, what.value, what.where, from_.kind == annotation_kind::defaults, from_.names});
      if (rule->time) check_time(found_.back(), *rule, out_);
    }
  }
  std::vector<option> take() { return std::move(found_); }

 private:
  std::string unknown(const argument& what, const option_rule* rule) const {
    if (rule == nullptr) {
      return fmt::format("{} has no option .{}{}", macro_of(from_.kind), what.name,
                         suggestion("." + what.name, names_in(scope_)));
    }
    return fmt::format(".{} is no option of {}", what.name, macro_of(from_.kind));
  }

  unsigned scope_;
  const annotation& from_;
  diagnostics& out_;
  std::vector<option> found_{};
};

}  // namespace

const std::vector<std::string>& lock_option_fields() {
  static const auto fields = [] {
    std::vector<std::string> names;
    for (const auto& each : rules) {
      if (each.lock_option) names.emplace_back(each.name);
    }
    return names;
  }();
  return fields;
}

bool is_lock_option(std::string_view name) {
  const auto* const rule = rule_of(name);
  return rule != nullptr && rule->lock_option;
}

std::vector<option> read_options(const annotation& from, const std::vector<argument>& arguments, diagnostics& out) {
  option_reader reader(from, out);
  for (const auto& each : arguments) {
    if (!each.name.empty()) reader.read(each);
  }
  return reader.take();
}

std::string in_other_scope(const std::string& value, const std::map<std::string, std::string>& names,
                           const std::vector<std::string>& parameters, const std::string& object) {
  std::string made;
  std::size_t copied = 0;
  const auto tokens = split(value);
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    const auto name = std::string(tokens[at].text);
    const bool follows = at > 0 && (tokens[at - 1].is("::") || tokens[at - 1].is(".") || tokens[at - 1].is("->"));
    if (follows || std::find(parameters.begin(), parameters.end(), name) != parameters.end()) continue;
    const auto meaning = names.find(name);
    if (meaning == names.end() && name != "this") continue;
    made += value.substr(copied, tokens[at].begin - copied);
    if (name == "this") {
      made += object;
    } else {
      made += meaning->second.empty() ? fmt::format("{}->{}", object, name) : meaning->second;
    }
    copied = tokens[at].end;
  }
  return made + value.substr(copied);
}

const option* find_option(const std::vector<option>& options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const auto& each) { return each.name == name; });
  return found == options.end() ? nullptr : &*found;
}

std::vector<option> merged(std::vector<option> first, const std::vector<option>& second) {
  for (const auto& each : second) {
    if (find_option(first, each.name) == nullptr) first.push_back(each);
  }
  return first;
}

namespace {

class argument_splitter {
 public:
  explicit argument_splitter(const located_text& from) : from_(from), tokens_(split(from.text)) {}

  std::vector<argument> run() {
    std::size_t first = 0;
    while (first < tokens_.size()) {
      const auto end = end_of(first);
      found_.push_back(made_of(first, end));
      named_ = named_ || !found_.back().name.empty();
      first = end + 1;
    }
    return std::move(found_);
  }

 private:
  bool is_option(std::size_t at) const {
    return at + 1 < tokens_.size() && tokens_[at].is(".") && tokens_[at + 1].kind == token_kind::name;
  }
  std::size_t end_of(std::size_t first) const {
    const bool named = named_ || is_option(first);
    auto at = first;
    while (at < tokens_.size()) {
      if (tokens_[at].is(",") && (!named || is_option(at + 1))) break;
      const auto text = tokens_[at].text;
      const bool opens = text == "(" || text == "[" || text == "{" || text == "[[";
      at = (opens ? std::min(closing(tokens_, at), tokens_.size() - 1) : at) + 1;
    }
    return at;
  }
  argument made_of(std::size_t first, std::size_t end) const {
    argument made;
    made.where = from_.at(first < tokens_.size() ? tokens_[first].begin : from_.text.size());
    auto value = first;
    if (is_option(first)) {
      made.name = tokens_[first + 1].text;
      made.complete = first + 2 < end && tokens_[first + 2].is("=");
      value = std::min(end, first + (made.complete ? 3 : 2));
    }
    if (value < end) {
      made.value = from_.part(tokens_[value].begin, tokens_[end - 1].end);
    } else {
      made.value = {{}, from_.at(first < end ? tokens_[end - 1].end : tokens_[first].begin), from_.exact};
    }
    return made;
  }

  const located_text& from_;
  std::vector<token> tokens_;
  std::vector<argument> found_{};
  bool named_ = false;
};

}  // namespace

std::vector<argument> split_arguments(const located_text& arguments) { return argument_splitter(arguments).run(); }

}  // namespace dlock_gen
