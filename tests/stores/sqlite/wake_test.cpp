// SPDX-License-Identifier: BSL-1.0

/// Processes of one machine that wake each other by a file beside the database.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "contract/store/waiting_store.hpp"
#include "stores/sqlite/sqlite_machine.hpp"
#include "support/forked_child.hpp"
#include "support/raw_sqlite.hpp"
#include "support/stopped_process.hpp"

using namespace dlock;
using namespace dlock::test;
using stores::sqlite::wake_file;
using rung = wake_file::opened::rung;

namespace {

struct wake_fixture {
  sqlite_file_fixture fixture{};
  const std::string file = fixture.path + "-wake";
  actor holder{fixture};

  void write(const std::string& content) const { std::ofstream(file, std::ios::binary) << content; }
  std::string content() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

/// The wake file as a process sees it that waits, or releases.
struct view {
  explicit view(const std::string& database, bool create = true) : file(database) { opened = file.open(create, why); }
  int enter(wake_file::hash key) { return opened->enter(key, id128::random()); }
  wake_file file;
  std::shared_ptr<wake_file::opened> opened{};
  std::string why{};
};

/// What the store enters for a key of the default tables: programs of different builds share the file.
wake_file::hash hash_of(std::string_view key) {
  wake_file::hash hash = 0xcbf29ce484222325U;
  for (const char each : "dlock_" + std::string(1, '\0') + std::string(key))
    hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
  return hash;
}

}  // namespace

// ---- the file -------------------------------------------------------------------------------------------------------

TEST_CASE("wake file: who entered first is rung, one only, and who left is not") {
  const scratch_folder folder;
  const auto database = folder / "locks.db";
  CHECK(view(database, false).opened == nullptr);
  CHECK(view(database, false).why.empty());
  view first(database), second(database), holder(database, false);
  REQUIRE(holder.opened != nullptr);
  CHECK(holder.opened->ring(7) == rung::none);
  REQUIRE(first.opened->claim_slot());
  REQUIRE(second.opened->claim_slot());
  const bool second_first = GENERATE(false, true);
  auto &early = second_first ? second : first, &late = second_first ? first : second;
  const int at = early.enter(7), other = early.enter(8), behind = late.enter(7);
  CHECK(holder.opened->ring(9) == rung::none);
  CHECK(holder.opened->ring(7) == rung::other);
  CHECK(early.opened->was_rung(at));
  CHECK_FALSE(early.opened->was_rung(at));
  CHECK_FALSE(early.opened->was_rung(other));
  CHECK_FALSE(late.opened->was_rung(behind));
  CHECK(early.opened->leave(at));  // it was: whoever leaves passes that on
  CHECK(holder.opened->ring(7) == rung::other);
  CHECK(late.opened->was_rung(behind));
  CHECK(late.opened->ring(7) == rung::own);
  CHECK_FALSE(early.opened->leave(other));
  CHECK(late.opened->leave(behind));
  CHECK(holder.opened->ring(7) == rung::none);
  CHECK(holder.opened->ring(8) == rung::none);
}

TEST_CASE("wake file: who does not notice its ring keeps none from the next") {
  const scratch_folder folder;
  view stopped(folder / "locks.db"), next(folder / "locks.db"), last(folder / "locks.db"), holder(folder / "locks.db");
  std::vector<int> entries;
  for (auto* const each : {&stopped, &next, &last}) {
    REQUIRE(each->opened->claim_slot());
    entries.push_back(each->enter(7));
  }
  CHECK(holder.opened->ring(7) == rung::other);
  CHECK_FALSE(next.opened->was_rung(entries[1]));
  const bool all = GENERATE(false, true);
  all ? holder.opened->ring_all() : static_cast<void>(holder.opened->ring(7));
  CHECK(next.opened->was_rung(entries[1]));
  CHECK_FALSE(last.opened->was_rung(entries[2]));
  CHECK(stopped.opened->was_rung(entries[0]));  // it goes on
  CHECK(holder.opened->ring(7) == rung::other);
  CHECK_FALSE(next.opened->was_rung(entries[1]));
}

TEST_CASE("wake file: a process comes before those that entered later, and behind all as long as it has not entered") {
  const scratch_folder folder;
  const auto database = folder / "locks.db";
  std::optional<view> early(database);
  view &first = *early, second(database), passer(database);
  REQUIRE(first.opened->claim_slot());
  REQUIRE(second.opened->claim_slot());
  const auto others_first = [](const view& of, bool registered, bool rings = false) {
    return of.opened->first_other(7, registered, rings) != 0;
  };
  CHECK_FALSE(others_first(passer, false));
  const int at = first.enter(7), behind = second.enter(7);
  first.enter(8);
  CHECK(others_first(passer, false));
  CHECK(others_first(passer, true));  // it has not
  CHECK(others_first(second, true));
  CHECK_FALSE(others_first(first, true));
  CHECK(others_first(first, false));  // as a new caller of the process
  CHECK_FALSE(first.opened->was_rung(at));
  CHECK(others_first(second, true, true));
  CHECK(first.opened->was_rung(at));
  CHECK_FALSE(second.opened->was_rung(behind));
  SECTION("it leaves") { first.opened->leave(at); }
  SECTION("it dies") { early.reset(); }
  SECTION("the file is cut short") { REQUIRE(::truncate((folder / "locks.db-wake").c_str(), 100) == 0); }
  CHECK_FALSE(others_first(second, true));
}

TEST_CASE("wake file: a ring ends a sleep, also one that is about to begin") {
  const scratch_folder folder;
  view waiter(folder / "locks.db"), holder(folder / "locks.db");
  REQUIRE(waiter.opened->claim_slot());
  const int entry = waiter.enter(7);
  for (int i = 0; i != 100; ++i) {
    std::uint32_t word = 0;
    REQUIRE(waiter.opened->word(word));
    std::thread rings([&] { static_cast<void>(holder.opened->ring(7)); });
    while (!waiter.opened->was_rung(entry)) {
      CHECK(waiter.opened->sleep(word, 1h));
    }
    rings.join();
  }
}

TEST_CASE("wake file: the entries of a process that died are passed over, and its slot is taken") {
  const scratch_folder folder;
  view second(folder / "locks.db"), holder(folder / "locks.db");
  {
    view dead(folder / "locks.db");
    REQUIRE(dead.opened->claim_slot());
    REQUIRE(dead.enter(7) == 0);
    CHECK(holder.opened->ring(7) == rung::other);
  }
  CHECK(holder.opened->ring(7) == rung::none);
  view next(folder / "locks.db");
  REQUIRE(next.opened->claim_slot());
  REQUIRE(second.opened->claim_slot());
  CHECK(holder.opened->ring(7) == rung::none);
  const int entry = second.enter(7);
  CHECK(holder.opened->ring(7) == rung::other);
  CHECK(second.opened->was_rung(entry));
}

TEST_CASE("wake file: a dead process does not live on in its child") {
  const scratch_folder folder;
  view holder(folder / "locks.db");
  forked_child waiter([&](auto send) {
    view mine(folder / "locks.db");
    if (!mine.opened->claim_slot() || mine.enter(7) != 0) ::_exit(1);
    const auto orphan = ::fork();
    if (orphan != 0) send(static_cast<std::uint64_t>(orphan));
    for (;;) ::pause();
  });
  std::uint64_t orphan = 0;
  REQUIRE(waiter.read(orphan));
  CHECK(holder.opened->ring(7) == rung::other);
  waiter.kill();
  // The child closes its copy as soon as it runs.
  CHECK(eventually([&] { return holder.opened->ring(7) == rung::none; }));
  CHECK(::kill(static_cast<pid_t>(orphan), 0) == 0);
  ::kill(static_cast<pid_t>(orphan), SIGKILL);
}

TEST_CASE("wake file: slots and entries are bounded") {
  const scratch_folder folder;
  std::vector<std::unique_ptr<view>> all;
  for (std::size_t i = 0; i != wake_file::slots; ++i) {
    all.push_back(std::make_unique<view>(folder / "locks.db"));
    REQUIRE(all.back()->opened->claim_slot());
  }
  view more(folder / "locks.db");
  CHECK_FALSE(more.opened->claim_slot());
  for (std::size_t i = 0; i != wake_file::keys_of_slot; ++i) REQUIRE(all.back()->enter(100 + i) >= 0);
  CHECK(all.back()->enter(7) == -1);
  CHECK_FALSE(all.back()->opened->leave(5));
  CHECK(all.back()->enter(7) == 5);
  CHECK(more.opened->ring(7) == rung::other);
  all.front()->opened->leave_slot();
  CHECK(more.opened->claim_slot());
}

TEST_CASE("wake file: one that is cut short under a mapping gives errors and no signal") {
  const scratch_folder folder;
  view waiter(folder / "locks.db"), holder(folder / "locks.db");
  REQUIRE(waiter.opened->claim_slot());
  const int entry = waiter.enter(7);
  REQUIRE(::truncate((folder / "locks.db-wake").c_str(), 0) == 0);
  std::uint32_t word = 0;
  CHECK_FALSE(waiter.opened->word(word));
  CHECK_FALSE(waiter.opened->sleep(0, 1h));
  CHECK_FALSE(waiter.opened->stands(entry, 7));
  CHECK_FALSE(waiter.opened->leave(entry));
  CHECK(holder.opened->ring(7) == rung::none);
  holder.opened->ring_all();
  waiter.opened->wake_self();
}

TEST_CASE("wake file: garbage in slots rings nobody, and is taken for a dead process") {
  const scratch_folder folder;
  { const view made(folder / "locks.db"); }
  {
    std::fstream garbage(folder / "locks.db-wake", std::ios::binary | std::ios::in | std::ios::out);
    garbage.seekp(64);
    garbage << std::string(700'000, '\xff');
  }
  view waiter(folder / "locks.db"), holder(folder / "locks.db");
  CHECK(holder.opened->ring(~wake_file::hash{0}) == rung::none);
  holder.opened->ring_all();
  REQUIRE(waiter.opened->claim_slot());
  const int entry = waiter.enter(7);
  REQUIRE(entry == 0);
  CHECK(holder.opened->ring(7) == rung::other);
  CHECK(waiter.opened->was_rung(entry));
}

TEST_CASE("wake file: what a waiter holds can be read while it lives and waits") {
  const scratch_folder folder;
  const auto path = folder / "locks.db-wake";
  std::optional<view> waiter(folder / "locks.db");
  const view other(folder / "locks.db");
  REQUIRE(waiter->opened->claim_slot());
  const std::string name(255, 'n');
  std::vector<wake_file::opened::held_lock> held;
  for (std::uint64_t i = 1; i <= wake_file::held_of_key + 1; ++i) held.push_back({i, 10 * i, id128::random()});
  waiter->enter(6);
  const int entry = waiter->enter(7);
  const auto seen = [&] { return other.opened->nested_waiters(); };
  CHECK(seen().empty());
  waiter->opened->set_held(entry, name, std::span(held).first(2));
  REQUIRE(seen().size() == 1);
  const auto before = seen()[0];
  CHECK(before.slot == 0);
  CHECK(before.key == 7);
  CHECK(before.name == name);
  CHECK(before.held == std::vector{held[0], held[1]});
  waiter->opened->set_held(entry, name, held);
  REQUIRE(seen().size() == 1);
  CHECK(seen()[0].since > before.since);
  CHECK(seen()[0].held == std::vector(held.begin(), held.end() - 1));
  SECTION("it holds nothing") { waiter->opened->set_held(entry, name, {}); }
  SECTION("its wait ends, and another one begins") {
    waiter->opened->leave(entry);
    REQUIRE(waiter->enter(8) == entry);
  }
  SECTION("it dies") { waiter.reset(); }
  SECTION("the file is cut short") {
    REQUIRE(::truncate(path.c_str(), static_cast<off_t>(std::filesystem::file_size(path)) / 20) == 0);
  }
  SECTION("the file has garbage there") {
    std::fstream garbage(path, std::ios::binary | std::ios::in | std::ios::out);
    garbage.seekp(4096 + 256 * 64 * 40);
    garbage << std::string(10'000, '\xff');
  }
  CHECK(seen().empty());
}

TEST_CASE("wake file: it has the owner and the rights of the database, also if root makes it") {
  sqlite_file_fixture fixture;
  fixture.open();
  // Only root can give a file away; for other users the test shows the rights alone.
  if (::geteuid() == 0) REQUIRE(::chown(fixture.path.c_str(), 65534, 65534) == 0);
  REQUIRE(::chmod(fixture.path.c_str(), 0660) == 0);
  const view made(fixture.path);
  REQUIRE(made.opened != nullptr);
  struct ::stat database {
  }, wake{};
  REQUIRE(::stat(fixture.path.c_str(), &database) == 0);
  REQUIRE(::stat((fixture.path + "-wake").c_str(), &wake) == 0);
  CHECK(wake.st_uid == database.st_uid);
  CHECK(wake.st_gid == database.st_gid);
  CHECK((wake.st_mode & 0777) == 0660);
}

TEST_CASE("wake file: what another program makes there in the same moment keeps its rights") {
  const scratch_folder folder;
  const auto database = folder / "locks.db", path = database + "-wake", theirs = folder / "theirs";
  std::ofstream(database, std::ios::binary) << "x";
  std::ofstream(theirs, std::ios::binary) << "a file of another program";
  REQUIRE(::chmod(database.c_str(), 0666) == 0);
  REQUIRE(::chmod(theirs.c_str(), 0600) == 0);
  std::atomic<bool> over{false};
  std::thread links([&] {
    while (!over) {
      static_cast<void>(::link(theirs.c_str(), path.c_str()));
      ::unlink(path.c_str());
    }
  });
  struct ::stat found {};
  for (int i = 0; i != 20'000 && (found.st_mode & 0777) != 0666; ++i) {
    const view made(database);
    ::stat(theirs.c_str(), &found);
  }
  over = true;
  links.join();
  CHECK((found.st_mode & 0777) == 0600);
}

TEST_CASE("wake file: another version, and what is no such file, are left alone") {
  const scratch_folder folder;
  const auto path = folder / "locks.db-wake";
  { const view made(folder / "locks.db"); }
  std::string content;
  SECTION("another version") {
    std::ifstream in(path, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(in), {});
    REQUIRE(content.size() > 64);
    content[8] = 1;
  }
  SECTION("a text") { content = std::string(100, 'x'); }
  SECTION("a few bytes") { content = "dlock"; }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  const view waiter(folder / "locks.db");
  CHECK(waiter.opened == nullptr);
  CHECK_THAT(waiter.why, Catch::Matchers::ContainsSubstring("locks.db-wake'"));
  CHECK(view(folder / "locks.db", false).opened == nullptr);
  std::ifstream in(path, std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == content);
}

// ---- the store ------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(wake_fixture, "sqlite wake: a waiter makes the file, a release does not, and each release wakes") {
  unsigned woken = 7;
  auto fence = release_and_take(holder, holder.acquire("k"), woken);
  CHECK(woken == 0);
  CHECK_FALSE(std::filesystem::exists(file));
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  CHECK(std::filesystem::exists(file));
  for (int i = 0; i != 50; ++i) {
    fence = release_and_take(holder, fence, woken);
    CHECK(woken == 1);
  }
}

TEST_CASE_METHOD(wake_fixture, "sqlite wake: who was woken and leaves without the key wakes the next") {
  auto fence = holder.acquire("k");
  waiting_store first(fixture);
  REQUIRE(first.works());
  view second(fixture.path);
  REQUIRE(second.opened->claim_slot());
  const int entry = second.enter(hash_of("k"));
  const bool takes = GENERATE(false, true);
  const bool gives_back = takes && GENERATE(false, true);  // as an acquire of several keys of which another one is busy
  unsigned woken = 0;
  // The next ring is for the next one as long as this one was not noticed.
  auto before = first.listener.yes.load();
  const auto noticed = [&] { return first.listener.yes > before; };
  fence = release_and_take(holder, fence, woken);
  REQUIRE(woken == 1);
  REQUIRE(eventually(noticed));
  CHECK_FALSE(second.opened->was_rung(entry));
  if (takes) {  // by the store that was woken
    const auto on = connect(*first.store, 5s);
    before = first.listener.yes;
    const auto freed = holder.release("k", fence);
    REQUIRE(answer(freed) == outcome::yes);
    if (freed.waiters > 0) REQUIRE(eventually(noticed));  // it took long
    const request ask{.action = verb::take, .resource = "k", .session = id128::random(), .nonce = 1};
    const reply got = executed(*first.store, *on, ask);
    REQUIRE(answer(got) == outcome::yes);
    if (gives_back) {
      const request cancel{.action = verb::cancel, .resource = "k", .session = ask.session, .nonce = 1};
      REQUIRE(answer(executed(*first.store, *on, cancel)) == outcome::yes);
      CHECK_FALSE(second.opened->was_rung(entry));
    }
  }
  first.unwatch();
  CHECK(second.opened->was_rung(entry) == (!takes || gives_back));
}

TEST_CASE_METHOD(wake_fixture, "sqlite wake: a cancel wakes, and the end of a session the first waiter of each key") {
  view waiter(fixture.path), behind(fixture.path);
  REQUIRE(waiter.opened->claim_slot());
  REQUIRE(behind.opened->claim_slot());
  const int a = waiter.enter(hash_of("a")), b = waiter.enter(hash_of("b")), later = behind.enter(hash_of("a"));
  holder.acquire("a");
  CHECK(answer(holder.cancel("a", holder.nonce)) == outcome::yes);
  CHECK(waiter.opened->was_rung(a));
  CHECK_FALSE(waiter.opened->was_rung(b));
  holder.acquire("a");
  CHECK(holder.close() == outcome::yes);
  CHECK(waiter.opened->was_rung(a));
  CHECK(waiter.opened->was_rung(b));
  CHECK_FALSE(behind.opened->was_rung(later));
}

TEST_CASE_METHOD(wake_fixture, "sqlite wake: a release that need not look for waiters wakes nobody") {
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  // One that the machine holds up for some milliseconds looks all the same.
  CHECK(eventually([&] { return holder.release("k", holder.acquire("k")).waiters == 0; }));
  CHECK(release_and_wake(holder, holder.acquire("k")).waiters == 1);
}

TEST_CASE_METHOD(wake_fixture, "sqlite wake: tables of another prefix are other keys") {
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  fixture.parameters = "?prefix=other_";
  actor other(fixture);
  CHECK(release_and_wake(other, other.acquire("k")).waiters == 0);
  CHECK(release_and_wake(holder, holder.acquire("k")).waiters == 1);
}

TEST_CASE_METHOD(wake_fixture, "sqlite wake: where it can't work the store says so once, and waiters poll") {
  std::string part;
  SECTION("a folder has its name") {
    std::filesystem::create_directory(file);
    part = "locks.db-wake";
  }
  SECTION("a text is there") {
    write("a text that is longer than the head of a wake file, so that it could be taken for one by its length alone");
    part = "not made by this version";
  }
  SECTION("a few bytes") {
    write("dlock");
    part = "cut short";
  }
  const auto store = fixture.open();
  heard said;
  store->listen(said);
  counting_listener listener;
  for (int i = 0; i != 3; ++i) {
    store->watch("k", holder.id, listener);
    store->unwatch("k", {}, listener);
  }
  CHECK(said.reasons == 1);
  CHECK_THAT(said.text(), Catch::Matchers::ContainsSubstring(part));
  CHECK(listener.yes + listener.no == 0);
  store->unlisten(said);
  lock_service one(fixture.url(), {.close_limit = 0ms}), other(fixture.url(), {.close_limit = 0ms});
  check_polls(one, other);
}

TEST_CASE_METHOD(wake_fixture,
                 "sqlite wake: a waiter for more keys than its slot has room for polls, and the store says so") {
  const auto store = fixture.open();
  heard said;
  store->listen(said);
  counting_listener listener;
  const auto key = [](std::size_t number) { return "key " + std::to_string(number); };
  for (std::size_t i = 0; i != wake_file::keys_of_slot; ++i) store->watch(key(i), holder.id, listener);
  CHECK(said.reasons == 0);
  store->watch("k", holder.id, listener);
  CHECK(said.reasons == 1);
  CHECK_THAT(said.text(), Catch::Matchers::ContainsSubstring("as many keys"));
  CHECK(release_and_wake(holder, holder.acquire("k")).waiters == 0);
  store->unwatch("k", {}, listener);
  store->unwatch(key(0), {}, listener);
  store->watch("k", holder.id, listener);
  CHECK(eventually([&] { return release_and_wake(holder, holder.acquire("k")).waiters == 1; }));
  store->unwatch("k", {}, listener);
  for (std::size_t i = 1; i != wake_file::keys_of_slot; ++i) store->unwatch(key(i), {}, listener);
  store->unlisten(said);
}

TEST_CASE("sqlite wake: on a file system that machines share waiters poll") {
  sqlite_machine_fixture fixture;
  fixture.parameters = "?filesystem=any";
  const bool alone = GENERATE(false, true);
  fixture.machine->alone = alone;
  if (!alone) fixture.machine->files = 0x6969;
  const auto store = fixture.open();
  heard said;
  store->listen(said);
  counting_listener listener;
  store->watch("k", id128::random(), listener);
  CHECK(said.reasons == 1);
  CHECK_THAT(said.text(), Catch::Matchers::ContainsSubstring(alone ? "without its folder" : "NFS"));
  CHECK_FALSE(std::filesystem::exists(fixture.path + "-wake"));
  store->unwatch("k", {}, listener);
  store->unlisten(said);
}

TEST_CASE_METHOD(wake_fixture, "sqlite wake: a waiter whose file is cut short hears that it polls, and begins anew") {
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  REQUIRE(::truncate(file.c_str(), 0) == 0);
  waiter.check_begins_anew(holder);  // the thread finds out at its next poll
}

TEST_CASE_METHOD(wake_fixture, "sqlite wake: a file that was removed is made again, and found by releases") {
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  CHECK(release_and_wake(holder, holder.acquire("k")).waiters == 1);
  std::filesystem::remove(file);
  waiter.check_begins_anew(holder);
}

TEST_CASE_METHOD(wake_fixture, "sqlite wake: a store that polls makes no file, and its releases wake all the same") {
  fixture.parameters = "?wake=off";
  actor quiet(fixture);
  counting_listener listener;
  quiet.store->watch("k", quiet.id, listener);
  CHECK_FALSE(std::filesystem::exists(file));
  fixture.parameters.clear();
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  CHECK(quiet.release("k", quiet.acquire("k")).waiters == 1);
}

TEST_CASE_METHOD(wake_fixture,
                 "sqlite wake: where the file can't be used keys are taken in no order, and it is said once") {
  write("a text that is longer than the head of a wake file, so that it could be taken for one by its length alone");
  heard said;
  holder.store->listen(said);
  const auto fence = holder.acquire("k");
  REQUIRE(answer(holder.run({.action = verb::release, .resource = "k", .session = holder.id, .fence = fence})) ==
          outcome::yes);
  for (const auto action : {verb::poll, verb::take}) {
    const auto got = holder.run(
        {.action = action, .resource = "k", .session = holder.id, .nonce = ++holder.nonce, .in_order = true});
    CHECK(answer(got) == outcome::yes);
    CHECK_FALSE(got.holder.others_first);
  }
  CHECK(said.reasons == 1);
  holder.store->unlisten(said);
}

TEST_CASE_METHOD(
    wake_fixture,
    "sqlite wake: the database decides whether there is a cycle, and its wait that ends first is refused") {
  const auto fence = holder.acquire("b");
  std::optional<view> claims(fixture.path);
  view other_tables(fixture.path);
  REQUIRE(claims->opened->claim_slot());
  REQUIRE(other_tables.opened->claim_slot());
  const auto says = [](const view& by, wake_file::hash waits_for, const char* name, std::uint64_t of,
                       const id128& session, std::int64_t until = std::numeric_limits<std::int64_t>::max()) {
    const int entry = by.opened->enter(waits_for, session);
    by.opened->set_held(entry, name, std::vector{wake_file::opened::held_lock{hash_of("b"), of, session, until}});
  };
  lock_service locks(fixture.url(), {.close_limit = 0ms});
  bool cycle = false, claimed_before = true;
  SECTION("it has") {
    says(*claims, hash_of("a"), "a", fence, holder.id);
    says(other_tables, 7, "c", fence + 1, id128::random());
    cycle = true;
  }
  SECTION("a grant before") { says(*claims, hash_of("a"), "a", fence - 1, holder.id); }
  SECTION("another session") { says(*claims, hash_of("a"), "a", fence, id128::random()); }
  SECTION("another key than the name says") { says(*claims, hash_of("a"), "c", fence, holder.id); }
  SECTION("the process has died") {
    says(*claims, hash_of("a"), "a", fence, holder.id);
    claims.reset();
  }
  SECTION("the wait of the other one ends first") { says(*claims, hash_of("a"), "a", fence, holder.id, 1); }
  SECTION("it has, since the other one began to wait") {
    cycle = true;
    claimed_before = false;
  }
  auto wait = std::async(std::launch::async, [&] {
    const auto a = locks.acquire("a");
    const auto b = locks.acquire("b", {.wait = cycle ? 60s : 1s});
  });
  if (!claimed_before) {
    REQUIRE(eventually([&] { return claims->opened->nested_waiters().size() == 1; }));
    says(*claims, hash_of("a"), "a", fence, holder.id);
  }
  if (cycle) {
    CHECK_THROWS_AS(wait.get(), lock_deadlock);
  } else {
    CHECK_THROWS_AS(wait.get(), lock_timeout);
  }
}

TEST_CASE_METHOD(wake_fixture, "sqlite wake: a process that closes a cycle wakes the one that has to break it, once") {
  const auto fence = holder.acquire("b");
  view other(fixture.path);
  REQUIRE(other.opened->claim_slot());
  const int entry = other.opened->enter(hash_of("a"), holder.id);
  const bool breaks = GENERATE(true, false);  // its wait ends first, or that of the one that closes the cycle
  CAPTURE(breaks);
  const auto never = std::numeric_limits<std::int64_t>::max();
  other.opened->set_held(entry, "a",
                         std::vector{wake_file::opened::held_lock{hash_of("b"), fence, holder.id, breaks ? 1 : never}});
  const auto word = [&] {
    std::uint32_t now = 0;
    REQUIRE(other.opened->word(now));
    return now;
  };
  auto last = word();
  const auto mine = fixture.open();
  nested_listener listener;
  listener.held = {.key = "a", .session = id128::random(), .fence = 1, .until = instant{1h}};
  mine->watch("b", listener.held.session, listener);
  if (breaks) {
    REQUIRE(eventually([&] { return word() != last; }));
    last = word();
  }
  CHECK(eventually([&] { return listener.heard >= 4; }));  // by then it has looked for cycles a few times more
  CHECK(word() == last);
  mine->unwatch("b", {}, listener);
}

TEST_CASE("sqlite wake: of processes in a deadlock cycle one is refused, and none after one was killed") {
  sqlite_file_fixture fixture;
  static constexpr std::size_t size = 3;
  const auto killed = GENERATE(size, std::size_t{0}, std::size_t{1});
  CAPTURE(killed);
  constexpr std::uint64_t granted_next = 1, refused = 2;
  int go[2];
  REQUIRE(::pipe(go) == 0);
  std::vector<std::unique_ptr<forked_child>> all(size);
  std::uint64_t got = 0;
  for (std::size_t i = size; i-- != 0;) {  // each holds a key before the next one waits for it
    all[i] = std::make_unique<forked_child>([&, i](auto send) {
      lock_service locks(fixture.url(), {.defaults = {.ttl = 2s}});
      const auto key = [](std::size_t of) { return "k" + std::to_string(of % size); };
      const auto held = locks.acquire(key(i));
      send(0);
      char byte = 0;
      if (i + 1 == size && ::read(go[0], &byte, 1) != 1) ::_exit(1);
      try {
        const auto next = locks.acquire(key(i + 1), {.wait = i + 1 == size ? 5min : 10min});
        send(granted_next);
      } catch (const lock_deadlock& cycle) {
        // Each process of the cycle has another number.
        const std::string text = cycle.what();
        std::size_t named = 0;
        for (auto at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) ++named;
        send(named + 1 == size ? refused : 0);
      }
    });
    REQUIRE(all[i]->read(got));
  }
  view sees(fixture.path);
  REQUIRE(eventually([&] { return sees.opened->nested_waiters().size() + 1 == size; }));
  if (killed != size) all[killed]->kill();  // what it holds is held until its session's expiry
  REQUIRE(::write(go[1], "x", 1) == 1);
  for (std::size_t i = size; i-- != 0;) {
    if (i == killed) continue;
    REQUIRE(all[i]->read(got));
    CHECK(got == (killed == size && i + 1 == size ? refused : granted_next));
  }
  for (const int end : go) ::close(end);
}

TEST_CASE("sqlite wake: two processes hand a key over, and the death of either blocks nobody") {
  sqlite_file_fixture fixture;
  forked_child child([&](auto send) {
    lock_service locks(fixture.url(), {.defaults = {.ttl = 2s}});
    for (;;) {
      auto held = locks.acquire("k", {.wait = 10min});
      send(1);
      std::this_thread::sleep_for(30ms);
      held.release();
    }
  });
  std::uint64_t got = 0;
  lock_service locks(fixture.url(), {.defaults = {.ttl = 2s}});
  for (int i = 0; i != 10; ++i) {
    REQUIRE(child.read(got));
    auto held = locks.acquire("k", {.wait = 60s});
    std::this_thread::sleep_for(30ms);  // long enough that the other one waits in earnest
    held.release();
  }
  SECTION("the holder dies") { REQUIRE(child.read(got)); }
  SECTION("the waiter dies") {
    auto held = locks.acquire("k", {.wait = 60s});
    view sees(fixture.path, false);
    REQUIRE(eventually([&] {
      if (sees.opened == nullptr) sees.opened = sees.file.open(false, sees.why);
      return sees.opened != nullptr;
    }));
    child.kill();
    held.release();
    CHECK(granted(locks.acquire("k", {.wait = 60s})));
  }
  child.kill();
  CHECK(granted(locks.acquire("k", {.wait = 60s})));
}

TEST_CASE(
    "sqlite wake: processes get a key in the order in which they began to wait, and the dead and the stopped delay "
    "few") {
  sqlite_file_fixture fixture;
  int go[2];
  REQUIRE(::pipe(go) == 0);
  forked_child holder([&](auto send) {
    lock_service locks(fixture.url());
    const auto held = locks.acquire("k");
    send(1);
    char byte = 0;
    if (::read(go[0], &byte, 1) != 1) ::_exit(1);
  });
  std::uint64_t got = 0;
  REQUIRE(holder.read(got));
  // This process forks, so it opens the wake file and never the database.
  view sees(fixture.path);
  std::vector<std::unique_ptr<forked_child>> waiters;
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i != 4; ++i) {
    waiters.push_back(std::make_unique<forked_child>([&](auto send) {
      lock_service locks(fixture.url(), {.defaults = {.fairness = fairness::fifo}});
      send(static_cast<std::uint64_t>(::getpid()));
      const auto held = locks.acquire("k", {.wait = 10min});
      send(static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
    }));
    REQUIRE(waiters.back()->read(got));
    pids.push_back(static_cast<pid_t>(got));
    REQUIRE(eventually([&] { return sees.opened->waiters().size() == i + 1; }));
  }
  std::size_t first = 0;
  bool stopped = false;
  SECTION("all live") {}
  SECTION("the first is killed") {
    waiters[0]->kill();
    first = 1;
  }
  SECTION("the first is stopped") {  // until a waiter looks by itself the key is free
    stop_process(pids[0]);
    first = 1;
    stopped = true;
  }
  const auto begun = std::chrono::steady_clock::now();
  REQUIRE(::write(go[1], "x", 1) == 1);
  std::uint64_t before = 0;
  for (auto i = first; i != 4; ++i) {
    REQUIRE(waiters[i]->read(got));
    CHECK(got > before);
    before = got;
  }
  CHECK(std::chrono::steady_clock::now() - begun < 2s);  // all of them, if it is stopped
  if (stopped) {
    REQUIRE(::kill(pids[0], SIGCONT) == 0);
    CHECK(waiters[0]->read(got));
  }
  for (const int end : go) ::close(end);
}

TEST_CASE("sqlite wake: a waiter that does not run keeps the others waiting once, for a second") {
  sqlite_file_fixture fixture;
  forked_child stopped([&](auto send) {
    waiting_store mine(fixture);
    if (!mine.works()) ::_exit(1);
    send(static_cast<std::uint64_t>(::getpid()));
    for (;;) ::pause();
  });
  std::uint64_t pid = 0;
  REQUIRE(stopped.read(pid));
  stop_process(static_cast<pid_t>(pid));
  actor holder(fixture);
  auto fence = holder.acquire("k");
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  std::this_thread::sleep_for(1s);  // so that its checks come seldom
  for (int i = 0; i != 3; ++i) {
    const int before = waiter.listener.yes;
    const auto begun = std::chrono::steady_clock::now();
    REQUIRE(answer(release_and_wake(holder, fence)) == outcome::yes);
    CHECK(eventually([&] { return waiter.listener.yes > before; }));
    CHECK(std::chrono::steady_clock::now() - begun < (i == 0 ? 1'500ms : 250ms));
    fence = holder.acquire("k");
  }
}

TEST_CASE_METHOD(wake_fixture, "sqlite wake: a release that another writer holds up looks for a waiter after all") {
  // By its length it was to wake nobody: waiters may rely on it meanwhile.
  auto fence = holder.acquire("k");
  waiting_store waiter(fixture);
  REQUIRE(waiter.works());
  unsigned woken = 0;
  for (auto held_up = 20ms; woken == 0 && held_up < 2s; held_up *= 3) {
    raw_sqlite writer(fixture.path);
    writer.run("BEGIN IMMEDIATE");
    auto freed = std::async(std::launch::async, [&] { return holder.release("k", fence); });
    std::this_thread::sleep_for(held_up);
    writer.run("COMMIT");
    const auto answered = freed.get();
    REQUIRE(answer(answered) == outcome::yes);
    woken = answered.waiters;
    fence = holder.acquire("k");
  }
  CHECK(woken == 1);
}

TEST_CASE("sqlite wake: the end of a store that has waited needs no file that can be written") {
  sqlite_file_fixture fixture;
  forked_child waiter([&](auto send) {
    ::signal(SIGXFSZ, SIG_IGN);
    std::optional<waiting_store> mine(std::in_place, fixture);
    if (!mine->works()) ::_exit(1);
    mine->unwatch();
    std::this_thread::sleep_for(100ms);  // for its thread, which sleeps for a minute now
    const struct ::rlimit none {};
    if (::setrlimit(RLIMIT_FSIZE, &none) != 0) ::_exit(1);
    const auto begun = std::chrono::steady_clock::now();
    mine.reset();
    send(static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begun) / 1ms));
  });
  std::uint64_t took = 0;
  CHECK(waiter.read(took));
  REQUIRE(waiter.wait() == 0);
  CHECK(took < 10'000);
}
