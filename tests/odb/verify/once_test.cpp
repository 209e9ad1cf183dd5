// SPDX-License-Identifier: BSL-1.0

// Work that is done once inside transactions of the application's, on every store that can.

#include <odb/database.hxx>  // first: what dlock::odb brings makes ODB's headers compile in any order
#include <odb/exception.hxx>
#include <odb/transaction.hxx>

#include <barrier>

#include "dlock/odb/once.hpp"
#include "odb/verify/verify_scene.hpp"

namespace dlock::test {

namespace {

struct once_scene : verify_scene {
  once_scene() { locks.forget_done("payment:7"); }

  void pay() { write(*bank, 1, load(*bank, 1).balance - 10); }
};

}  // namespace

TEST_CASE_METHOD(once_scene, "once in a transaction: work and mark are committed together, or neither is") {
  {
    odb::transaction t(begin(*bank));
    CHECK(locks.once(t, "payment:7", [&] { pay(); }));
    t.rollback();
  }
  CHECK(seen(1) == 100);
  CHECK_FALSE(locks.done("payment:7"));
  {
    odb::transaction t(begin(*bank));
    CHECK(locks.once(t, "payment:7", [&] { pay(); }));
    CHECK_FALSE(locks.once(t, "payment:7", [&] { pay(); }));
    t.commit();
  }
  CHECK(seen(1) == 90);
  const auto mark = others.done("payment:7");
  REQUIRE(mark);
  CHECK(mark->fence == 0);
  CHECK_FALSE(mark->remaining);
  {
    odb::transaction t(begin(*bank));
    CHECK_FALSE(others.once(t, "payment:7", [&] { pay(); }));
    t.commit();
  }
  CHECK(seen(1) == 90);
}

TEST_CASE_METHOD(once_scene, "once in a transaction: a function that throws has rolled it back") {
  odb::transaction t(begin(*bank));
  const auto fails = [&] {
    pay();
    throw std::runtime_error("no money");
  };
  CHECK_THROWS_AS(locks.once(t, "payment:7", fails), std::runtime_error);
  must_be_over(*this, t, 1);
  CHECK_FALSE(locks.done("payment:7"));
}

TEST_CASE_METHOD(once_scene, "once in a transaction: of many at once one does the work") {
  constexpr int rounds = 5, callers = 6;
  std::atomic<int> did{0}, again{0};
  for (int round = 0; round != rounds; ++round) {
    const auto key = "payment:race:" + std::to_string(round);
    locks.forget_done(key);
    std::barrier ready(callers);
    on_threads(callers, [&](int i) {
      auto& service = i % 2 == 0 ? locks : others;
      ready.arrive_and_wait();
      for (;;) {
        try {
          odb::transaction t(begin(*bank));
          const bool ran = service.once(t, key, [&] { pay(); });
          t.commit();
          did += ran ? 1 : 0;
          return;
        } catch (const store_error& why) {
          if (!why.transient()) throw;
        } catch (const odb::recoverable&) {
        }
        ++again;
      }
    });
  }
  CHECK(did == rounds);
  CHECK(seen(1) == balance - 10 * rounds);
  if (fixture->locks_rows()) CHECK(again == 0);  // who waits for the first one is not a part of a deadlock
}

TEST_CASE_METHOD(once_scene, "once in a transaction: one that has ended is an error, whether it is done or not") {
  const bool done = GENERATE(true, false);
  if (done) CHECK(locks.once("payment:7", [] {}));
  odb::transaction t(begin(*bank));
  t.connection().execute("COMMIT");
  CHECK_THROWS_AS(locks.once(t, "payment:7", [&] { pay(); }), std::logic_error);
  CHECK(seen(1) == 100);
}

TEST_CASE_METHOD(once_scene, "once in a transaction: a function in which it ends has not done the work") {
  odb::transaction t(begin(*bank));
  const auto ignores = [&] {
    pay();
    t.connection().execute("ROLLBACK");  // as a server does after a deadlock
  };
  CHECK_THROWS_AS(locks.once(t, "payment:7", ignores), std::logic_error);
  must_be_over(*this, t, 1);
  CHECK_FALSE(locks.done("payment:7"));
}

TEST_CASE_METHOD(once_scene, "once: the lock's form is refused inside a transaction") {
  odb::transaction t(begin(*bank));
  CHECK_THROWS_AS(locks.once("payment:7", [&] { pay(); }), std::logic_error);
  t.rollback();
  const auto held = locks.acquire("payment:7");
  odb::transaction other(begin(*bank));
  held.verify(other);
  CHECK_THROWS_AS(locks.mark_done(held), std::logic_error);
  other.commit();
  locks.mark_done(held);
  CHECK(locks.done("payment:7"));
}

TEST_CASE_METHOD(once_scene, "once in a transaction: for a given time") {
  const auto pays = [&] {
    odb::transaction t(begin(*bank));
    const bool ran = locks.once(t, "payment:7", {.valid = std::chrono::seconds{1}}, [&] { pay(); });
    t.commit();
    return ran;
  };
  CHECK(pays());
  CHECK_FALSE(pays());
  CHECK(eventually([&] { return !locks.done("payment:7"); }));
  CHECK(pays());
  CHECK(seen(1) == 80);
}

TEST_CASE_METHOD(once_scene, "once in a transaction: the other form sees its mark, and it sees that of the other") {
  CHECK(locks.once("payment:7", [] {}));
  {
    odb::transaction t(begin(*bank));
    CHECK_FALSE(locks.once(t, "payment:7", [&] { pay(); }));
    t.commit();
  }
  locks.forget_done("payment:7");
  {
    odb::transaction t(begin(*bank));
    CHECK(locks.once(t, "payment:7", [&] { pay(); }));
    t.commit();
  }
  CHECK_FALSE(others.once("payment:7", [] {}));
}

TEST_CASE_METHOD(once_scene, "once in a transaction: there is no lock, so options of one are refused") {
  odb::transaction t(begin(*bank));
  CHECK_THROWS_AS(locks.once(t, "payment:7", {.lock = {.wait = std::chrono::seconds{1}}}, [] {}),
                  std::invalid_argument);
  CHECK(t.finalized());
}

}  // namespace dlock::test
