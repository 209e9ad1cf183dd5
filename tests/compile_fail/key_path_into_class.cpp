// SPDX-License-Identifier: BSL-1.0
// fails: dlock: a \{path\} of the key pattern goes on into a type that is not an aggregate
#include "dlock/key.hpp"
#include "dlock/key_of.hpp"

class order {
 public:
  explicit order(long id) : id_(id) {}
  long id() const { return id_; }

 private:
  long id_;
};

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key_of("order", dlock::arg<1>(&order::id))(order(42)).str().size());
#else
  return static_cast<int>(dlock::key<"order:{o.id_}">(order(42)).str().size());
#endif
}
