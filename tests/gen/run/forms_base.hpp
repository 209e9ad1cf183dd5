// SPDX-License-Identifier: BSL-1.0
// An annotated template, which classes derive from.
#pragma once

#include <dlock/annotations.hpp>

namespace api {

template <class T>
class repository {
 public:
  virtual ~repository() = default;
  DLOCK_LOCKED("repository:{what}")
  virtual void save(const T& what) {
    last = what;
    ++saved_;
  }
  virtual int saved() const { return saved_; }
  T last{};

 private:
  int saved_ = 0;
};

template <class... Arguments>
class notifier {
 public:
  virtual ~notifier() = default;
  DLOCK_LOCKED("notify")
  virtual void notify(Arguments... what) = 0;
};

}  // namespace api
