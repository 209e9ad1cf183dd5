// SPDX-License-Identifier: BSL-1.0

/// The SQLite store and its file: what can be wrong with it, where it may be, reboots.

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <cstdlib>

#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "stores/sqlite/client/connection.hpp"
#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/client/file.hpp"
#include "stores/sqlite/lock_rows.hpp"
#include "stores/sqlite/sqlite_machine.hpp"
#include "support/calls.hpp"

using namespace dlock::test;
using namespace dlock;
using machine_ptr = std::shared_ptr<sqlite_machine>;

namespace {

/// Does without the rights of the administrator, whom no permission stops.
class as_nobody {
 public:
  as_nobody() {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) throw std::runtime_error("seteuid failed");
  }
  ~as_nobody() {
    if (::getuid() == 0 && ::seteuid(0) != 0) std::abort();
  }
  as_nobody(const as_nobody&) = delete;
  as_nobody& operator=(const as_nobody&) = delete;
};

void check_refused(const std::string& url, const std::string& text) {
  INFO(url);
  const auto store = open_store(url);
  CHECK_THROWS_MATCHES(store->prepare(), store_error, MessageMatches(ContainsSubstring(text)));
}

}  // namespace

TEST_CASE("sqlite file: every connection syncs each commit, whatever others have chosen") {
  sqlite_file_fixture fixture;
  raw_sqlite(fixture.path).run("PRAGMA journal_mode = DELETE");  // of an application that had the file before
  const auto store = fixture.open();
  raw_sqlite foreign(fixture.path);
  foreign.run("PRAGMA synchronous = OFF");
  for (int i = 0; i < 3; ++i) {
    const auto connection = connect(*store, 1s);
    auto& ours = dynamic_cast<stores::sqlite::sqlite_connection&>(*connection);
    CHECK(raw_sqlite::text(ours.handle(), "PRAGMA synchronous") == "2");  // FULL
    CHECK(raw_sqlite::text(ours.handle(), "PRAGMA journal_mode") == "wal");
  }
}

TEST_CASE("sqlite file: schema=verify changes nothing and says what is missing") {
  sqlite_file_fixture fixture;
  check_refused(fixture.url() + "?schema=verify", "does not exist");
  CHECK_FALSE(std::filesystem::exists(fixture.path));
  raw_sqlite raw(fixture.path);
  raw.run("CREATE TABLE application(id INTEGER)");
  check_refused(fixture.url() + "?schema=verify", "no lock tables");
  check_refused(fixture.url() + "?schema=none", "no such table");
  CHECK(raw.text("SELECT COUNT(*) FROM sqlite_master") == "1");

  fixture.open();
  raw.run("INSERT INTO application VALUES(7)");  // a neighbour in the same file
  CHECK_NOTHROW(open_store(fixture.url() + "?schema=verify")->prepare());
  CHECK_NOTHROW(open_store(fixture.url() + "?schema=none")->prepare());
}

TEST_CASE("sqlite file: what is wrong with a file is said with its path") {
  sqlite_file_fixture fixture;
  check_refused("sqlite:" + (fixture.folder / "nowhere/locks.db"), "nowhere' does not exist");
  check_refused("sqlite:" + (fixture.folder / "."), "is a folder");
  std::ofstream(fixture.path) << std::string(5000, 'x');
  check_refused(fixture.url(), "not a database");
  check_refused(fixture.url(), fixture.path);
}

TEST_CASE("sqlite file: a file or folder without the right to write is refused") {
  sqlite_file_fixture fixture;
  fixture.open();
  const auto file = fixture.folder / "locks.db";
  ::chmod((fixture.folder / ".").c_str(), 0755);
  for (const char* part : {"", "-wal", "-shm"}) ::chmod((file + part).c_str(), 0444);
  const as_nobody now;
  check_refused(fixture.url(), "(code ");
  check_refused(fixture.url(), file);
  check_refused("sqlite:" + (fixture.folder / "new.db"), "unable to open database file");
}

TEST_CASE("sqlite file: a deleted or replaced file is noticed before anything is granted") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  const auto fence = a.acquire("k");
  const auto before = a.connection->identity();
  CHECK(before.server.find(fixture.path) != std::string::npos);
  const bool replaced = GENERATE(false, true);
  std::filesystem::rename(fixture.path, fixture.path + ".old");
  if (replaced) fixture.open();

  const reply taken = a.run({.action = verb::take, .resource = "other", .session = a.id, .nonce = 99});
  CHECK(taken.result == outcome::failed);
  CHECK(taken.why.connection);
  CHECK_THAT(taken.why.text, ContainsSubstring("moved or deleted"));
  CHECK_FALSE(a.connection->usable());
  const reply renewed = a.store->session(*a.connection, session_verb::renew, {.id = a.id, .ttl = for_long});
  CHECK(renewed.result == outcome::failed);
  CHECK(a.release("k", fence).result == outcome::failed);

  fault why;
  const auto again = a.store->connect(1s, why);
  REQUIRE((again != nullptr) == replaced);
  if (replaced) {
    CHECK(again->identity().server != before.server);
  } else {
    CHECK(why.connection);
  }
}

TEST_CASE("sqlite file: a write that failed half-way is unknown, and can be cancelled later") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(std::filesystem::file_size(fixture.path + "-wal") + 100);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  const reply taken = a.take("k");
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  INFO(taken.why.text);
  CHECK(taken.result == outcome::unknown);
  CHECK(taken.why.connection);
  CHECK_THAT(taken.why.text, ContainsSubstring(fixture.path));
  CHECK_FALSE(a.connection->usable());

  fault why;
  const auto lost = a.connection->identity();
  const auto nonce = a.nonce;
  a.connection = a.store->connect(1s, why);
  REQUIRE(a.connection != nullptr);
  CHECK(a.connection->identity().server == lost.server);
  CHECK(a.store->terminate(*a.connection, lost));
  answer(a.cancel("k", nonce));
  CHECK_FALSE(a.at("k").holder);
  CHECK(answer(a.take("k")) == outcome::yes);
}

TEST_CASE("sqlite file: whatever another boot of the host left is free") {
  sqlite_file_fixture fixture;
  actor kept(fixture), own(fixture), gone(fixture);
  const auto fence = kept.acquire("kept");
  own.acquire("own", for_long);
  gone.acquire("gone", for_long);
  gone.close();
  raw_sqlite raw(fixture.path);
  raw.run("UPDATE dlock_session SET boot = 'another', expires_at_us = expires_at_us + 1000000000000");
  raw.run("UPDATE dlock_floor SET fence = fence + 1 WHERE id = 2");
  raw.run("UPDATE dlock_lock SET acquired_at_us = acquired_at_us + 1000000000000");

  actor now(fixture);
  for (const char* key : {"kept", "own", "gone"}) CHECK_FALSE(now.at(key).holder);
  CHECK(now.at("kept").fence == fence);
  CHECK(kept.renew(for_long) == outcome::no);
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_session") == "1");
  // Times of another boot would keep clean-up away from these keys for ever.
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_lock WHERE acquired_at_us > 1000000000000") == "0");
  CHECK(now.acquire("kept") == fence + 1);
}

TEST_CASE("sqlite file: opening again in the same boot leaves everything as it is") {
  sqlite_file_fixture fixture;
  actor kept(fixture), own(fixture);
  kept.acquire("kept");
  own.acquire("own", for_long);
  own.close();
  actor another(fixture);
  CHECK(another.at("kept").holder == kept.id);
  CHECK(another.at("own").holder == own.id);
  CHECK(kept.renew(for_long) == outcome::yes);

  // What looks alive stays alive, even where a time that is still to come says that there was a reboot.
  raw_sqlite(fixture.path).run("UPDATE dlock_floor SET fence = fence + 3600000000 WHERE id = 2");
  fixture.open();
  CHECK(another.at("kept").holder == kept.id);
  CHECK_FALSE(another.at("own").holder);
}

// Where an SQLite lock file is, who may write to it, and what it is: what is said where that is wrong.

namespace {

/// What prepare() threw; its code is in `code`.
std::string refusal(store& store, errc expected = errc::store_failed) {
  try {
    store.prepare();
  } catch (const store_error& e) {
    CHECK(e.code() == make_error_code(expected));
    CHECK_THAT(e.what(), ContainsSubstring("SQLite file '"));
    return e.what();
  }
  FAIL("it was not refused");
  return {};
}

std::string refusal(const std::string& url) { return refusal(*open_store(url)); }

unsigned mode_of(const std::string& path) {
  struct ::stat found {};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 0777U : 0;
}

}  // namespace

TEST_CASE("sqlite location: a file system that machines may share is refused before the file is made") {
  scratch_folder folder;
  const auto path = folder / "locks.db";
  const auto [type, name] = GENERATE(table<std::uint32_t, const char*>({{0x6969, "NFS"},
                                                                        {0xFF534D42, "CIFS"},
                                                                        {0xFE534D42, "SMB"},
                                                                        {0x01021997, "9p"},
                                                                        {0x65735546, "FUSE"},
                                                                        {0x0BD00BD0, "Lustre"},
                                                                        {0x00C36400, "Ceph"},
                                                                        {0x01161970, "GFS2"}}));
  const auto machine = std::make_shared<sqlite_machine>("this");
  machine->files = type;
  const auto text = refusal(*open_on("sqlite:" + path, machine));
  CHECK_THAT(text, ContainsSubstring(path));
  CHECK_THAT(text, ContainsSubstring(std::string("(") + name + ")"));
  CHECK_THAT(text, ContainsSubstring("filesystem=any"));
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_NOTHROW(open_on("sqlite:" + path + "?filesystem=any", machine)->prepare());
  // Of a file that is there it is asked too: it may be a link to elsewhere.
  CHECK_THAT(refusal(*open_on("sqlite:" + path, machine)), ContainsSubstring(name));
}

TEST_CASE("sqlite location: file systems of one host are not refused") {
  // ext4, xfs, btrfs, tmpfs, overlayfs, zfs, f2fs, bcachefs, none that could be asked.
  for (const std::uint32_t type :
       {0xEF53U, 0x58465342U, 0x9123683EU, 0x01021994U, 0x794C7630U, 0x2FC12FC1U, 0xF2F52010U, 0xCA451A4EU, 0U}) {
    CHECK(stores::sqlite::network_file_system(type) == nullptr);
  }
}

TEST_CASE("sqlite location: the machine itself is asked") {
  const auto& machine = *stores::sqlite::sqlite_host::here();
  scratch_folder folder;
  const auto path = folder / "file";
  std::ofstream(path) << "x";
  CHECK(machine.file_system("/proc") == 0x9FA0);
  CHECK(machine.file_system(path + "/nowhere") == 0);
  CHECK(machine.mounted_alone("/proc"));
  CHECK_FALSE(machine.mounted_alone(path));
  CHECK_FALSE(machine.mounted_alone(path + "/nowhere"));
  CHECK(machine.names(path) == 1);
  std::filesystem::create_hard_link(path, folder / "other");
  CHECK(machine.names(path) == 2);
  CHECK_FALSE(machine.boot_id().empty());
  CHECK_FALSE(machine.shifted_clock());
}

TEST_CASE("sqlite location: a file that is mounted without its folder is refused") {
  scratch_folder folder;
  const auto url = "sqlite:" + (folder / "locks.db");
  const auto machine = std::make_shared<sqlite_machine>("this");
  machine->alone = true;
  CHECK_NOTHROW(open_on(url, machine)->prepare());  // it is not there yet
  const auto text = refusal(*open_on(url, machine));
  CHECK_THAT(text, ContainsSubstring("mount the folder that it is in"));
  CHECK_NOTHROW(open_on(url + "?filesystem=any", machine)->prepare());
  machine->alone = false;
  CHECK_NOTHROW(open_on(url, machine)->prepare());
}

TEST_CASE("sqlite location: a file with a second name is refused under either, a symbolic link is not") {
  scratch_folder folder;
  const auto path = folder / "locks.db", other = folder / "other.db", link = folder / "link.db";
  open_store("sqlite:" + path)->prepare();
  std::filesystem::create_hard_link(path, other);
  for (const auto& name : {path, other}) CHECK_THAT(refusal("sqlite:" + name), ContainsSubstring("2 names"));
  CHECK_NOTHROW(open_store("sqlite:" + path + "?filesystem=any")->prepare());
  std::filesystem::remove(other);
  std::filesystem::create_symlink(path, link);
  lock_service first("sqlite:" + path), second("sqlite:" + link);
  const auto held = first.acquire("k");
  CHECK_FALSE(granted(second.try_acquire("k")));
}

TEST_CASE("sqlite location: what is no SQLite file is said so, and not that it can't be reached") {
  scratch_folder folder;
  const auto path = folder / "locks.db";
  std::ofstream(path) << std::string(5000, 'x');
  const auto text = refusal("sqlite:" + path);
  CHECK_THAT(text, ContainsSubstring("file is not a database"));
  CHECK_THAT(text, ContainsSubstring("a file of another kind, or an encrypted one"));
  CHECK_THAT(text, !ContainsSubstring("reached"));

  // Also if it has become so while a service runs: at once, not at the end of the wait.
  std::filesystem::remove(path);
  lock_service service("sqlite:" + path);
  std::filesystem::remove(path);
  std::ofstream(path) << std::string(5000, 'x');
  const auto e = caught<store_error>([&] { return service.acquire("k", {.wait = 20s}); });
  CHECK(e.code() == make_error_code(errc::store_failed));
  CHECK_THAT(e.what(), ContainsSubstring("file is not a database"));
}

TEST_CASE("sqlite location: the -wal and -shm get the file's own mode, whatever the umask") {
  scratch_folder folder;
  const auto path = folder / "locks.db";
  const auto before = ::umask(GENERATE(0002U, 0022U));
  open_store("sqlite:" + path)->prepare();
  CHECK(mode_of(path) == 0644);  // SQLite never gives more: a group has to be let in by chmod
  REQUIRE(::chmod(path.c_str(), 0660) == 0);
  lock_service service("sqlite:" + path);
  const auto held = service.acquire("k");
  for (const char* part : {"", "-wal", "-shm"}) CHECK(mode_of(path + part) == 0660);
  ::umask(before);
}

TEST_CASE("sqlite location: a right that is missing is told, with whose file it is") {
  scratch_folder folder;
  const auto path = folder / "locks.db";
  open_store("sqlite:" + path)->prepare();
  raw_sqlite other(path);  // keeps -wal and -shm there
  other.run("UPDATE dlock_floor SET fence = fence");
  ::chmod((folder / ".").c_str(), 0755);
  const std::string part = GENERATE("", "-wal", "-shm");
  std::filesystem::create_symlink(path, folder / "link");
  for (const char* each : {"", "-wal", "-shm"}) ::chmod((path + each).c_str(), each == part ? 0444 : 0666);
  const as_nobody now;
  CHECK(stores::sqlite::not_writable(path) ==
        "'" + path + part + "' has mode 0444, user " + std::to_string(::getuid()) + " and group " +
            std::to_string(::getgid()) + ", and this process is user " + std::to_string(::geteuid()) + " and group " +
            std::to_string(::getegid()));
  const auto text = refusal("sqlite:" + path);
  CHECK_THAT(text, ContainsSubstring("'" + path + part + "' has mode 0444"));
  CHECK_THAT(refusal("sqlite:" + (folder / "link")), ContainsSubstring("'" + path + part + "' has mode 0444"));
  CHECK_THAT(text, !ContainsSubstring("reached"));
}

TEST_CASE("sqlite location: a folder that may not be written to is told") {
  scratch_folder folder;
  const auto inner = folder / "inner";
  std::filesystem::create_directory(inner);
  ::chmod((folder / ".").c_str(), 0755);
  ::chmod(inner.c_str(), 0555);
  {
    const as_nobody now;
    CHECK_THAT(refusal("sqlite:" + inner + "/locks.db"), ContainsSubstring("'" + inner + "' has mode 0555"));
  }
  ::chmod(inner.c_str(), 0755);
}

// What the SQLite store makes of boots: containers of one kernel that are told different ids, and what is left after a
// reboot.

namespace {

constexpr std::int64_t at(microseconds time) { return time.count(); }

/// A file with the table `orders`; stores on it take `machine` for theirs.
class one_file final : public sqlite_machine_fixture {
 public:
  one_file() : sqlite_machine_fixture("first") {}
  /// The machine boots, and its clock shows `time` when it is seen for the first time.
  void boot(std::string id, microseconds time) {
    machine = std::make_shared<sqlite_machine>(std::move(id));
    machine->set(at(time));
  }
  lock_key order(std::int64_t id) const { return lock_key::of_row(orders_, {id}); }

 private:
  const std::shared_ptr<const row_table> orders_ = make_lock_table(path, "orders", 2);
};

}  // namespace

TEST_CASE("sqlite boot: containers of one kernel with different boot ids never have two trusted leases") {
  scratch_folder folder;
  const auto url = "sqlite:" + (folder / "locks.db");
  const auto in_container = [&](const char* boot) { return open_on(url, std::make_shared<sqlite_machine>(boot)); };
  lock_service first(in_container("one"));
  const auto kept = first.acquire("kept", {.ttl = 60s});
  const auto own = first.acquire("own", {.ttl = 60s, .renewal = renewal::none});
  const auto long_own = first.acquire("long own", {.ttl = 240h, .renewal = renewal::none});
  lock_service second(in_container("two")), third(in_container("three"));
  for (lock_service* const other : {&second, &third}) {
    for (const char* key : {"kept", "own", "long own"}) {
      INFO(key);
      CHECK_FALSE(granted(other->try_acquire(key)));
      CHECK(other->holder(key)->pid != 0);
    }
  }
  for (const lease* const held : {&kept, &own, &long_own}) CHECK_NOTHROW(held->ensure_held());
  CHECK(granted(second.acquire("another")));
}

TEST_CASE("sqlite boot: a container with another boot id changes nothing that is alive") {
  one_file fixture;
  fixture.boot("one", 100h);
  actor kept(fixture, 30s), own(fixture), gone(fixture);
  const auto fence = kept.acquire("kept");
  own.acquire("own", 1h);
  gone.acquire("gone", 1h);
  REQUIRE(answer(kept.release("held on", kept.acquire("held on"), 1h)) == outcome::yes);
  REQUIRE(answer(kept.take(fixture.order(1))) == outcome::yes);
  REQUIRE(answer(kept.take(fixture.order(2), 1h)) == outcome::yes);
  gone.close();
  raw_sqlite raw(fixture.path);
  const auto all = [&] {
    return raw.column("SELECT lock_key || hex(session_id) || expires_at_us || acquired_at_us FROM dlock_lock");
  };
  const auto before = all();
  const auto epoch = raw.text("SELECT fence FROM dlock_floor WHERE id = 3");

  fixture.machine->pass(29s);
  const auto now = fixture.machine->now();
  fixture.boot("two", microseconds{now});
  actor other(fixture);
  CHECK(all() == before);
  CHECK(raw.text("SELECT fence FROM dlock_floor WHERE id = 3") == epoch);  // rows would shift their expiries
  for (const char* key : {"kept", "own", "gone", "held on"}) {
    INFO(key);
    CHECK(answer(other.take(key)) == outcome::no);
    CHECK(answer(other.take_over(key, other.at(key))) == outcome::no);
  }
  CHECK(other.kill(kept.id) == outcome::no);
  for (const std::int64_t id : {1, 2}) {
    CHECK(answer(other.take(fixture.order(id))) == outcome::no);
    CHECK_FALSE(other.at(fixture.order(id)).expired);
  }
  CHECK(answer(other.store->admin()->cleanup(*other.connection, 1us, 100)) == outcome::yes);
  CHECK(all() == before);
  // The clock of the kernel ends it like any other.
  fixture.machine->pass(2s);
  CHECK(other.kill(kept.id) == outcome::yes);
  CHECK(answer(other.take_over("kept", other.at("kept"))) == outcome::yes);
  CHECK(other.at("kept").fence == fence + 1);
}

TEST_CASE("sqlite boot: a renewal in the middle of another container's start is not taken for a time to come") {
  one_file fixture;
  fixture.boot("one", 1h);
  actor a(fixture, 30s);
  a.acquire("own", 1h);
  const auto first = fixture.machine;
  fixture.boot("two", 1h);
  const auto second = fixture.machine;
  int asked = 0;
  second->before_now = [&] {
    ++asked;
    if (asked == 1) {  // it looks, by the time of now, at what is written after that
      first->pass(1ms);
      CHECK(a.renew(30s) == outcome::yes);
    } else {
      second->set(first->now());
    }
  };
  const auto store = open_on("sqlite:" + fixture.path, second);
  store->prepare();
  second->before_now = {};
  REQUIRE(asked > 1);
  CHECK(a.at("own").holder == a.id);
  CHECK(a.renew(30s) == outcome::yes);
}

TEST_CASE("sqlite boot: whoever is told no boot id is refused") {
  scratch_folder folder;
  const auto store = open_on("sqlite:" + (folder / "l.db"), std::make_shared<sqlite_machine>(""));
  CHECK_THROWS_MATCHES(store->prepare(), store_error, MessageMatches(ContainsSubstring("boot_id")));
}

TEST_CASE("sqlite boot: a clock that a time namespace shifts is refused") {
  const auto shifted = [](const char* text) {
    std::istringstream offsets(text);
    return stores::sqlite::has_shifted_boot_clock(offsets);
  };
  CHECK_FALSE(shifted(""));  // a kernel without time namespaces has no such file
  CHECK_FALSE(shifted("monotonic           0         0\nboottime            0         0\n"));
  CHECK_FALSE(shifted("monotonic         100         5\nboottime            0         0\n"));  // not our clock
  CHECK(shifted("monotonic           0         0\nboottime        86400         0\n"));
  CHECK(shifted("monotonic           0         0\nboottime           -1         0\n"));
  CHECK(shifted("boottime            0  60000000\nmonotonic           0         0\n"));

  scratch_folder folder;
  const auto machine = std::make_shared<sqlite_machine>("one");
  machine->shifted = true;
  const auto store = open_on("sqlite:" + (folder / "l.db"), machine);
  CHECK_THROWS_MATCHES(store->prepare(), store_error, MessageMatches(ContainsSubstring("time namespace")));
}

TEST_CASE("sqlite boot: after a reboot whatever was held is free at once") {
  one_file fixture;
  fixture.boot("one", 1h);
  raw_sqlite raw(fixture.path);
  std::uint64_t fence = 0;
  {
    actor kept(fixture), own(fixture), gone(fixture), revoked(fixture);
    fence = kept.acquire("kept");
    gone.acquire("gone", 720h);
    gone.close();
    const auto by_hand = own.acquire("by hand", 1h);
    REQUIRE(answer(kept.release("held on", kept.acquire("held on"), 1h)) == outcome::yes);
    revoked.acquire("revoked");
    REQUIRE(own.revoke("revoked") == outcome::yes);
    for (int hour = 0; hour < 240; ++hour) {
      fixture.machine->pass(30min);
      REQUIRE(answer(own.extend("by hand", by_hand, 1h)) == outcome::yes);
      for (actor* const each : {&kept, &own, &revoked}) each->renew(1h);
    }
    REQUIRE(answer(kept.take(fixture.order(1))) == outcome::yes);
  }
  // Long before the time of those grants, between it and the end of the other boot, or just before that.
  fixture.boot("two", GENERATE(microseconds{30s}, microseconds{2h}, 121h - 1us));
  actor next(fixture);
  for (const char* key : {"kept", "by hand", "held on", "revoked", "gone"}) {
    INFO(key);
    CHECK(answer(next.take(key)) == outcome::yes);
  }
  CHECK(next.at("kept").fence == fence + 1);
  const seen row = next.at(fixture.order(1));
  CHECK(row.gone);
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_session") == "1");
  // Times of another boot would keep clean-up away from these keys for ever.
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_lock WHERE acquired_at_us > " + std::to_string(fixture.machine->now())) ==
        "0");
}

TEST_CASE(
    "sqlite boot: a clock that is past what another boot wrote proves nothing, and keys are free within their ttl") {
  one_file fixture;
  fixture.boot("one", 1h);
  actor kept(fixture, 30s), own(fixture);
  kept.acquire("kept");
  own.acquire("own", 20s);
  fixture.boot("two", 1h + 1s);
  actor next(fixture);
  for (const char* key : {"kept", "own"}) {
    CHECK_FALSE(next.at(key).expired);  // as if it were a container of the same kernel
    CHECK(next.at(key).remaining < 30s);
  }
  fixture.machine->pass(30s);
  CHECK(answer(next.take("own")) == outcome::yes);
  CHECK(next.kill(kept.id) == outcome::yes);
  CHECK(answer(next.take_over("kept", next.at("kept"))) == outcome::yes);
}

TEST_CASE("sqlite boot: a file without sessions tells a reboot too, so the expiries of rows stay what they were") {
  one_file fixture;
  fixture.boot("one", 200h);
  actor a(fixture);
  fixture.machine->pass(1min);
  REQUIRE(answer(a.take(fixture.order(1), 1h)) == outcome::yes);
  REQUIRE(a.close() == outcome::yes);
  CHECK(a.close() == outcome::no);
  fixture.boot("two", 200h + 59s);
  actor next(fixture);
  const seen now = next.at(fixture.order(1));
  // By the wall clock it was granted just now, and a minute later by the clock of the test.
  CHECK(now.remaining <= 1h + 1min);
  CHECK(now.remaining > 1h + 30s);
}

TEST_CASE("sqlite boot: whoever opens the file while it is busy finds what a reboot left once it is not") {
  one_file fixture;
  fixture.boot("one", 100h);
  actor a(fixture);
  a.acquire("k");
  fixture.boot("two", 1min);
  raw_sqlite foreign(fixture.path);
  foreign.run("BEGIN IMMEDIATE");
  const auto store = open_on("sqlite:" + fixture.path + "?busy_timeout=20", fixture.machine);
  CHECK_THROWS_MATCHES(store->prepare(), store_error, MessageMatches(ContainsSubstring("kept writing")));
  foreign.run("ROLLBACK");
  actor next(fixture);
  CHECK(answer(next.take("k")) == outcome::yes);
}
