// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Processes that hand a lock over, or wait for one.

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dlock/dlock.hpp"
#include "harness.hpp"

namespace dlock::bench {

using namespace std::chrono_literals;

inline constexpr std::size_t most = 4096;
inline constexpr int most_processes = 16;

/// What the processes share.
struct board {
  std::atomic<double> released_at{0};  ///< in microseconds, just before the call
  std::atomic<int> released_by{-1};
  std::atomic<std::size_t> count{0};
  std::atomic<bool> over{false};
  std::atomic<std::size_t> sent{0};  ///< statements
  std::atomic<int> timeouts{0};
  std::atomic<int> grants[most_processes] = {};
  std::atomic<double> figure{0};  ///< what a single process has measured
  char failure[256] = {};         ///< of a process that could not go on
  double took[most];
};

inline double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class shared_board {
 public:
  shared_board()
      : at_(::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        board_(new (at_) board) {}
  ~shared_board() { ::munmap(at_, sizeof(board)); }
  shared_board(const shared_board&) = delete;
  shared_board& operator=(const shared_board&) = delete;
  board* operator->() const { return board_; }
  board& operator*() const { return *board_; }

 private:
  void* at_;
  board* board_;
};

/// Runs `work(number)` in so many processes until `time` is over. Throws std::runtime_error if one of them failed.
inline void in_processes(int count, board& shared, std::chrono::milliseconds time, const std::function<void(int)>& work,
                         const std::function<void()>& meanwhile = {}) {
  std::vector<pid_t> all;
  for (int i = 0; i != count; ++i) {
    const auto child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      try {
        work(i);
      } catch (const std::exception& e) {
        std::string(e.what()).copy(shared.failure, sizeof shared.failure - 1);
        ::_exit(1);
      }
      ::_exit(0);
    }
    all.push_back(child);
  }
  if (meanwhile) {
    meanwhile();
  } else {
    std::this_thread::sleep_for(time);
  }
  shared.over = true;
  std::string failure;
  for (const auto child : all) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
      failure = fmt::format("a process was ended by signal {}", WTERMSIG(status));
    } else if (status != 0) {
      failure = shared.failure;
    }
  }
  if (!failure.empty()) throw std::runtime_error(failure);
}

inline void note_taken(board& shared, int me) {
  const auto at = now_us();
  if (const int by = shared.released_by; by < 0 || by == me) return;
  if (const auto place = shared.count++; place < most) shared.took[place] = at - shared.released_at;
}

inline void note_release(board& shared, int me) {
  shared.released_by = me;
  shared.released_at = now_us();
}

inline double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

/// Long enough that a waiter sleeps, also on a slow disk.
inline constexpr auto long_hold = 300ms;

inline void append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

inline std::vector<double> took(const board& shared) {
  return {shared.took, shared.took + std::min<std::size_t>(shared.count, most)};
}

/// Each of two holds what `take` gets in turn for `hold`.
template <class Take>
std::vector<double> by_dlock(const std::string& url, std::chrono::milliseconds hold, std::chrono::milliseconds time,
                             Take take) {
  const shared_board shared;
  in_processes(2, *shared, time, [&](int me) {
    dlock::lock_service locks{url};
    while (!shared->over) {
      auto held = take(locks);
      note_taken(*shared, me);
      std::this_thread::sleep_for(hold);
      note_release(*shared, me);
      held.release();
    }
  });
  return took(*shared);
}

inline std::vector<double> by_dlock(const std::string& url, std::chrono::milliseconds hold,
                                    std::chrono::milliseconds time) {
  return by_dlock(url, hold, time,
                  [](dlock::lock_service& locks) { return locks.acquire("hand-over", {.wait = 30s}); });
}

/// Each of two processes makes a lock that it takes and releases by hand, and holds it in turn for `hold`.
template <class Make>
std::vector<double> by_hands(std::chrono::milliseconds hold, std::chrono::milliseconds time, Make make) {
  const shared_board shared;
  in_processes(2, *shared, time, [&](int me) {
    auto lock = make(me);
    while (!shared->over) {
      lock->take();
      note_taken(*shared, me);
      std::this_thread::sleep_for(hold);
      note_release(*shared, me);
      lock->release();
      std::this_thread::sleep_for(1ms);  // the other one has it now
    }
  });
  return took(*shared);
}

/// dlock beside the same by hand: medians and 99th percentiles.
inline void compare_hand_overs(const std::string& name, const std::vector<double>& ours,
                               const std::vector<double>& by_hand) {
  for (const double share : {0.5, 0.99}) {
    const auto at = fmt::format("{} p{:g}", name, 100 * share);
    const auto mine = percentile(ours, share), raw = percentile(by_hand, share);
    fmt::print("hand-over, {}: dlock {:7.0f} us ({} times)   by hand {:7.0f} us ({} times)   x {:.2f}\n", at, mine,
               ours.size(), raw, by_hand.size(), mine / raw);
    figures::add("hand-over between two processes, " + at + ", of the same by hand", "ratio", {mine / raw});
  }
}

/// The same with three keys at once.
inline std::vector<double> of_several_keys(const std::string& url, std::chrono::milliseconds time) {
  return by_dlock(url, long_hold, time, [](dlock::lock_service& locks) {
    return locks.acquire_all({"hand-over:1", "hand-over:2", "hand-over:3"}, {.wait = 30s});
  });
}

/// So many processes with 32 waiters each, on one key that is held, while `meanwhile` runs. The processes add up on the
/// board how many statements they send, and how many of their waiters got the key.
inline void in_waiting_processes(int processes, board& shared, const std::string& url, const std::string& key,
                                 const std::function<void()>& meanwhile) {
  in_processes(
      processes, shared, 0ms,
      [&](int) {
        dlock::lock_service locks{url};
        std::stop_source stop;
        std::vector<std::thread> all;
        for (int i = 0; i != 32; ++i) {
          all.emplace_back([&] {
            try {
              const auto lease = locks.acquire(key, {.wait = 10min, .cancel = stop.get_token()});
              ++shared.count;
            } catch (const dlock::lock_refused&) {
              // it is over
            }
          });
        }
        for (std::size_t before = 0; !shared.over;) {
          std::this_thread::sleep_for(10ms);
          const auto now = locks.statements();
          shared.sent += now - std::exchange(before, now);
        }
        stop.request_stop();
        for (auto& each : all) each.join();
      },
      meanwhile);
}

}  // namespace dlock::bench
