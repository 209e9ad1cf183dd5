// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the key pattern names more or fewer arguments than the call passes
#include "dlock/locked.hpp"

struct order {
  int id;
};

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto place = dlock::default_service().locked<"order:{o.id}:{user}">([](const order&, int) {});
#else
  const auto place = dlock::default_service().locked<"order:{o.id}">([](const order&, int) {});
#endif
  place(order{42}, 1);
}
