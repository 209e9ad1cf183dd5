// SPDX-License-Identifier: BSL-1.0

// A forked child owns nothing of its parent's. Not for the thread sanitizer, which does not follow forks of a process
// with threads.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "dlock/distributed_mutex.hpp"
#include "service/async_fixture.hpp"
#include "support/forked_child.hpp"

using namespace dlock::test;
using namespace dlock;

TEST_CASE_METHOD(engine_fixture, "fork: the child's lease and service end without doing anything", "[T47]") {
  auto locks = service();
  std::optional<lease> held = locks->acquire("k");
  const auto releases = store->count(verb::release);
  CHECK(in_child([&] {
          held.reset();
          locks.reset();
          return store->count(verb::release) == releases && store->count(session_verb::close) == 0 ? 0 : 1;
        }) == 0);
  CHECK_NOTHROW(held->ensure_held());
  CHECK(fence_of("k") == held->fencing_token());
  CHECK(live_on(*held, 60s, 30s));
}

TEST_CASE_METHOD(engine_fixture, "fork: every call in the child says so", "[T47]") {
  auto locks = service();
  auto held = locks->acquire("k", {.ttl = 1h, .renewal = renewal::manual});
  auto several = locks->acquire_all({"l", "m"});
  std::atomic<bool> called{false};
  const std::stop_callback on_loss(held.lost_token(), [&] { called = true; });
  CHECK(in_child([&] {
          int wrong = 0;
          const auto must_refuse = [&](auto&& call) { wrong += thrown(call) == errc::forked ? 0 : 1; };
          must_refuse([&] { return locks->acquire("other"); });
          must_refuse([&] { return locks->acquire("k"); });
          must_refuse([&] { return locks->try_acquire("other"); });
          must_refuse([&] { locks->holder("k"); });
          must_refuse([&] { locks->held_keys(); });
          must_refuse([&] { locks->force_release("k"); });
          must_refuse([&] { locks->close(0ms); });
          must_refuse([&] { held.ensure_held(); });
          must_refuse([&] { held.renew(); });
          must_refuse([&] { held.release(); });
          wrong += held.remaining() == 0us ? 0 : 1;
          wrong += held.loss() == loss_reason::forked && several.loss() == loss_reason::forked ? 0 : 1;
          wrong += held.lost_token().stop_requested() && several.lost_token().stop_requested() ? 0 : 1;
          return wrong;
        }) == 0);
  CHECK_NOTHROW(held.ensure_held());
  CHECK(held.loss() == loss_reason::none);
  CHECK_FALSE(held.lost_token().stop_requested());
  CHECK_FALSE(several.lost_token().stop_requested());
}

TEST_CASE_METHOD(engine_fixture,
                 "fork: a child locks several mutexes together, though its parent's threads were about to") {
  const auto shared = std::make_shared<stores::memory_store>();
  lock_service locks(shared), rival(shared);
  distributed_mutex a(locks, "a", {.wait = 1min}), b(locks, "b", {.wait = 1min});
  /// One that failed at `busy`, and the next one.
  const auto round = [](lock_service& other, distributed_mutex& first, distributed_mutex& busy) {
    auto theirs = elsewhere([&] { return other.acquire(busy.key()); });
    first.lock();
    if (busy.try_lock()) busy.unlock();
    first.unlock();
    theirs.release();
    busy.lock();
  };
  gate in_round, forked;
  std::thread parent([&] {
    round(rival, a, b);
    const std::atomic<bool> never{false};
    in_round.open();
    static_cast<void>(forked.pass(never));
    b.unlock();
  });
  const std::atomic<bool> never{false};
  CHECK(in_round.pass(never));
  CHECK(in_child([&] {
          const auto own = std::make_shared<stores::memory_store>();
          lock_service fresh(own), other(own);
          distributed_mutex c(fresh, "a", {.wait = 1min}), d(fresh, "b", {.wait = 1min});
          for (int i = 0; i < 20; ++i) {
            round(other, c, d);
            const auto begun = std::chrono::steady_clock::now();
            const bool got = c.try_lock();
            const auto took = std::chrono::steady_clock::now() - begun;
            d.unlock();
            if (!got) return 1;
            c.unlock();
            if (took < 90ms) return 0;
          }
          return 2;
        }) == 0);
  forked.open();
  parent.join();
}

TEST_CASE_METHOD(engine_fixture, "fork: a new service in the child works, under another session", "[T04][T47]") {
  auto locks = service();
  auto held = locks->acquire("k");
  const auto mine = locks->holder("k")->session;
  CHECK(in_child([&] {
          // A store of its own: the memory of the parent's is the parent's.
          lock_service fresh("memory:");
          const auto theirs = fresh.acquire("k");
          const auto row = fresh.holder("k");
          if (theirs.reentered() || !row) return 1;
          if (row->session == mine) return 2;
          return row->pid == ::getpid() ? 0 : 3;
        }) == 0);
}

TEST_CASE_METHOD(engine_fixture, "fork: the child is another owner, also within its parent's scope", "[T47]") {
  const owner task;
  const auto outside = owner::current();
  const owner_scope here(task);
  CHECK(in_child([&] {
          if (owner::current() == task) return 1;
          {
            const owner_scope again(task);
            if (owner::current() == task) return 2;
          }
          lock_service fresh("memory:");
          const auto first = fresh.acquire("k");
          return fresh.acquire("k").reentered() ? 0 : 3;
        }) == 0);
  CHECK(in_child([&] {
          auto* const scope = new owner_scope(task);
          static_cast<void>(owner::current());
          delete scope;
          return owner::current() == outside ? 1 : 0;
        }) == 0);
}

TEST_CASE_METHOD(engine_fixture, "fork: a guard that stands on the stack ends in the child, and frees nothing",
                 "[T47]") {
  const auto locks = service();
  distributed_mutex door(*locks, "k");
  const std::lock_guard here(door);
  const auto fence = fence_of("k");
  CHECK(in_child([&] {
          door.unlock();  // as its guard does
          return store->count(verb::release) == 0 ? 0 : 1;
        }) == 0);
  CHECK(door.held().fencing_token() == fence);
  CHECK(fence_of("k") == fence);
}

TEST_CASE_METHOD(engine_fixture, "fork: the child may set a default service of its own, in place of its parent's",
                 "[T47]") {
  const auto locks = service();
  set_default_service(*locks);
  CHECK(in_child([&] {
          if (thrown([] { return default_service().acquire("k"); }) != errc::forked) return 1;
          lock_service fresh("memory:");
          set_default_service(fresh);
          if (!granted(default_service().acquire("k"))) return 2;
          lock_service another("memory:");
          try {
            set_default_service(another);
          } catch (const std::logic_error&) {
            return 0;
          }
          return 3;
        }) == 0);
  CHECK(&default_service() == locks.get());
}

TEST_CASE_METHOD(engine_fixture, "fork: a request is one owner in the child as well, and holds nothing there") {
  store->can().request_ids = true;
  const auto locks = service();
  const owner_scope here{owner{"request-1"}};
  const auto parents = owner::current();
  const auto held = locks->acquire("k", {.renewal = renewal::none});
  CHECK(in_child([&] {
          const auto childs = owner::current();
          if (childs == parents) return 1;
          return childs == owner{"request-1"} && owner{"request-2"} == owner{"request-2"} ? 0 : 2;
        }) == 0);
  CHECK(owner::current() == parents);
  CHECK_NOTHROW(held.ensure_held());
}

// Asynchronous calls and fork(): what waits belongs to the parent.

TEST_CASE_METHOD(async_fixture, "fork: the child can't call, and is told nothing of what its parent waits for") {
  const auto rival = foreign();
  auto theirs = rival->acquire("k", {.ttl = 1h});
  async_lock mine(*this, "k", {.wait = 1h});
  lease held = home->acquire("held");
  mine.acquire();
  settle();
  const auto child = [&] {
    const auto none = [](const std::exception_ptr&, const lease&) { ::_exit(1); };
    const auto refused = thrown([&] { home->async_acquire("x", {}, none); });
    const auto not_released = thrown([&] { async_release(std::move(held), [](const std::exception_ptr&) {}); });
    held = {};
    home.reset();
    return refused == errc::forked && not_released == errc::forked && !mine.over() ? 0 : 2;
  };
  CHECK(in_child(child) == 0);
  CHECK(fence_of("held") == held.fencing_token());
  theirs.release();
  clock.advance(1s);
  settle();
  CHECK(mine.over());
  CHECK(mine.held());
}

// ---- a service that its own code destroys ---------------------------------------------------------------------------

namespace {

/// What a child writes to standard error until it dies by std::terminate; empty if it ends otherwise.
template <class Body>
std::string last_words(Body body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::signal(SIGABRT, SIG_DFL);
    ::alarm(20);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char part[256];
  for (ssize_t size = 0; (size = ::read(ends[0], part, sizeof part)) > 0;) text.append(part, part + size);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : "";
}

}  // namespace

TEST_CASE("end: a service that its own handler, callback or observer destroys ends the program, and says why") {
  const auto said = "dlock: a lock_service is destroyed on a thread that runs a handler, an observer or a callback";
  const auto in_handler = last_words([] {
    auto locks = std::make_shared<lock_service>(std::make_shared<stores::memory_store>());
    auto& service = *locks;
    service.async_acquire("k", {}, [mine = std::move(locks)](const std::exception_ptr&, const lease&) {});
    ::pause();
  });
  CHECK(in_handler.find(said) != std::string::npos);
  const auto in_callback = last_words([] {
    auto locks = std::make_unique<lock_service>(std::make_shared<stores::memory_store>());
    const auto held = locks->acquire("k", {.ttl = 100ms, .renewal = renewal::none});
    const std::stop_callback on_loss(held.lost_token(), [&] { locks.reset(); });
    ::pause();
  });
  CHECK(in_callback.find(said) != std::string::npos);
  struct destroying final : observer {
    void on(const event&) override { of.reset(); }
    std::unique_ptr<lock_service> of{};
  };
  const auto in_observer = last_words([] {
    const auto watch = std::make_shared<destroying>();
    watch->of =
        std::make_unique<lock_service>(std::make_shared<stores::memory_store>(), service_options{.observer = watch});
    watch->of->acquire("k").release();
  });
  CHECK(in_observer.find(said) != std::string::npos);
}
