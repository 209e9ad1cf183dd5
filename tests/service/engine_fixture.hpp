// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "api/access.hpp"
#include "base/lock_settings.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/owner.hpp"
#include "dlock/stores/memory.hpp"
#include "engine/core/blocking_calls.hpp"
#include "engine/core/transaction_calls.hpp"
#include "support/calls.hpp"
#include "support/clock_fixture.hpp"
#include "support/faulty_store.hpp"
#include "support/recording_observer.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// What is behind a service: its core, with the calls of its faces, and what they don't show.
class inside {
 public:
  inside() = default;
  explicit inside(std::shared_ptr<engine::service_core> core) : core_(std::move(core)) {}

  lease acquire(const lock_key& key, const detail::lock_settings& terms, bool once) const {
    auto got = engine::acquire(*core_, key, terms, {.once = once});
    if (got.held != nullptr) return detail::access::make(std::move(got.held), got.entered_again, got.first);
    if (!once) throw lock_timeout(got.why_busy);
    return {};
  }
  multi_lease acquire(const lock_keys& keys, const detail::lock_settings& terms, bool once) const {
    std::vector<lease> leases;
    leases.reserve(keys.size());
    auto got = engine::acquire_all(*core_, keys, terms, {.once = once});
    if (got.held.empty() && !once) throw lock_timeout(got.why_busy);
    for (auto& each : got.held) {
      leases.push_back(detail::access::make(std::move(each.held), each.entered_again, each.first));
    }
    return leases.empty() ? multi_lease() : detail::access::make(keys, std::move(leases));
  }
  std::vector<std::string> close(std::chrono::milliseconds limit) const { return core_->close(limit); }
  void finish() const { core_->finish(); }
  /// Threads that stand in the queue behind others of this service.
  std::size_t waiting() const { return core_->all().queue.queued(); }
  std::uint64_t statements() const { return core_->all().statements.statements(); }
  const std::shared_ptr<engine::service_core>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<engine::service_core> core_;
};

/// Runs on a thread of its own, that is: for another owner, and waits for its end. What `body` returns or throws comes
/// back.
template <class F>
auto elsewhere(F body) {
  return std::async(std::launch::async, std::move(body)).get();
}

/// A call on a thread of its own, that is: for another owner. What it throws beside a std::system_error ends the
/// program.
class concurrent_call {
 public:
  explicit concurrent_call(std::function<void()> call)
      : end_(std::async(std::launch::async,
                        [call = std::move(call)]() noexcept { return thrown([&] { return call(), 0; }); })) {}

  /// Whether it has ended, or does so in time.
  [[nodiscard]] bool over(std::chrono::milliseconds limit = 0ms) const {
    return end_.wait_for(limit) == std::future_status::ready;
  }
  /// Waits for its end: the code of what it threw, or none.
  [[nodiscard]] std::error_code end() const { return end_.get(); }

 private:
  std::shared_future<std::error_code> end_;
};

/// A memory store whose time stands still until the test moves it, with scripted faults, and services on it. Each
/// service is to the locks what a process is.
struct engine_fixture : clock_fixture {
  std::shared_ptr<stores::memory_store> rows = std::make_shared<stores::memory_store>(clock);
  std::shared_ptr<faulty_store> store = std::make_shared<faulty_store>(rows, &clock);
  std::shared_ptr<recording_observer> seen = std::make_shared<recording_observer>();

  engine_fixture() = default;
  engine_fixture(const engine_fixture&) = delete;
  engine_fixture& operator=(const engine_fixture&) = delete;
  /// What ends in the background is waited for by nobody, and its threads use the clock.
  ~engine_fixture() { static_cast<void>(clock.at_rest({}, 1s)); }

  /// Options of a service under test; change what the test is about.
  service_options options() { return {.close_limit = 0ms, .cleanup_interval = 0ms, .observer = seen, .time = &clock}; }
  /// With what the test is about: `change` sets it.
  template <std::invocable<service_options&> F>
  service_options options(F change) {
    auto settings = options();
    change(settings);
    return settings;
  }
  std::unique_ptr<lock_service> service(service_options options) {
    return std::make_unique<lock_service>(store, std::move(options));
  }
  std::unique_ptr<lock_service> service() { return service(options()); }
  template <std::invocable<service_options&> F>
  std::unique_ptr<lock_service> service(F change) {
    return service(options(std::move(change)));
  }
  /// What is behind a service: to see its insides.
  inside core(service_options options) { return inside(engine::service_core::start(store, std::move(options))); }
  inside core() { return core(options()); }

  /// Straight on the rows: no faults, no counting, no events.
  std::unique_ptr<lock_service> foreign() {
    return std::make_unique<lock_service>(rows,
                                          service_options{.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  }

  /// Another program's lease on the key, from now on. Its service does nothing else.
  lease held_elsewhere(const lock_key& key, const lock_options& terms = {}) {
    if (rival_ == nullptr) rival_ = foreign();
    return rival_->acquire(key, terms);
  }
  /// A statement straight to the rows.
  reply answer_to(const request& asked) {
    fault why;
    const auto connection = rows->connect(1s, why);
    reply answer;
    rows->execute(*connection, {&asked, 1}, {&answer, 1});
    return answer;
  }
  /// Somebody edits the table: whoever holds the key does so no more.
  void steal(const lock_key& key) {
    const auto row = other_->holder(key);
    const auto stolen =
        answer_to({.action = verb::release, .resource = key.view(), .session = row->session, .fence = row->fence});
    REQUIRE(stolen.result == outcome::yes);
  }

  /// Whether another program gets the key now. It does not keep it.
  bool is_free(const lock_key& key) { return granted(other_->try_acquire(key, {.ttl = 1s})); }

  /// Whether another program gets the key `time` from now, and not before. The services have nothing else to do
  /// meanwhile.
  bool is_free_after(const lock_key& key, std::chrono::microseconds time,
                     const stores::virtual_clock::known& but = {}) {
    const auto free_at_rest = [&] { return clock.at_rest(but) && is_free(key); };
    if (free_at_rest()) return false;
    clock.advance(time - 1us);
    if (free_at_rest()) return false;
    clock.advance(1us);
    return free_at_rest();
  }

  template <class Held>
  bool is_lost(const Held& held) {
    return eventually([&] { return held.lost_token().stop_requested(); });
  }

  /// Runs on a thread of its own while time passes: 5 ms for each millisecond or so.
  template <class F>
  auto while_time_passes(F body) {
    std::atomic<bool> over{false};
    std::thread ticking([&] {
      while (!over) {
        clock.advance(5ms);
        // For those who have been woken: time does not pass while the machine does not let them run, or not as fast.
        static_cast<void>(clock.at_rest({}, 20ms));
        std::this_thread::sleep_for(1ms);
      }
    });
    const struct joined {
      std::atomic<bool>& over;
      std::thread& ticking;
      ~joined() {
        over = true;
        ticking.join();
      }
    } end{over, ticking};
    return elsewhere(std::move(body));
  }

  template <class F>
  std::error_code thrown_as_time_passes(F call) {
    return while_time_passes([&] { return thrown(call); });
  }

  /// Lets a lease go on this thread's owner while time passes: for releases that pause between tries.
  void let_go(lease held) {
    while_time_passes([&] { const auto mine = std::move(held); });
  }

  /// The holder's fence; 0: nobody.
  std::uint64_t fence_of(const lock_key& key) {
    const auto found = other_->holder(key);
    return found ? found->fence : 0;
  }

  /// Lets time pass in steps short enough for a healthy service to renew what `held` hangs on; waits for that.
  /// False: it was not renewed.
  bool live_on(const lease& held, std::chrono::milliseconds time, std::chrono::milliseconds ttl) {
    const auto step = ttl / 3 + 1ms;
    for (auto passed = 0ms; passed < time; passed += step) {
      clock.advance(step);
      if (!eventually([&] { return held.remaining() > ttl - ttl / 20 - step; })) return false;
    }
    return true;
  }

  /// Lets time pass, as a session of a ttl of 1 s renews, until the only session is closed. False: it goes on.
  bool idle_session_ends() {
    const auto closed = [&] { return store->count(session_verb::close) == 1; };
    for (int i = 0; i < 250 && !closed(); ++i) {
      const auto before = store->count(session_verb::renew);
      clock.advance(334ms);
      if (!eventually([&] { return closed() || store->count(session_verb::renew) > before; })) return false;
    }
    return closed();
  }

 private:
  std::unique_ptr<lock_service> other_ = foreign();
  std::unique_ptr<lock_service> rival_{};
};

/// The fixture with what is behind a service.
struct inside_fixture : engine_fixture {
  inside home = core();

  ~inside_fixture() {
    home.close(0ms);
    home.finish();
  }

  /// Whether so many threads come to stand in its queue.
  bool queued(std::size_t count = 1) {
    return eventually([&] { return home.waiting() == count; });
  }
};

/// The fixture with a service, which is made before the test begins and ends before the fixture does.
template <class Fixture>
struct with_service : Fixture {
  std::unique_ptr<lock_service> locks = this->service();
};
using one_service = with_service<engine_fixture>;

/// A store that locks rows: as memory knows them, by the bytes of their keys.
struct row_fixture : engine_fixture {
  row_fixture() { store->lock_rows(); }

  static std::shared_ptr<const row_table> table_named(const std::string& name, row_renewal renewal,
                                                      const std::string& label = {}) {
    return std::make_shared<const row_table>(row_table{.table = "`" + name + "`",
                                                       .label = label.empty() ? name : label,
                                                       .id = {"`id`"},
                                                       .owner = "`lock_owner`",
                                                       .expires_at = "`lock_expire_time`",
                                                       .fence = "`fence`",
                                                       .renewal = renewal});
  }

  /// Makes the row, unless it is there: free, with fence 1.
  lock_key existing(const lock_key& key) {
    request ask{.action = verb::insert, .resource = key.view(), .session = id128::random()};
    const auto made = answer_to(ask);
    ask.action = verb::release;
    ask.fence = made.fence;
    if (made.result == outcome::yes) answer_to(ask);
    return key;
  }

  /// As engine_fixture's, for a row.
  void steal(const lock_key& key) { engine_fixture::steal(lock_key::from_stored(key.view())); }
  bool is_free(const lock_key& key) { return engine_fixture::is_free(lock_key::from_stored(key.view())); }
};

}  // namespace dlock::test
