// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a pointer cannot be part of a key
#include "dlock/key.hpp"

#include <string>

struct order {
  long id;
  std::string name;
};

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  const order shoes{42, "shoes"};
  return static_cast<int>(dlock::key<"order:{id}">(shoes).str().size());
#else
  const order shoes{42, "shoes"};
  return static_cast<int>(dlock::key<"order:{id}">(&shoes).str().size());
#endif
}
