// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>

DLOCK_LOCKED("a") class whole_class {};
DLOCK_LOCKED("a") template <class T> void above_template(T t);
DLOCK_LOCKED("a") enum colors { red };
DLOCK_DEFAULTS(.ttl = 5s) class defaults_above {};

class placement {
 public:
  virtual DLOCK_LOCKED("a") void behind_virtual();
  static DLOCK_LOCKED("a") void behind_static();
};
