// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a .\}. of the key pattern closes nothing
#include "dlock/key.hpp"

#include <string>

struct order {
  long id;
  std::string name;
};

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{id}}}">(order{42, "shoes"}).str().size());
#else
  return static_cast<int>(dlock::key<"order:{id}}">(order{42, "shoes"}).str().size());
#endif
}
