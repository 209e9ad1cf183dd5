// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <utility>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// What calls that try (try_with_lock(), locked_or_skip()) give for a function that returns bool. As a
/// std::optional<bool>, but it is no condition: `while (locks.try_with_lock("k", sell_one))` would ask whether the
/// function ran, not what it returned.
///
///   if (const auto sold = locks.try_with_lock("k", sell_one); sold.value_or(false)) ...  // it ran and returned true
///   if (!sold.has_value()) ...                                                         // the key was busy
class [[nodiscard]] maybe_bool {
 public:
  constexpr maybe_bool() noexcept = default;  ///< the function did not run
  constexpr explicit maybe_bool(std::in_place_t, bool value) noexcept : value_(value) {}

  /// Whether the function ran.
  constexpr bool has_value() const noexcept { return value_.has_value(); }
  /// What it returned.
  /// Errors: std::bad_optional_access, it did not run.
  constexpr bool value() const { return value_.value(); }
  constexpr bool value_or(bool otherwise) const noexcept { return value_.value_or(otherwise); }

  constexpr operator std::optional<bool>() const noexcept { return value_; }
  explicit operator bool() const = delete;  ///< dlock: ran, or returned true? write has_value() or value_or(false)

  friend constexpr bool operator==(maybe_bool, maybe_bool) noexcept = default;
  friend constexpr bool operator==(maybe_bool left, bool right) noexcept { return left.value_ == right; }

 private:
  std::optional<bool> value_{};
};

}  // namespace dlock
