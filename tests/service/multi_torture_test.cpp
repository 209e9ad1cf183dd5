// SPDX-License-Identifier: BSL-1.0

#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"
#include "service/torture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

constexpr std::size_t key_count = 6;

/// What is locked together is visited together.
struct table {
  std::array<guarded, key_count> data{};

  void visit(const std::vector<std::size_t>& which, const multi_lease& leases) {
    for (const auto k : which) data[k].enter(leases[name(k)].fencing_token());
    for (const auto k : which) data[k].leave();
  }
  int wrong() const {
    int all = 0;
    for (const auto& each : data) all += each.wrong;
    return all;
  }
  static std::string name(std::size_t k) { return "k" + std::to_string(k); }
};

std::vector<std::size_t> some(std::mt19937& random) {
  std::vector<std::size_t> all{0, 1, 2, 3, 4, 5};
  std::shuffle(all.begin(), all.end(), random);
  all.resize(1 + random() % key_count);
  return all;
}

std::vector<std::string> names(const std::vector<std::size_t>& which) {
  std::vector<std::string> keys;
  for (const auto k : which) keys.push_back(table::name(k));
  return keys;
}

}  // namespace

TEST_CASE_METHOD(engine_fixture, "multi: with faults all over, all or nothing and nothing stays behind", "[T76][T80]") {
  table table;
  auto settings = options();
  settings.observer = nullptr;
  std::vector<std::unique_ptr<lock_service>> all;
  for (int i = 0; i < 2; ++i) all.push_back(service(settings));
  std::optional<mischief> faults(std::in_place, store, 11U, 3U);
  std::atomic<int> granted{0};
  while_time_passes([&] {
    on_threads(8, [&](int t) {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 20; ++i) {
        const auto which = some(random);
        try {
          const auto held = all[static_cast<std::size_t>(t % 2)]->acquire_all(
              names(which), {.wait = 3s, .retry = {.pause = 1ms, .max_pause = 5ms}});
          table.visit(which, held);
          ++granted;
        } catch (const error&) {  // a fault, a timeout: no lease
        }
      }
    });
  });
  faults.reset();
  CHECK(granted > 0);
  CHECK(table.wrong() == 0);
  const auto end = clock.now() + 20s;  // before any session ends by itself
  CHECK(eventually([&] {
    if (clock.now() < end) clock.advance(5ms);
    // Not held_keys(): a session that was given up for its ghosts leaves rows that name it, and are free.
    for (std::size_t k = 0; k < key_count; ++k) {
      if (!is_free(table::name(k))) return false;
    }
    return true;
  }));
}

TEST_CASE_METHOD(engine_fixture, "multi: std::scoped_lock over several mutexes is free of deadlock", "[T76]") {
  std::vector<std::unique_ptr<lock_service>> all;
  for (int i = 0; i < 2; ++i) all.push_back(foreign());
  std::atomic<int> inside{0};
  std::atomic<int> wrong{0};
  while_time_passes([&] {
    on_threads(8, [&](int t) {
      auto& locks = *all[static_cast<std::size_t>(t % 2)];
      const lock_options options{.wait = 24h, .retry = {.pause = 1ms, .max_pause = 5ms}};
      distributed_mutex a(locks, "a", options);
      distributed_mutex b(locks, "b", options);
      distributed_mutex c(locks, "c", options);
      for (int i = 0; i < 15; ++i) {
        const auto work = [&] {
          if (++inside != 1) ++wrong;
          --inside;
        };
        if ((t + i) % 3 == 0) {
          const std::scoped_lock all_of(a, b, c);
          work();
        } else if ((t + i) % 3 == 1) {
          const std::scoped_lock all_of(c, b, a);
          work();
        } else {
          const std::scoped_lock all_of(b, a);
          work();
        }
      }
    });
  });
  CHECK(wrong == 0);
  CHECK(is_free("a"));
  CHECK(is_free("c"));
}
