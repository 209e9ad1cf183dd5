// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fmt/format.h>

#include <string>

#include "stores/mysql/shared_table/layout.hpp"

namespace dlock::stores::mysql::shared_table {

/// For a DATETIME: the zone in which the other programs' NOW() counts, unless they set one of their own.
inline constexpr const char* use_other_programs_zone = "SET SESSION time_zone = @@GLOBAL.time_zone";

/// What `:ttl` must be for a lease of that time: rounded up to what the column keeps.
inline microseconds rounded_up(microseconds ttl, microseconds unit) noexcept {
  return (ttl + unit - microseconds{1}) / unit * unit;
}

/// SQL about the column of an expiry, which other programs compare with their NOW(). It has passed when it is less than
/// NOW() in the column's own precision: what they say, too.
struct expiry_sql {
  explicit expiry_sql(const column& expiry) : digits(expiry.digits), unit(expiry.unit()) {
    const auto name = expiry.quoted();
    const auto now = fmt::format("NOW({})", digits);
    passed = fmt::format("{} < {}", name, now);
    left = fmt::format("IFNULL(TIMESTAMPDIFF(MICROSECOND, NOW(6), {}) + {}, {})", name, unit.count(), never.count());
    until = fmt::format("{} + INTERVAL :ttl MICROSECOND", now);
    // A DATETIME keeps what the clock on the wall shows, which goes back or forward where summer time ends or begins. The
    // later of both ways to add is never too early: in autumn a lease may look taken for an hour longer.
    if (expiry.type == column_type::datetime) {
      until = fmt::format("GREATEST({}, FROM_UNIXTIME(UNIX_TIMESTAMP({}) + :ttl / 1000000))", until, now);
    }
    extended = fmt::format("GREATEST({}, {})", name, until);
  }

  /// A lock without an expiry: it has so much left.
  static constexpr microseconds never{3'153'600'000'000'000};

  unsigned digits;
  microseconds unit;
  std::string passed{};
  std::string left{};
  std::string until{};
  std::string extended{};
};

}  // namespace dlock::stores::mysql::shared_table
