// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Waits for a lock while memory runs out. The program needs support/scarce_memory.cpp.

#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "dlock/async.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "support/calls.hpp"
#include "support/scarce_memory.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// Each allocation of each kind of wait at that store fails once: the wait ends, and leaves nothing held.
inline void check_waits_without_memory(const std::string& url) {
  // What one call does on the thread that runs out of memory; `over`: the handler of an asynchronous one was called.
  const lock_options waits{.wait = 40ms};
  const std::vector<std::pair<const char*, std::function<void(lock_service&, std::promise<void>&)>>> ways{
      {"plain", [&](lock_service& by, auto&) { by.acquire("busy", waits).release(); }},
      {"nested",
       [&](lock_service& by, auto&) {
         const auto outer = by.acquire("outer");
         by.acquire("busy", waits).release();
       }},
      {"several",
       [&](lock_service& by, auto&) {
         by.acquire_all({"busy", "outer"}, waits).release();
       }},
      {"fifo",
       [&](lock_service& by, auto&) { by.acquire("busy", {.wait = 40ms, .fairness = fairness::fifo}).release(); }},
      {"asynchronous",
       [&](lock_service& by, std::promise<void>& over) {
         by.async_acquire("busy", waits, [&over](const std::exception_ptr&, lease) { over.set_value(); });
         over.get_future().wait();
       }},
  };
  for (const auto& [name, way] : ways) {
    CAPTURE(name);
    lock_service holder(url), locks(url);
    const auto busy = holder.acquire("busy");
    bool ran_out = true;
    for (std::size_t number = 0; ran_out; ++number) {
      REQUIRE(number < 1000);
      INFO("allocation " << number);
      std::async(std::launch::async, [&] {
        std::promise<void> over;
        const scarce_memory scarce(number);
        try {
          way(locks, over);
        } catch (const std::bad_alloc&) {
        } catch (const error&) {
        }
        ran_out = scarce.ran_out();
      }).get();
      CHECK(eventually([&] { return !holder.holder("outer"); }));
      CHECK(eventually([&] { return locks.waiting() == 0; }));
    }
  }
}

}  // namespace dlock::test
