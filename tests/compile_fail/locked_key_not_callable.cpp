// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the key of locked.key, fn. must be text, a lock_key, or callable
#include "dlock/locked.hpp"

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto place = dlock::default_service().locked([](int id) { return std::to_string(id); }, [](int) {});
#else
  const auto place = dlock::default_service().locked([](int id) { return id; }, [](int) {});
#endif
  place(42);
}
