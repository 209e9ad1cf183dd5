// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a \{path\} of the key pattern names a field that the type does not have
#include "dlock/key.hpp"

#include <string>

struct order {
  long id;
  std::string name;
};

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{o.id}:{u}">(order{42, "shoes"}, 7).str().size());
#else
  return static_cast<int>(dlock::key<"order:{o.idd}:{u}">(order{42, "shoes"}, 7).str().size());
#endif
}
