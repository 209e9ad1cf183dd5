// SPDX-License-Identifier: BSL-1.0
#include "process/torture/driver.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/store_interface/clock.hpp"
#include "process/hold_log.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

namespace {

std::int64_t now() { return boot_clock::now().time_since_epoch().count(); }

void wait_for_stop() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (::poll(&input, 1, -1) < 0 && errno == EINTR) continue;
}

/// A resource for each key that refuses a write with a smaller fence than it has seen, for all processes.
class guarded_cells {
 public:
  guarded_cells(const std::string& path, std::size_t count) : size_(count * sizeof(cell)) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) throw std::system_error(errno, std::system_category(), path);
    void* at = MAP_FAILED;
    if (::ftruncate(file, static_cast<off_t>(size_)) == 0) {
      at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    ::close(file);
    if (at == MAP_FAILED) throw std::system_error(errno, std::system_category(), path);
    cells_ = static_cast<cell*>(at);
  }
  ~guarded_cells() { ::munmap(cells_, size_); }
  guarded_cells(const guarded_cells&) = delete;
  guarded_cells& operator=(const guarded_cells&) = delete;

  bool write(std::size_t which, std::uint64_t fence) const {
    auto seen = cells_[which].load();
    while (seen < fence && !cells_[which].compare_exchange_weak(seen, fence)) continue;
    return seen <= fence;
  }

 private:
  using cell = std::atomic<std::uint64_t>;
  static_assert(cell::is_always_lock_free);
  const std::size_t size_;
  cell* cells_ = nullptr;
};

class tormentor {
 public:
  tormentor(lock_service& locks, const torture_settings& settings, const hold_log& log, const guarded_cells& cells,
            unsigned thread)
      : locks_(locks),
        settings_(settings),
        log_(log),
        cells_(cells),
        always_reads_(settings.shares && thread == 0),
        random_(settings.seed + thread) {
    record_.attempt =  // another process may get our pid
        (settings.seed % 100'000'000 * 100 + thread) * 100'000'000;
  }

  void once(const std::stop_token& stop) {
    which_ = choose();
    const auto mode = settings_.shares ? mode_of(which_) : exclusive;
    record_ = {.key = settings_.keys[which_],
               .units = mode.units,
               .permits = mode.permits,
               .at = now(),
               .process = ::getpid(),
               .attempt = record_.attempt + 1};
    log(hold_record::kind::asked);
    lock_options options{.ttl = settings_.ttl, .wait = wait(mode), .cancel = stop, .mode = mode};
    if (settings_.lingers) options.linger = linger();
    try {
      auto mine = locks_.acquire(record_.key, options);
      hold(mine);
      if (below(2) == 0) mine.release();  // else the destructor does
      mine = {};
      if (settings_.lingers) std::this_thread::sleep_for(std::chrono::microseconds{below(30'000)});
    } catch (const lock_timeout&) {
      answer(hold_record::kind::refused);
    } catch (const lock_refused&) {
      answer(hold_record::kind::refused);  // it was told to end
    } catch (const lock_lost&) {
      answer(hold_record::kind::lost);  // expected of a process that was stopped
      if (record_.fence != 0 && !cells_.write(which_, record_.fence)) answer(hold_record::kind::late);
    } catch (const store_error&) {
      answer(hold_record::kind::unknown);
      std::this_thread::sleep_for(10ms);
    }
  }

 private:
  /// The last key never lacks readers, and each process comes back to one that stays with it.
  std::size_t choose() {
    if (always_reads_) return settings_.keys.size() - 1;
    const auto any = below(settings_.keys.size() - (settings_.shares ? 1 : 0));
    return settings_.lingers && below(4) != 0 ? favourite() : any;
  }
  std::size_t favourite() const { return settings_.seed % settings_.keys.size(); }
  std::chrono::milliseconds linger() {
    if (which_ == favourite()) return settings_.ttl;
    return std::chrono::milliseconds{below(2) * below(100)};
  }
  std::chrono::milliseconds wait(const lock_mode& mode) {
    if (below(4) == 0) return 0ms;
    return settings_.long_waits && below(mode == exclusive ? 2 : 4) == 0 ? 15'000ms : 2000ms;
  }
  /// Of each key another mix. Where `n` differs, each caller is held to its own.
  lock_mode mode_of(std::size_t key) {
    if (always_reads_) return shared;
    const auto n = static_cast<std::uint32_t>(2 + below(4));
    switch (key % 5) {
      case 0: return below(4) == 0 ? exclusive : shared;
      case 1: return below(12) == 0 ? exclusive : one_of(3, static_cast<std::uint32_t>(1 + below(2)));
      case 2:
        if (below(12) == 0) return exclusive;
        return below(3) == 0 ? shared : one_of(n, static_cast<std::uint32_t>(1 + below(n)));
      case 3: return below(8) == 0 ? exclusive : one_of(1);
      default: return below(2) == 0 ? exclusive : shared;
    }
  }
  void hold(const lease& mine) {
    record_.fence = fence_of(mine);
    const auto ttl = std::chrono::duration_cast<std::chrono::microseconds>(settings_.ttl).count();
    const auto end = now() + static_cast<std::int64_t>(length(static_cast<std::uint64_t>(ttl)));
    for (;;) {
      // The clock first: if it is trusted afterwards, it was at that time, because lost is never taken back.
      record_.at = now();
      const bool written = record_.fence == 0 || cells_.write(which_, record_.fence);
      mine.ensure_held();
      log(hold_record::kind::held);
      if (!written) log(hold_record::kind::behind);
      if (record_.at >= end) return;
      std::this_thread::sleep_for(std::chrono::microseconds{below(2000 * settings_.threads)});
    }
  }
  /// For how long it holds a key.
  std::uint64_t length(std::uint64_t ttl) {
    if (always_reads_) return 50'000 + below(200'000);
    if (below(settings_.threads == 1 ? 8 : 20) == 0) return below(std::min<std::uint64_t>(ttl * 3 / 2, 2'500'000));
    return below(settings_.threads != 1 && below(2) == 0 ? 2'000 : 40'000);
  }
  void answer(hold_record::kind kind) {
    record_.at = now();
    log(kind);
  }
  void log(hold_record::kind kind) {
    record_.what = kind;
    log_.append(record_);
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  lock_service& locks_;
  const torture_settings& settings_;
  const hold_log& log_;
  const guarded_cells& cells_;
  const bool always_reads_;
  std::mt19937_64 random_;
  std::size_t which_ = 0;  // of the keys
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
  const hold_log log(settings.log);
  const guarded_cells cells(settings.log + ".cells", settings.keys.size());
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i != settings.threads; ++i) {
    threads.emplace_back([&, i](const std::stop_token& stop) {
      tormentor tormentor(locks, settings, log, cells, i);
      while (!stop.stop_requested()) tormentor.once(stop);
    });
  }
  wait_for_stop();
}

}  // namespace dlock::test
