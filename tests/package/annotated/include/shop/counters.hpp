// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/annotations.hpp>

#include <string>

namespace shop {

#ifdef HAS_COUNTERS  // the macros of the target reach dlock-gen
class counters {
 public:
  virtual ~counters() = default;
  DLOCK_LOCKED("counter:{name}", .wait = 2s)
  virtual int next(const std::string& name);
};
#endif

}  // namespace shop
