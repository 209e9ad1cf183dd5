// SPDX-License-Identifier: BSL-1.0
// fails: names a field that the type does not have
#include "dlock/locked.hpp"

struct order {
  int id;
};

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  const auto place = dlock::default_service().locked<"order:{o.id}", "o">([](const order&) {});
#else
  const auto place = dlock::default_service().locked<"order:{o.number}", "o">([](const order&) {});
#endif
  place(order{42});
}
