// SPDX-License-Identifier: BSL-1.0
// Base classes that another header has.
// clang-format off
#pragma once

#include <dlock/annotations.hpp>

template <class T>
class repository {
 public:
  virtual ~repository() = default;
  DLOCK_LOCKED("repository") virtual void save(const T& what);
  virtual int saved() const;
  T last{};
};
template <class T>
class source {
 public:
  virtual ~source() = default;
  virtual T read() = 0;
};
template <class Base>
class mixin : public Base {
 public:
  virtual ~mixin() = default;
};

class of_another_file {
 public:
  virtual ~of_another_file() = default;
  DLOCK_LOCKED("a:{n}") void not_virtual(int n);
  int helper() const;
};
