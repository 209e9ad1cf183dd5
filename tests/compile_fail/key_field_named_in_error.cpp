// SPDX-License-Identifier: GPL-2.0-or-later
// fails: check_field.*order.*'i', 'd', 'd'
#include "dlock/key.hpp"

#include <string>

struct order {
  long id;
  std::string name;
};

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{id}">(order{42, "shoes"}).str().size());
#else
  return static_cast<int>(dlock::key<"order:{idd}">(order{42, "shoes"}).str().size());
#endif
}
