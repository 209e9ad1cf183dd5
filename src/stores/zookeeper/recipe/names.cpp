// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/recipe/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include "base/text.hpp"

namespace dlock::stores::zookeeper {

namespace {

/// What stands before the numbers of a recipe's nodes. The first mark of writers is that of dlock's nodes. Empty: the
/// recipe has no such nodes.
struct marks {
  std::array<std::string_view, 2> writers;
  std::string_view sharer;
  std::string_view programs;
};

constexpr std::string_view kazoo_mark = "__lock__";
constexpr std::string_view curator_mark = "lock-";

constexpr marks curator_marks{
    {curator_mark, kazoo_mark}, {}, "Curator's InterProcessMutex or kazoo's Lock (names=curator)"};
constexpr marks readwrite_marks{
    {"__WRIT__", {}}, "__READ__", "Curator's InterProcessReadWriteLock (names=curator-readwrite)"};
constexpr marks kazoo_marks{{kazoo_mark, curator_mark},
                            "__rlock__",
                            "kazoo's Lock, WriteLock and ReadLock or Curator's InterProcessMutex (names=kazoo)"};

constexpr marks semaphore_marks{{}, "lease-", "Curator's InterProcessSemaphoreV2 (names=curator-semaphore)"};

constexpr const marks& marks_of(node_names recipe) noexcept {
  switch (recipe) {
    case node_names::curator_readwrite: return readwrite_marks;
    case node_names::curator_semaphore: return semaphore_marks;
    case node_names::kazoo: return kazoo_marks;
    default: return curator_marks;
  }
}

template <class Number>
bool read_number(std::string_view text, Number& into, int base = 10) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return failed == std::errc{} && end == text.data() + text.size();
}

std::optional<std::int32_t> number_behind(std::string_view mark, std::string_view name) {
  const auto at = mark.empty() ? std::string_view::npos : name.rfind(mark);
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

std::optional<contender> contender_of(node_names recipe, std::string_view name) {
  const auto& all = marks_of(recipe);
  for (const auto mark : all.writers) {
    if (const auto number = number_behind(mark, name)) return contender{*number, false};
  }
  const auto number = number_behind(all.sharer, name);
  return number ? std::optional(contender{*number, true}) : std::nullopt;
}

/// Returns the last one before that number, or without a number the first one.
std::string lock_queue::nearest(std::optional<std::int32_t> own, bool only_writers) const {
  const std::string* found = nullptr;
  std::int32_t best = 0;
  for (const auto& each : names_) {
    const auto of = contender_of(recipe_, each);
    if (!of || (only_writers && of->shares) || (own && !is_before(of->number, *own))) continue;
    const bool better = found == nullptr || (own ? is_before(best, of->number) : is_before(of->number, best));
    if (!better) continue;
    found = &each;
    best = of->number;
  }
  return found == nullptr ? std::string{} : *found;
}

std::string lock_queue::foreign() const {
  const auto at =
      std::find_if(names_.begin(), names_.end(), [&](const auto& each) { return !contender_of(recipe_, each); });
  return at == names_.end() ? std::string{} : *at;
}

std::size_t lock_queue::size() const {
  const auto asks = [&](const std::string& name) { return contender_of(recipe_, name).has_value(); };
  return static_cast<std::size_t>(std::count_if(names_.begin(), names_.end(), asks));
}

std::vector<std::string> lock_queue::contenders() const {
  struct place {
    std::uint32_t distance;  // from the first, because numbers wrap around
    bool shares;
    const std::string* name;
  };
  const auto first = contender_of(recipe_, nearest(std::nullopt, false)).value_or(contender{}).number;
  std::vector<place> places;
  for (const auto& each : names_) {
    const auto of = contender_of(recipe_, each);
    if (!of) continue;
    places.push_back({static_cast<std::uint32_t>(of->number) - static_cast<std::uint32_t>(first), of->shares, &each});
  }
  // Curator gives a thread that writes and reads the same number twice.
  std::sort(places.begin(), places.end(), [](const place& a, const place& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.shares < b.shares;
  });
  std::vector<std::string> sorted;
  for (const auto& each : places) sorted.push_back(*each.name);
  return sorted;
}

std::vector<std::string> lock_queue::holders() const {
  auto all = contenders();
  const auto writes = [&](const std::string& name) { return !contender_of(recipe_, name)->shares; };
  const auto first_writer = std::find_if(all.begin(), all.end(), writes);
  all.erase(first_writer == all.begin() && !all.empty() ? first_writer + 1 : first_writer, all.end());
  return all;
}

std::string lock_queue::blocker(const key_mode& wanted) const {
  if (wanted.permits != 0 && size() + wanted.units <= wanted.permits) return {};
  return nearest(std::nullopt, wanted.units != 0 && wanted.permits == 0);
}

std::optional<std::string> lock_queue::before(std::string_view mine, std::uint32_t permits) const {
  const auto own = contender_of(recipe_, mine);
  if (!own || std::find(names_.begin(), names_.end(), mine) == names_.end()) return std::nullopt;
  if (permits != 0) {
    // Curator wants no more nodes than permits, also behind its own, and so has one of the first as well.
    const auto earlier = std::count_if(names_.begin(), names_.end(), [&](const std::string& name) {
      const auto of = contender_of(recipe_, name);
      return of && is_before(of->number, own->number);
    });
    return static_cast<std::uint32_t>(earlier) < permits ? std::string{} : nearest(std::nullopt, false);
  }
  return nearest(own->number, own->shares);
}

std::string foreign_text(node_names recipe, const std::string& path, const std::string& node) {
  return fmt::format(
      "'{}' has a node '{}', which is no contender for a lock of {}: another recipe uses that path, and dlock can't "
      "respect it",
      path, detail::printable_text(node), marks_of(recipe).programs);
}

std::string attempt_id(const id128& session, std::uint64_t nonce) {
  return session.hex().substr(0, 16) + fmt::format("{:016x}", nonce);
}

std::string node_prefix(node_names recipe, std::string_view attempt, bool shares) {
  const auto mark = shares ? marks_of(recipe).sharer : marks_of(recipe).writers.front();
  if (recipe == node_names::kazoo) return fmt::format("{}{}", attempt, mark);
  return fmt::format("_c_{}-{}-{}-{}-{}-{}", attempt.substr(0, 8), attempt.substr(8, 4), attempt.substr(12, 4),
                     attempt.substr(16, 4), attempt.substr(20), mark);
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
