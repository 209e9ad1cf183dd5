// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace dlock::test {

/// Does without the rights of the administrator, whom no permission stops.
class as_nobody {
 public:
  as_nobody() {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) throw std::runtime_error("seteuid failed");
  }
  ~as_nobody() {
    if (::getuid() == 0 && ::seteuid(0) != 0) std::abort();
  }
  as_nobody(const as_nobody&) = delete;
  as_nobody& operator=(const as_nobody&) = delete;
};

}  // namespace dlock::test
