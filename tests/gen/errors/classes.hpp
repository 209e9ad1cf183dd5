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
struct no_default_constructor {
  explicit no_default_constructor(int n);
  virtual ~no_default_constructor() = default;
  DLOCK_LOCKED("a") virtual void function();
};
struct final_function {
  virtual ~final_function() = default;
  DLOCK_LOCKED("a") virtual void function() final;
  virtual void other() final;
};
struct variadic_function {
  virtual ~variadic_function() = default;
  DLOCK_LOCKED("a") virtual void function();
  virtual void other(const char* text, ...);
};
class pure_private_function {
 public:
  virtual ~pure_private_function() = default;
  DLOCK_LOCKED("a") virtual void function();

 private:
  virtual void hook() = 0;
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
struct DLOCK_DEFAULTS(.form = subclass) abstract_subclass {
  virtual ~abstract_subclass() = default;
  DLOCK_LOCKED("a") virtual void function() = 0;
};
class DLOCK_DEFAULTS(.form = subclass) private_in_subclass {
  DLOCK_LOCKED("a") virtual void function();
};
struct DLOCK_DEFAULTS(.form = subclass) final_subclass final {
  DLOCK_LOCKED("a") void function();
};
