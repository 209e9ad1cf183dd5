// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>

template <class T>
struct class_template {
  DLOCK_LOCKED("a") void function();
};
class has_private_class {
  struct hidden {
    DLOCK_LOCKED("a") void function();
  };
};
struct final_class final {
  virtual ~final_class() = default;
  DLOCK_LOCKED("a") virtual void function();
};
struct final_function {
  virtual ~final_function() = default;
  DLOCK_LOCKED("a") virtual void function() final;
  virtual void other() final;
};
class not_public {
 protected:
  DLOCK_LOCKED("a") void function();
};
struct virtual_noexcept {
  virtual ~virtual_noexcept() = default;
  DLOCK_LOCKED("a") virtual void function() noexcept;
  DLOCK_LOCKED("a") virtual void may_throw() noexcept(false);
};
class private_in_subclass {
  DLOCK_LOCKED("a") virtual void function();
};
class private_in_wrapper {
  DLOCK_LOCKED("a") virtual void function() = 0;
};
