// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/recipe/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "base/text.hpp"

namespace dlock::stores::zookeeper {

namespace {

constexpr std::string_view curator_mark = "lock-";
constexpr std::string_view kazoo_mark = "__lock__";

template <class Number>
bool read_number(std::string_view text, Number& into, int base = 10) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return failed == std::errc{} && end == text.data() + text.size();
}

std::optional<std::int32_t> number_behind(std::string_view mark, std::string_view name) {
  const auto at = name.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digits = name.substr(at + mark.size());
  constexpr std::size_t width = 10;
  std::int32_t number = 0;
  if (digits.size() != width + (digits.starts_with('-') ? 1 : 0) || !read_number(digits, number)) return std::nullopt;
  return number;
}

/// Numbers wrap around after 2^31; those of living nodes are near each other.
bool is_before(std::int32_t a, std::int32_t b) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b)) < 0;
}

std::string_view next_word(std::string_view& text) {
  const auto word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size() + (word.size() < text.size() ? 1 : 0));
  return word;
}

bool is_plain(char c) noexcept { return c >= ' ' && c <= '~' && c != '/' && c != '%'; }

}  // namespace

std::string name_of_key(std::string_view key, bool at_root) {
  // Names that a path can't contain, or that the server uses.
  const bool reserved = key == "." || key == ".." || (at_root && key == "zookeeper");
  std::string name;
  for (const char each : key) {
    if (is_plain(each) && !reserved) {
      name.push_back(each);
    } else {
      name += fmt::format("%{:02X}", static_cast<unsigned char>(each));
    }
  }
  return name;
}

std::optional<std::string> key_of_name(std::string_view name) {
  std::string key;
  for (std::size_t i = 0; i != name.size(); ++i) {
    unsigned char byte = 0;
    if (name[i] != '%') {
      key.push_back(name[i]);
    } else if (i + 2 < name.size() && read_number(name.substr(i + 1, 2), byte, 16)) {
      key.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  // Other programs may write escapes where dlock writes none, but a key must have only one name.
  if (name_of_key(key, false) != name && name_of_key(key, true) != name) return std::nullopt;
  return key;
}

std::optional<std::int32_t> number_in(std::string_view name) {
  const auto number = number_behind(curator_mark, name);
  return number ? number : number_behind(kazoo_mark, name);
}

namespace {

/// Returns the last one before that number, or without a number the first one.
std::string nearest(const std::vector<std::string>& names, std::optional<std::int32_t> own) {
  const std::string* found = nullptr;
  std::int32_t best = 0;
  for (const auto& each : names) {
    const auto number = number_in(each);
    if (!number || (own && !is_before(*number, *own))) continue;
    const bool better = found == nullptr || (own ? is_before(best, *number) : is_before(*number, best));
    if (!better) continue;
    found = &each;
    best = *number;
  }
  return found == nullptr ? std::string{} : *found;
}

}  // namespace

std::string foreign_in(const std::vector<std::string>& names) {
  const auto at = std::find_if(names.begin(), names.end(), [](const auto& each) { return !number_in(each); });
  return at == names.end() ? std::string{} : *at;
}

std::string foreign_text(const std::string& path, const std::string& node) {
  return fmt::format(
      "'{}' has a node '{}', which is no contender for a lock of Curator's InterProcessMutex or kazoo's Lock: another "
      "recipe "
      "(a read lock, a semaphore) uses that path, and dlock can't respect it",
      path, detail::printable_text(node));
}

std::vector<std::string> contenders_in(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) { return !number_in(name); });
  // Sorts by the distance from the first, because numbers wrap around.
  const auto first = number_in(first_of(names)).value_or(0);
  const auto distance = [first](const std::string& name) {
    return static_cast<std::uint32_t>(*number_in(name)) - static_cast<std::uint32_t>(first);
  };
  std::sort(names.begin(), names.end(),
            [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
  return names;
}

std::string first_of(const std::vector<std::string>& names) { return nearest(names, std::nullopt); }

std::optional<std::string> before(const std::vector<std::string>& names, std::string_view mine) {
  const auto own = number_in(mine);
  if (!own || std::find(names.begin(), names.end(), mine) == names.end()) return std::nullopt;
  return nearest(names, own);
}

std::string attempt_id(const id128& session, std::uint64_t nonce) {
  return session.hex().substr(0, 16) + fmt::format("{:016x}", nonce);
}

std::string node_prefix(node_names recipe, std::string_view attempt) {
  if (recipe == node_names::kazoo) return fmt::format("{}{}", attempt, kazoo_mark);
  return fmt::format("_c_{}-{}-{}-{}-{}-{}", attempt.substr(0, 8), attempt.substr(8, 4), attempt.substr(12, 4),
                     attempt.substr(16, 4), attempt.substr(20), curator_mark);
}

std::string node_data::text() const { return fmt::format("dlock {} {} {}", session.hex(), timeout_ms, who()); }

std::string node_data::who() const { return detail::describe_process(host, pid, label); }

std::optional<node_data> node_data::parse(std::string_view text) {
  if (next_word(text) != "dlock") return std::nullopt;
  const auto session = id128::parse(next_word(text));
  node_data data;
  if (!session || !read_number(next_word(text), data.timeout_ms)) return std::nullopt;
  const auto location = next_word(text);
  const auto slash = location.rfind('/');
  if (slash == std::string_view::npos || !read_number(location.substr(slash + 1), data.pid)) return std::nullopt;
  data.session = *session;
  data.host = location.substr(0, slash);
  data.label = text;
  return data;
}

}  // namespace dlock::stores::zookeeper
