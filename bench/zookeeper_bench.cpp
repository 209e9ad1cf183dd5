// SPDX-License-Identifier: BSL-1.0
// ZooKeeper: acquire and release, and the hand-over to who waits, beside the recipe written by hand with the C client:
// create, get the children, watch the one before, delete. On a server that waits for no disk.
#define THREADED  // the library's calls that wait
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dlock/dlock.hpp"
#include "harness.hpp"
#include "support/zookeeper_server.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

class raw_lock {
 public:
  raw_lock(const std::string& address, std::string path) : path_(std::move(path)) {
    ::zoo_set_debug_level(static_cast<ZooLogLevel>(0));
    handle_ = ::zookeeper_init(address.c_str(), on_event, 30'000, nullptr, this, 0);
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds{10}, [&] { return connected_; }))
      throw std::runtime_error("no connection");
    ::zoo_create(handle_, path_.c_str(), nullptr, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, nullptr, 0);
  }
  ~raw_lock() { ::zookeeper_close(handle_); }
  raw_lock(const raw_lock&) = delete;
  raw_lock& operator=(const raw_lock&) = delete;

  void acquire() {
    char made[256];
    check(::zoo_create(handle_, (path_ + "/lock-").c_str(), "raw", 3, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                       made, sizeof made));
    mine_ = std::string(made).substr(path_.size() + 1);
    for (;;) {
      const auto before = one_before();
      if (before.empty()) return;
      {
        const std::lock_guard lock(mutex_);
        gone_ = false;
      }
      char data[256];
      int size = sizeof data;
      if (::zoo_wget(handle_, (path_ + "/" + before).c_str(), on_change, this, data, &size, nullptr) != ZOK) continue;
      waits_ = true;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return gone_; });
      waits_ = false;
    }
  }
  void release() { check(::zoo_delete(handle_, (path_ + "/" + mine_).c_str(), -1)); }
  bool waits() const { return waits_; }

 private:
  static void check(int code) {
    if (code != ZOK) throw std::runtime_error(::zerror(code));
  }
  static void on_event(zhandle_t*, int, int state, const char*, void* about) {
    auto& mine = *static_cast<raw_lock*>(about);
    const std::lock_guard lock(mine.mutex_);
    mine.connected_ = state == ZOO_CONNECTED_STATE;
    mine.changed_.notify_all();
  }
  static void on_change(zhandle_t*, int, int, const char*, void* about) {
    auto& mine = *static_cast<raw_lock*>(about);
    const std::lock_guard lock(mine.mutex_);
    mine.gone_ = true;
    mine.changed_.notify_all();
  }
  std::string one_before() {
    String_vector children{};
    check(::zoo_get_children(handle_, path_.c_str(), 0, &children));
    std::string found;
    for (int i = 0; i != children.count; ++i) {
      if (children.data[i] < mine_ && children.data[i] > found) found = children.data[i];
    }
    ::deallocate_String_vector(&children);
    return found;
  }

  const std::string path_;
  zhandle_t* handle_ = nullptr;
  std::string mine_{};
  std::mutex mutex_{};
  std::condition_variable changed_{};
  bool connected_ = false;
  bool gone_ = false;
  std::atomic<bool> waits_{false};
};

/// Microseconds from a release to the grant of who has waited for it, a median.
template <class Acquire, class Release, class Waits, class Other>
double hand_over(int times, const Acquire& acquire, const Release& release, const Waits& waits, const Other& other) {
  std::vector<double> all;
  for (int i = 0; i != times; ++i) {
    acquire();
    clock_type::time_point granted;
    std::thread waiter([&] { other(granted); });
    while (!waits()) std::this_thread::sleep_for(std::chrono::microseconds{200});
    std::this_thread::sleep_for(std::chrono::milliseconds{5});  // and nothing is on its way any more
    const auto begin = clock_type::now();
    release();
    waiter.join();
    all.push_back(std::chrono::duration<double, std::micro>(granted - begin).count());
  }
  return dlock::bench::median(all);
}

}  // namespace

int main() {
  const dlock::test::zookeeper_server server;
  raw_lock raw(server.address(), "/raw"), other_raw(server.address(), "/raw");
  dlock::lock_service locks{server.url()}, other_locks{server.url()};
  const dlock::lock_options options, patient{.wait = std::chrono::seconds{20}};
  const dlock::lock_key key("our:4711");
  dlock::bench::compare(
      "ZooKeeper: acquire+release, 1 thread", 21, 300,
      [&] {
        raw.acquire();
        raw.release();
      },
      [&] { const dlock::lease held = locks.acquire(key, options); }, {.at_least = 0.85});

  std::vector<double> raws, ours, ratios;
  for (int round = 0; round != 9; ++round) {
    constexpr int times = 20;
    raws.push_back(hand_over(
        times, [&] { raw.acquire(); }, [&] { raw.release(); }, [&] { return other_raw.waits(); },
        [&](clock_type::time_point& granted) {
          other_raw.acquire();
          granted = clock_type::now();
          other_raw.release();
        }));
    dlock::lease held;
    std::uint64_t before = 0;
    ours.push_back(hand_over(
        times, [&] { held = locks.acquire(key, patient), before = other_locks.statements(); }, [&] { held.release(); },
        [&] { return other_locks.statements() >= before + 2; },
        [&](clock_type::time_point& granted) {
          const auto mine = other_locks.acquire(key, patient);
          granted = clock_type::now();
        }));
    ratios.push_back(ours.back() / raws.back());
  }
  fmt::print("{:<46} raw {:9.2f} us   dlock {:9.2f} us   dlock/raw {:.3f}\n", "ZooKeeper: hand-over to who waits",
             dlock::bench::median(raws), dlock::bench::median(ours), dlock::bench::median(ratios));
  dlock::bench::figures::add("ZooKeeper: hand-over, of raw", "ratio", ratios, {.at_most = 1.3});
  return dlock::bench::figures::exit_code();
}
