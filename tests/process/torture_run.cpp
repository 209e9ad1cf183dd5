// SPDX-License-Identifier: BSL-1.0
#include "process/torture/driver.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <thread>

#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/store_interface/clock.hpp"
#include "process/hold_log.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

namespace {

std::int64_t now() { return boot_clock::now().time_since_epoch().count(); }

bool stop_requested() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, 0) != 0;
}

class tormentor {
 public:
  tormentor(lock_service& locks, const torture_settings& settings)
      : locks_(locks), settings_(settings), log_(settings.log), random_(settings.seed) {
    record_.attempt = settings.seed % 1'000'000'000 * 1'000'000;  // another process may get our pid
  }

  void once() {
    record_ = {.key = settings_.keys[below(settings_.keys.size())],
               .at = now(),
               .process = ::getpid(),
               .attempt = record_.attempt + 1};
    log(hold_record::kind::asked);
    try {
      const auto wait = below(4) == 0 ? 0ms : 2000ms;
      auto mine = locks_.acquire(record_.key, {.ttl = settings_.ttl, .wait = wait});
      hold(mine);
      if (below(2) == 0) mine.release();  // else the destructor does
    } catch (const lock_timeout&) {
      log(hold_record::kind::refused);
    } catch (const lock_lost&) {
      log(hold_record::kind::lost);  // expected of a process that was stopped
    } catch (const store_error&) {
      log(hold_record::kind::unknown);
      std::this_thread::sleep_for(10ms);
    }
  }

 private:
  void hold(const lease& mine) {
    record_.fence = fence_of(mine);
    const auto ttl = std::chrono::duration_cast<std::chrono::microseconds>(settings_.ttl).count();
    const auto longest =
        below(8) == 0 ? std::min<std::uint64_t>(static_cast<std::uint64_t>(ttl) * 3 / 2, 2'500'000) : 40'000;
    const auto end = now() + static_cast<std::int64_t>(below(longest));
    for (;;) {
      // The clock first: if it is trusted afterwards, it was at that time, because lost is never taken back.
      record_.at = now();
      mine.ensure_held();
      log(hold_record::kind::held);
      if (record_.at >= end) return;
      std::this_thread::sleep_for(std::chrono::microseconds{below(2000)});
    }
  }
  void log(hold_record::kind kind) {
    record_.what = kind;
    log_.append(record_);
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  lock_service& locks_;
  const torture_settings& settings_;
  const hold_log log_;
  std::mt19937_64 random_;
  hold_record record_{};
};

}  // namespace

std::uint64_t fence_of(const lease& mine) {
  try {
    return mine.fencing_token();
  } catch (const std::logic_error&) {
    return 0;
  }
}

void run_torture(lock_service& locks, const torture_settings& settings) {
  tormentor tormentor(locks, settings);
  while (!stop_requested()) tormentor.once();
}

}  // namespace dlock::test
