// SPDX-License-Identifier: BSL-1.0

/// Work that is done once, in two processes. Of stores with capabilities::marks.

#include "contract/service/service_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "once: one of many does the work, the others wait until it is done") {
  std::atomic<int> runs{0}, did{0};
  std::atomic<bool> early{false};
  on_threads(6, [&](int i) {
    auto& locks = i % 2 == 0 ? a.locks : b.locks;
    const bool ran = locks.once("work", {.lock = {.wait = 60s}}, [&](const lease& held) {
      ++runs;
      std::this_thread::sleep_for(50ms);
      held.ensure_held();
    });
    did += ran ? 1 : 0;
    early = early || !locks.done("work");
  });
  CHECK(runs == 1);
  CHECK(did == 1);
  CHECK_FALSE(early);
  CHECK(a.locks.forget_done("work"));
  CHECK(b.locks.once("work", [] {}));
  CHECK_FALSE(a.locks.once("work", [] { FAIL("it is done"); }));
}

}  // namespace dlock::test
