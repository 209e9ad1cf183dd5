// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a \{path\} of the key pattern goes on into a class that has a base class
#include "dlock/key.hpp"
#include "dlock/key_of.hpp"

struct entity {
  long id = 0;
};
struct order : entity {
  long customer = 0;
};

int main() {
  const order o;
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key_of("order", dlock::arg<1>(&order::id))(o).str().size());
#else
  return static_cast<int>(dlock::key<"order:{customer}">(o).str().size());
#endif
}
