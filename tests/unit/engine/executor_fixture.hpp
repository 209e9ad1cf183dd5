// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/stores/memory.hpp"
#include "engine/drivers/thread_group.hpp"
#include "engine/statements/statement_executor.hpp"
#include "support/calls.hpp"
#include "support/clock_fixture.hpp"
#include "support/faulty_store.hpp"
#include "support/test.hpp"

namespace dlock::test {

using engine::priority;
using engine::statement_executor;
using sent_statement = engine::statement;

inline id128 id_of(std::size_t first, std::size_t second) {
  id128 id;
  id.bytes[0] = static_cast<unsigned char>(first);
  id.bytes[1] = static_cast<unsigned char>(second);
  return id;
}

/// An executor with its threads, as a service has them: some that serve, one that watches its limits, one for each
/// attempt to connect.
class run_executor final : public engine::executor_threads {
 public:
  /// `starts`: it has its first thread from the beginning.
  /// `time`: another view of the same clock, for the executor.
  run_executor(std::shared_ptr<store> store, stores::virtual_clock& clock, std::size_t connections, bool starts = true,
               time_source* time = nullptr)
      : timer_(clock),
        group_(std::make_shared<engine::thread_group>(clock)),
        executor_(std::move(store), time != nullptr ? *time : clock, connections, *this) {
    engine::thread_group::start(group_, [this] { timer_.run([this](instant now) { return executor_.tick(now); }); });
    if (starts) executor_.start();
    REQUIRE(clock.at_rest());  // none of them takes what comes just because it has not gone to sleep yet
  }
  ~run_executor() { end(); }
  run_executor(const run_executor&) = delete;
  run_executor& operator=(const run_executor&) = delete;

  /// Stops it, and waits for its threads.
  void end() {
    executor_.stop();
    timer_.stop();
    group_->wait(20s);
  }
  statement_executor& operator*() noexcept { return executor_; }
  statement_executor* operator->() noexcept { return &executor_; }

  /// There is no thread to be had.
  void no_threads(bool connecting, bool serving) { no_connecting_ = connecting, no_serving_ = serving; }
  /// Called with the server of each new connection, before it is used.
  void on_connected(std::function<void(const std::string&)> hook) {
    const std::lock_guard lock(mutex_);
    connected_ = std::move(hook);
  }
  /// The servers that connections lead to, in the order in which those were made.
  std::vector<std::string> greeted() const {
    const std::lock_guard lock(mutex_);
    return greeted_;
  }
  /// When it wanted to be ticked.
  std::vector<instant> watched() const {
    const std::lock_guard lock(mutex_);
    return watched_;
  }
  std::size_t workers() const noexcept { return workers_; }
  std::size_t attempts() const noexcept { return attempts_; }

 private:
  bool connect(std::size_t which, fault& why) noexcept override {
    ++attempts_;
    if (no_connecting_) {
      why = engine::passing_fault("no thread", true);
      return false;
    }
    engine::thread_group::start(group_, [this, which] { executor_.connect(which); });
    return true;
  }
  bool serve() noexcept override {
    if (no_serving_) return false;
    ++workers_;
    engine::thread_group::start(group_, [this] { executor_.serve(); });
    return true;
  }
  void tick_by(instant when) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      watched_.push_back(when);
    }
    timer_.due_by(when);
  }
  void connected(const connection_identity& to) noexcept override {
    std::function<void(const std::string&)> hook;
    {
      const std::lock_guard lock(mutex_);
      greeted_.push_back(to.server);
      hook = connected_;
    }
    if (hook) hook(to.server);
  }

  engine::work_loop<1> timer_;
  const std::shared_ptr<engine::thread_group> group_;
  std::atomic<bool> no_connecting_{false};
  std::atomic<bool> no_serving_{false};
  std::atomic<std::size_t> workers_{0};
  std::atomic<std::size_t> attempts_{0};
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::function<void(const std::string&)> connected_{};
  std::vector<std::string> greeted_{};
  std::vector<instant> watched_{};
  statement_executor executor_;
};

/// Told of answers: counts them.
class answer_count final : public engine::statement_owner {
 public:
  void answered(sent_statement&) noexcept override { ++count_; }
  /// Whether so many have come; waits for them.
  bool reached(std::size_t count) const {
    return eventually([&] { return count_ >= count; });
  }
  std::size_t count() const noexcept { return count_; }

 private:
  std::atomic<std::size_t> count_{0};
};

/// A caller on a thread of its own, who waits for the answers to statements.
class waiting_caller {
 public:
  /// `nobodys`: sent with them, and not waited for.
  waiting_caller(statement_executor& at, std::initializer_list<sent_statement*> all,
                 std::initializer_list<sent_statement*> nobodys = {})
      : all_(all), nobodys_(nobodys) {
    thread_ = std::thread([this, &at] {
      at.run(all_, nobodys_);
      answered_ = true;
    });
  }
  waiting_caller(statement_executor& at, sent_statement& own) : waiting_caller(at, {&own}) {}
  ~waiting_caller() { thread_.join(); }
  waiting_caller(const waiting_caller&) = delete;
  waiting_caller& operator=(const waiting_caller&) = delete;

  std::thread::id thread() const noexcept { return thread_.get_id(); }
  bool is_answered() const noexcept { return answered_; }
  /// Waits for it.
  bool answered() const {
    return eventually([this] { return answered_.load(); });
  }

 private:
  const std::vector<sent_statement*> all_;
  const std::vector<sent_statement*> nobodys_;
  std::atomic<bool> answered_{false};
  std::thread thread_;
};

struct executor_fixture : clock_fixture {
  std::shared_ptr<faulty_store> store =
      std::make_shared<faulty_store>(std::make_shared<stores::memory_store>(clock), &clock);
  answer_count notified;
  std::deque<std::string> keys{};

  /// A statement in that queue, about that key. It may wait for 2 s, and take 2 s.
  sent_statement ask(verb action, const std::string& key, priority in = priority::takes) {
    sent_statement asked;
    asked.priority = in;
    asked.ask.action = action;
    asked.ask.resource = keys.emplace_back(key);
    asked.ask.session = id_of(1, 1);
    asked.ask.kind = lease_kind::expiring;
    asked.ask.ttl = 10s;
    asked.queue_deadline = clock.now() + 2s;
    asked.timeout = 2s;
    asked.owner = &notified;
    return asked;
  }
  sent_statement poll(const std::string& key = "k") { return ask(verb::poll, key); }
  sent_statement release(const std::string& key = "k") { return ask(verb::release, key, priority::frees); }
  sent_statement renewal(std::chrono::milliseconds until = 2s) {
    sent_statement asked;
    asked.what = sent_statement::kind::session;
    asked.priority = priority::renewals;
    asked.session_action = session_verb::renew;
    asked.record = {.id = id_of(7, 7), .ttl = 30s};
    asked.queue_deadline = clock.now() + until;
    asked.timeout = until;
    asked.counts = false;
    asked.owner = &notified;
    return asked;
  }
  /// The same, which may wait so long for a connection.
  static sent_statement within(sent_statement patient, microseconds limit) {
    patient.queue_deadline += limit - 2s;
    return patient;
  }

  std::shared_ptr<gate> hold_connects() {
    auto at = std::make_shared<gate>();
    store->hold_connects(at);
    return at;
  }
  /// The connection for renewals is there, beside so many others.
  void open_for_renewals(run_executor& at, std::size_t others = 0) {
    at->prepare_renewals();
    REQUIRE(eventually([&] { return at->open() == others + 1; }));
    REQUIRE(clock.at_rest());
  }
  /// So many idle connections. Nothing else runs meanwhile.
  void fill(run_executor& at, std::size_t count) {
    const auto stop = store->hold(verb::cancel, {.times = static_cast<unsigned>(count)});
    std::deque<sent_statement> all;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(ask(verb::cancel, "fill " + std::to_string(i), priority::frees));
      all.back().ask.session = id_of(2, i);  // none of them shares a statement
    }
    {
      std::deque<waiting_caller> callers;
      for (auto& each : all) callers.emplace_back(*at, each);
      REQUIRE(stop->reached(static_cast<int>(count)));
      stop->open();
    }
    REQUIRE(clock.at_rest());
    REQUIRE(at->open() == count);
  }
};

/// What an executor is asked to call with a connection: tells which one, and may be stopped on it.
struct connection_call {
  std::shared_ptr<gate> stop = nullptr;
  std::function<void(connection&)> use = nullptr;
  std::string server{};
  std::thread::id thread{};
  std::atomic<std::uint64_t> number{0};  // the last of these to be set
  std::mutex mutex{};

  explicit connection_call(std::shared_ptr<gate> at = nullptr) : stop(std::move(at)) {}
  sent_statement in(const executor_fixture& fixture, priority which = priority::takes) {
    sent_statement asked;
    asked.what = sent_statement::kind::call;
    asked.priority = which;
    asked.call = [](void* about, connection& connection) {
      auto& mine = *static_cast<connection_call*>(about);
      {
        const std::lock_guard lock(mine.mutex);  // several statements may share it
        mine.server = connection.identity().server;
        mine.thread = std::this_thread::get_id();
        mine.number = connection.identity().id;
      }
      if (mine.use) mine.use(connection);
      if (mine.stop != nullptr) mine.stop->pass();
      return reply{.result = outcome::yes};
    };
    asked.about = this;
    asked.queue_deadline = fixture.clock.now() + 2s;
    asked.timeout = 2s;
    return asked;
  }
};

/// The fixture with an executor of so many connections.
template <std::size_t Size>
struct executor_of : executor_fixture {
  run_executor at{store, clock, Size};
};

/// Keeps a connection in use, by a caller on a thread of its own, until end() or its own end. No limit interrupts it.
struct held_connection {
  held_connection(const executor_fixture& fixture, run_executor& at, priority in = priority::takes)
      : asked(without_limit(call.in(fixture, in))), caller(*at, asked) {
    if (!stop->reached()) {
      stop->open();
      FAIL("no connection was to be had");
    }
  }
  ~held_connection() { stop->open(); }
  held_connection(const held_connection&) = delete;
  held_connection& operator=(const held_connection&) = delete;

  void end() {
    stop->open();
    REQUIRE(caller.answered());
  }

  const std::shared_ptr<gate> stop = std::make_shared<gate>();
  connection_call call{stop};
  sent_statement asked;
  waiting_caller caller;

 private:
  static sent_statement without_limit(sent_statement held) {
    held = executor_fixture::within(std::move(held), 1h);
    held.timeout = 1h;
    return held;
  }
};

/// The order in which things happen. Thread safety: any thread.
class happenings {
 public:
  void add(const std::string& name) {
    const std::lock_guard lock(mutex_);
    all_.push_back(name);
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

using order = std::vector<std::string>;

}  // namespace dlock::test
