// SPDX-License-Identifier: BSL-1.0
// Verification where a transaction locks the whole file.
#include <catch2/matchers/catch_matchers.hpp>

#include "odb/verify/verify_scene.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scratch_folder.hpp"

namespace dlock::test {

TEST_CASE_METHOD(verify_scene, "sqlite verify: a deferred transaction that has read is refused once anybody wrote") {
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t(bank->begin());
  static_cast<void>(load(*bank, 1));
  elsewhere([&] {
    odb::transaction theirs(begin(*bank));
    write(*bank, 3, 50);
    theirs.commit();
  });
  const auto e = caught<store_error>([&] { mine.verify(t); });
  CHECK_THAT(e.what(), ContainsSubstring("dlock::begin_write()") && ContainsSubstring("rolled back"));
  CHECK(e.transient());
  must_be_over(*this, t, 1);
  CHECK_NOTHROW(mine.ensure_held());
}

TEST_CASE_METHOD(verify_scene, "sqlite verify: locks in a file of their own survive any transaction", "[T19]") {
  lock_service apart(fixture->locks_apart());
  CHECK(at_some_pace([&](int slower) {
    auto mine = apart.acquire("wallet:1", {.ttl = slower * 1s, .wait = 60s});
    odb::transaction t(begin(*bank));
    write(*bank, 1, 90);
    const auto until = boot_clock::now() + slower * 2s;  // twice the ttl
    while (mine.remaining() > 0us && boot_clock::now() < until) std::this_thread::sleep_for(20ms);
    t.commit();
    mine.ensure_held();
    mine.release();
    return true;
  }));
}

TEST_CASE_METHOD(verify_scene, "sqlite verify: a transaction on another file than the locks' is refused in words") {
  lock_service apart(fixture->locks_apart());
  auto mine = apart.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t(begin(*bank));
  write(*bank, 2, 666);
  CHECK_THROWS_WITH(mine.verify(t), ContainsSubstring("is not the one that key 'wallet:1' lives in"));
  must_be_over(*this, t, 2);
  CHECK_NOTHROW(mine.ensure_held());
}

TEST_CASE("sqlite verify: a transaction on a file without any lock table is refused in words") {
  const scratch_folder folder;
  lock_service locks("sqlite:" + (folder / "locks.db"));
  const auto bank = open_bank("sqlite:" + (folder / "app.db"));
  make_bank(*bank, 1, 100);
  auto mine = locks.acquire("wallet:1", {.ttl = 5s});
  odb::transaction t(begin(*bank));
  CHECK_THROWS_WITH(mine.verify(t), ContainsSubstring("is not the one that key 'wallet:1' lives in"));
  CHECK(t.finalized());
}

TEST_CASE_METHOD(verify_scene, "sqlite verify: acquiring inside a transaction that writes fails at once, in words") {
  odb::transaction t(begin(*bank));
  write(*bank, 1, 90);
  const auto refused = [&] {
    CHECK_THROWS_AS(locks.acquire("wallet:1", {.ttl = 5s}), store_error);
    CHECK_THROWS_AS(locks.try_acquire("wallet:1", {.ttl = 5s}), store_error);
  };
  CHECK(undisturbed(1s, refused) < 1s);
  t.commit();  // unharmed
  CHECK(seen(1) == 90);
}

}  // namespace dlock::test
