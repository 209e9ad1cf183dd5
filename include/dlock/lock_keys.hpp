// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"

namespace DLOCK_EXPORT dlock {

class lock_keys;

namespace detail {

// Not a text, which is a range of characters.
template <class Range>
concept range_of_keys = !std::same_as<std::remove_cvref_t<Range>, lock_keys> && !std::convertible_to<Range, lock_key> &&
                        requires(Range & from) {
  { *std::begin(from) } -> std::convertible_to<lock_key>;
  std::end(from);
};

template <class Range>
std::vector<lock_key> collect_keys(Range&& from) {
  std::vector<lock_key> keys;
  for (auto&& each : from) keys.emplace_back(std::forward<decltype(each)>(each));
  return keys;
}

}  // namespace detail

/// Several keys that are locked together: texts and rows, mixed as you like. A key named twice counts once. They are
/// kept in the one order of lock_key, which is the same in every process, whatever the order they are named in.
///
/// Implicit, so that acquire_all({from, to}) reads well, and from any range of keys or texts (a vector, a set, a view).
/// Precondition: it is not moved-from; such a list may only be assigned or destroyed.
/// Errors: std::invalid_argument, not 1 to `max_size` different keys, or a bad key.
/// Thread safety: as a const std::vector.
/// Cost: no round trip.
class lock_keys {
 public:
  static constexpr std::size_t max_size = 256;

  lock_keys(std::initializer_list<lock_key> keys) : lock_keys(std::vector<lock_key>(keys)) {}
  lock_keys(std::vector<lock_key> keys);
  template <detail::range_of_keys Range>
  requires(!std::same_as<std::remove_cvref_t<Range>, std::vector<lock_key>>)  //
      lock_keys(Range&& keys)
      : lock_keys(detail::collect_keys(std::forward<Range>(keys))) {}

  /// Ascending, no two equal.
  std::vector<lock_key>::const_iterator begin() const& noexcept { return keys_.begin(); }
  std::vector<lock_key>::const_iterator end() const& noexcept { return keys_.end(); }
  std::size_t size() const noexcept { return keys_.size(); }
  /// Precondition: at < size().
  const lock_key& operator[](std::size_t at) const& noexcept { return keys_[at]; }
  // They would be gone with the list.
  std::vector<lock_key>::const_iterator begin() const&& = delete;
  std::vector<lock_key>::const_iterator end() const&& = delete;
  const lock_key& operator[](std::size_t at) const&& = delete;
  /// Which of them it is; size() if none.
  std::size_t find(const lock_key& key) const noexcept;

  friend bool operator==(const lock_keys&, const lock_keys&) noexcept = default;

 private:
  std::vector<lock_key> keys_;
};

/// What a braced list of keys is: {"a", "b"}. The macros, which take a key or a list of keys, know it by this type:
/// {"a"} means a list of one, not one key.
using key_list = std::initializer_list<lock_key>;

/// For a log line: 'a', 'b', 'c'.
DLOCK_EXPORT std::string printable(const lock_keys& keys);

}  // namespace dlock
