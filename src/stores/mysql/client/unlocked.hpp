// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "base/mutex.hpp"

namespace dlock::stores::mysql {

/// Opens a mutex that is held, and locks it again at its end, also where something throws.
class DLOCK_SCOPED_CAPABILITY unlocked {
 public:
  explicit unlocked(base::mutex& mutex) DLOCK_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  unlocked(const unlocked&) = delete;
  unlocked& operator=(const unlocked&) = delete;
  ~unlocked() DLOCK_RELEASE() { mutex_.lock(); }

 private:
  base::mutex& mutex_;
};

}  // namespace dlock::stores::mysql
