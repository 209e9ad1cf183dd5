// SPDX-License-Identifier: BSL-1.0
// Many read a catalogue while nobody changes it, and at most two calls of a mail server are under way at a time. Two
// services stand for two processes.

#include <fmt/core.h>
#include <dlock/dlock.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/command_line.hpp"

namespace {

using namespace std::chrono_literals;

struct catalogue {
  std::atomic<int> readers{0}, most_readers{0}, edition{1};
  std::atomic<bool> changing{false}, torn{false};

  void read() {
    const int now = ++readers;
    for (int most = most_readers; now > most && !most_readers.compare_exchange_weak(most, now);) {
    }
    const int before = edition;
    std::this_thread::sleep_for(10ms);
    if (changing || edition != before) torn = true;
    --readers;
  }
  void change() {
    changing = true;
    if (readers != 0) torn = true;
    ++edition;
    changing = false;
  }
};

bool readers_and_a_writer(dlock::lock_service& one, dlock::lock_service& two) {
  catalogue it;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        auto& locks = i % 2 == 0 ? one : two;
        for (int n = 0; n < 5; ++n)
          locks.with_lock("catalogue", {.wait = 60s, .mode = dlock::shared}, [&] { it.read(); });
      });
    }
    threads.emplace_back([&] {
      // The same key with the standard's guards.
      dlock::distributed_shared_mutex door{two, "catalogue", {.wait = 60s}};
      for (int n = 0; n < 3; ++n) {
        std::unique_lock writing{door};
        it.change();
      }
    });
  }
  fmt::print("up to {} readers at a time; {} changes, none of them seen by a reader\n", it.most_readers.load(),
             it.edition - 1);
  return !it.torn && it.edition == 4;
}

bool two_at_a_time(dlock::lock_service& one, dlock::lock_service& two) {
  std::atomic<int> calls{0}, most{0}, sent{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, i] {
        dlock::distributed_semaphore permit{i % 2 == 0 ? one : two, "mail-api", 2, {.wait = 60s}};
        permit.acquire();
        const int now = ++calls;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(5ms);
        ++sent;
        --calls;
        permit.release();
      });
    }
  }
  fmt::print("{} mails sent, up to {} at a time\n", sent.load(), most.load());
  return sent == 6 && most <= 2;
}

bool run(const std::string& url) {
  dlock::lock_service one{url}, two{url};
  const bool right = readers_and_a_writer(one, two) && two_at_a_time(one, two) && one.held_keys().empty();
  fmt::print("{}\n", right ? "every lock is free again" : "WRONG");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"Many readers or one writer, and a few at a time"};
  std::string url = "sqlite:locks.db";
  options.database(url);
  return options.run(argc, argv, [&] { return run(url) ? 0 : 1; });
}
