// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the call passes more or fewer arguments than names are listed after the key pattern
#include "dlock/locked.hpp"

struct order {
  int id;
};

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto place = dlock::default_service().locked<"order:{o.id}", "o", "_">([](const order&, int) {});
#else
  const auto place = dlock::default_service().locked<"order:{o.id}", "o">([](const order&, int) {});
#endif
  place(order{42}, 1);
}
