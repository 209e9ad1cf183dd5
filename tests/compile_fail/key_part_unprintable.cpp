// SPDX-License-Identifier: BSL-1.0
// fails: dlock: this type cannot be part of a key
#include "dlock/key.hpp"

#include <string>

class order_id {
 public:
  explicit order_id(long value) : value_(value) {}
#ifdef DLOCK_SHOULD_COMPILE
  friend void append_part(std::string& out, const order_id& id) { dlock::append_part(out, id.value_); }
#endif

 private:
  long value_;
};

int main() {
#ifdef DLOCK_SHOULD_COMPILE
  return static_cast<int>(dlock::key<"order:{id}">(order_id(42)).str().size());
#else
  return static_cast<int>(dlock::key<"order:{id}">(order_id(42)).str().size());
#endif
}
