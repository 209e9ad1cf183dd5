// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/annotations.hpp>

#include <cstdint>

namespace dlock::bench {

/// What annotated_bench.cpp locks by dlock-gen and by hand.
class annotated_service {
 public:
  virtual ~annotated_service() = default;

  DLOCK_LOCKED("order:{id}:{buyer}", .ttl = 30s, .wait = 2s)
  virtual std::int64_t place(std::int64_t id, std::int64_t buyer) { return last_ = id + buyer; }

 private:
  std::int64_t last_ = 0;
};

}  // namespace dlock::bench
