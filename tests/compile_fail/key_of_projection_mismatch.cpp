// SPDX-License-Identifier: BSL-1.0
// fails: dlock: arg<N>\(projection\) of key_of cannot be applied
#include "dlock/key_of.hpp"

#include <string>

class order {
 public:
  explicit order(long id) : id_(id) {}
  long id() const { return id_; }
  long take_id() { return id_; }

 private:
  long id_;
};

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key_of("order", dlock::arg<1>(&order::id))(order(42)).str().size());
#else
  return static_cast<int>(dlock::key_of("order", dlock::arg<1>(&order::take_id))(order(42)).str().size());
#endif
}
