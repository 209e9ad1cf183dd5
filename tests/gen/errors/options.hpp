// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>

class DLOCK_DEFAULTS(.form = subclass, .name = 3x, .prefix = 5, .until = 5s) options {
 public:
  DLOCK_LOCKED("a", .tll = 5s) void misspelled();
  DLOCK_LOCKED("a", .colour = 5s) void unknown();
  DLOCK_LOCKED("a", .row = order) void of_rows();
  DLOCK_LOCKED("a", .ttl = 5s, .ttl = 6s) void twice();
  DLOCK_LOCKED("a", .ttl) void no_value();
  DLOCK_LOCKED("a", .ttl = ) void empty_value();
  DLOCK_LOCKED("a", 5s) void no_name();
  DLOCK_LOCKED("a", .ttl = 5) void no_unit();
  DLOCK_LOCKED("a", .wait = 0) void zero();
  DLOCK_LOCKED("a", .wait = 0.5s) void fraction();
  DLOCK_LOCKED("a", .wait = 500us) void microseconds();
  DLOCK_LOCKED("a", .ttl = 5ms) void too_short();
  DLOCK_LOCKED("a", .wait = 9'000h) void too_long();
  DLOCK_LOCKED("a", .prefix = "") void empty_prefix();
  DLOCK_LOCKED("a", .ttl = 5s) DLOCK_LOCKED("b", .ttl = 6s, .wait = 1s) void contradiction();
};
