// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>

#include <future>

struct later {
  bool await_ready();
};

class functions {
 public:
  DLOCK_LOCKED("a") functions(int n);
  DLOCK_LOCKED("a") ~functions();
  template <class T> DLOCK_LOCKED("a") void of_template(T t);
  DLOCK_LOCKED("a") void removed() = delete;
  DLOCK_LOCKED("a") static consteval int early() { return 1; }
  DLOCK_LOCKED("a") void print(const char* format, ...);
  DLOCK_LOCKED("a") operator int() const;
  DLOCK_LOCKED("a") std::future<int> in_future();
  DLOCK_LOCKED("a") later awaitable();
};
DLOCK_LOCKED("a") bool operator<(const later& left, const later& right);
