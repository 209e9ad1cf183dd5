// SPDX-License-Identifier: BSL-1.0
// One function or class with several declarations.
// clang-format off
#include <dlock/annotations.hpp>

class DLOCK_DEFAULTS(.ttl = 5s) forward;
class forward {
 public:
  DLOCK_LOCKED("g:{i}") int g(int i);
  DLOCK_LOCKED("h:{i}") int h(int i);
};
class forward;
inline int forward::g(int i) { return i; }
DLOCK_LOCKED("other:{i}") inline int forward::h(int i) { return i; }

DLOCK_LOCKED("a:{n}") int twice(int n);
DLOCK_LOCKED("b:{n}") int twice(int n);
DLOCK_LOCKED("a:{n}") int same(int n);
DLOCK_LOCKED("a:{n}") int same(int n);
int later(int n);
DLOCK_LOCKED("a:{n}") int later(int n);
DLOCK_LOCKED("a:{n}") int once(int n);
int once(int n);
inline int once(int n) { return n; }
