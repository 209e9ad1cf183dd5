// SPDX-License-Identifier: BSL-1.0

/// dlock beside programs that lock by Apache Curator and by kazoo, on one path. Who is inside writes a line when it
/// comes and one before it goes, so what was written by two at once shows.

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "dlock/lock_service.hpp"
#include "dlock/stores/zookeeper.hpp"
#include "support/calls.hpp"
#include "support/program_output.hpp"
#include "support/zookeeper_server.hpp"

namespace dlock::test {

namespace {

using words = std::vector<std::string>;

struct visits {
  std::map<std::string, int> of{};  ///< by kind of program
  std::vector<std::string> order{};
  int overlaps = 0;
  int errors = 0;
};

/// One stay of a program, from the line where it came in to that where it went.
struct stay {
  std::size_t begin;
  std::size_t end;
  std::string mode;
};

/// How often two were inside who exclude each other, or more than two with
/// permits.
int count_overlaps(const std::vector<stay>& stays) {
  int found = 0;
  for (std::size_t i = 0; i < stays.size(); ++i) {
    const auto inside = [&, begin = stays[i].begin](const stay& other) {
      return other.begin < begin && begin < other.end;
    };
    const auto others = std::count_if(stays.begin(), stays.end(), inside);
    const auto same = std::count_if(stays.begin(), stays.end(),
                                    [&](const stay& other) { return inside(other) && other.mode == stays[i].mode; });
    if (stays[i].mode == "read") {
      found += static_cast<int>(others - same);
    } else {
      found += static_cast<int>(stays[i].mode == "permit" ? std::max<std::ptrdiff_t>(others - 1, 0) : others);
    }
  }
  return found;
}

/// Whoever came in and did not go has been killed, so whoever came in later was right.
visits read(const std::string& log) {
  visits found;
  std::ifstream in(log);
  std::map<std::string, std::size_t> inside;  // by process: the line where it came in
  std::vector<stay> stays;
  std::size_t at = 0;
  for (std::string line; std::getline(in, line); ++at) {
    std::istringstream all(line);
    std::string what, kind, pid, mode;
    all >> what >> kind >> pid >> mode;
    if (what == "error") {
      ++found.errors;
      UNSCOPED_INFO(line);
    } else if (what == "B") {
      found.overlaps += inside.insert_or_assign(pid, at).second ? 0 : 1;
      ++found.of[kind];
      ++found.of[kind + " " + mode];
      found.order.push_back(kind + " " + mode);
    } else if (const auto came = inside.find(pid); came == inside.end()) {
      ++found.overlaps;
    } else {
      stays.push_back({came->second, at, mode});
      inside.erase(came);
    }
  }
  found.overlaps += count_overlaps(stays);
  return found;
}

words curator(const zookeeper_server& server, const std::string& log, const std::string& how,
              const std::string& mode = "lock") {
  return {"java",
          "-Xshare:auto",
          "-XX:TieredStopAtLevel=1",
          "-XX:+UseSerialGC",
          "-Xmx64m",
          "-cp",
          DLOCK_TEST_CURATOR_PATH,
          "CuratorNeighbour",
          server.address(),
          "/locks/k",
          log,
          how,
          mode};
}

words kazoo(const zookeeper_server& server, const std::string& log, const std::string& how,
            const std::string& mode = "lock") {
  return {DLOCK_TEST_PYTHON, DLOCK_TEST_KAZOO_PY, server.address(), "/locks/k", log, how, mode};
}

words ours(const zookeeper_server& server, const std::string& log, const std::string& how, const std::string& names,
           const std::string& mode = "lock") {
  return {DLOCK_TEST_ZOOKEEPER_WORKER, server.url("base=/locks&names=" + names), "k", log, how, mode};
}

/// Runs them all and kills some, until each of these visitors has come more than 15 times.
visits run_and_kill(const std::vector<words>& commands, const std::string& log, const words& visitors) {
  const auto all_more_than = [&](int number) {
    auto found = read(log);
    return std::all_of(visitors.begin(), visitors.end(), [&](const auto& each) { return found.of[each] > number; });
  };
  std::vector<std::unique_ptr<child_process>> children;
  for (const auto& command : commands) children.push_back(std::make_unique<child_process>(command));
  REQUIRE(eventually([&] { return all_more_than(5); }, 60s));
  std::mt19937 random{20};
  const auto begun = std::chrono::steady_clock::now();
  const auto enough = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (now - begun < 4s) return false;
    return now - begun > 90s || all_more_than(15);
  };
  while (!enough()) {
    std::this_thread::sleep_for(std::chrono::milliseconds{500 + random() % 1000});
    auto& victim = *children[random() % children.size()];
    victim.kill();
    victim.start();
  }
  children.clear();
  auto found = read(log);
  for (const auto& each : visitors) {
    UNSCOPED_INFO(each << ": " << found.of[each]);
    CHECK(found.of[each] > 15);
  }
  CHECK(found.overlaps == 0);
  CHECK(found.errors == 0);
  return found;
}

/// How many nodes stand in the queue.
int queue_length(const zookeeper_server& server) {
  const auto text = server.ask("dump");
  int count = 0;
  for (auto at = text.find("/locks/k/"); at != std::string::npos; at = text.find("/locks/k/", at + 1)) ++count;
  return count;
}

/// Programs that come to the key one after the other, and have it until they are told to end.
struct visitors {
  void come(const words& command, int nodes) {
    children.push_back(std::make_unique<child_process>(command));
    REQUIRE(eventually([&] { return queue_length(server) == nodes; }, 60s));
  }
  /// So many have had it or have it.
  void are_inside(std::size_t number) {
    REQUIRE(eventually([&] { return read(log).order.size() == number; }, 60s));
  }
  void end(std::size_t which) {
    if (crash) {
      children[which]->kill();
    } else {
      children[which]->go_on();
    }
  }

  const zookeeper_server& server;
  const std::string log;
  const bool crash;
  std::vector<std::unique_ptr<child_process>> children{};
};

}  // namespace

TEST_CASE("zookeeper: dlock and its neighbours exclude each other, all killed at random", "[T48][T91]") {
  const auto neighbour = GENERATE(as<std::string>{}, "curator", "kazoo", "kazoo with a pattern");
  CAPTURE(neighbour);
  const zookeeper_server server;
  const scratch_folder folder;
  const auto log = folder / "log";
  auto theirs = neighbour == "curator" ? curator(server, log, "loop") : kazoo(server, log, "loop");
  if (neighbour == "kazoo with a pattern") theirs.emplace_back("lock-");  // after its mode
  const auto mine = ours(server, log, "loop", neighbour == "kazoo" ? "kazoo" : "curator");
  const auto kind = neighbour.substr(0, neighbour.find(' '));
  run_and_kill({theirs, mine, theirs, mine}, log, {kind, "dlock"});
  // What the dead have left behind goes with their sessions.
  lock_service locks(server.url("base=/locks"));
  CHECK(granted(locks.acquire("k", {.wait = 40s})));
}

TEST_CASE("zookeeper: dlock and its neighbours get a lock in the order in which they asked", "[T33]") {
  const auto neighbour = GENERATE(as<std::string>{}, "curator", "kazoo");
  CAPTURE(neighbour);
  const zookeeper_server server;
  const scratch_folder folder;
  const auto log = folder / "log";
  const auto theirs = neighbour == "curator" ? curator(server, log, "once") : kazoo(server, log, "once");
  const auto mine = ours(server, log, "once", neighbour);
  std::vector<std::unique_ptr<child_process>> children;
  int length = 0;
  for (const auto& command : {theirs, mine, theirs, mine}) {
    children.push_back(std::make_unique<child_process>(command));
    ++length;
    REQUIRE(eventually([&] { return queue_length(server) == length; }, 60s));
  }
  lock_service locks(server.url("base=/locks"));
  const auto holder = locks.holder("k");
  REQUIRE(holder);
  CHECK_FALSE(holder->session);  // none of dlock's
  CHECK_FALSE(granted(locks.try_acquire("k")));
  for (const auto& each : children) each->go_on();
  REQUIRE(eventually([&] { return read(log).order.size() == 4; }));
  const auto other = neighbour + " lock";
  CHECK(read(log).order == words{other, "dlock lock", other, "dlock lock"});
  CHECK(read(log).overlaps == 0);
}

TEST_CASE("zookeeper: readers and writers of dlock and its neighbours exclude each other, all killed at random",
          "[T48][T91]") {
  const auto neighbour = GENERATE(as<std::string>{}, "curator", "kazoo");
  CAPTURE(neighbour);
  const zookeeper_server server;
  const scratch_folder folder;
  const auto log = folder / "log";
  const std::string names = neighbour == "curator" ? "curator-readwrite" : "kazoo";
  const auto mine = [&](const char* mode) { return ours(server, log, "loop", names, mode); };
  if (neighbour == "curator") {
    run_and_kill({curator(server, log, "loop", "read"), mine("read"), curator(server, log, "loop", "write"),
                  mine("write"), mine("read")},
                 log, {"curator read", "curator write", "dlock read", "dlock write"});
  } else {
    // A ReadLock before kazoo 2.9 waits for writers that come after it, and these wait for it.
    run_and_kill({kazoo(server, log, "loop", "write"), mine("read"), kazoo(server, log, "loop", "write"), mine("write"),
                  mine("read")},
                 log, {"kazoo write", "dlock read", "dlock write"});
  }
  lock_service locks(server.url("base=/locks&names=" + names));
  CHECK(granted(locks.acquire("k", {.wait = 40s})));
}

TEST_CASE("zookeeper: readers of dlock and its neighbours read together, and a writer of either stops new ones",
          "[T33][T91]") {
  const auto [neighbour, we_write, crash] = GENERATE(table<std::string, bool, bool>(
      {{"curator", true, true}, {"curator", false, false}, {"kazoo", false, true}, {"kazoo", true, false}}));
  CAPTURE(neighbour, we_write, crash);
  const zookeeper_server server;
  const scratch_folder folder;
  const auto log = folder / "log";
  const std::string names = neighbour == "curator" ? "curator-readwrite" : "kazoo";
  const auto mine = [&](const char* mode) { return ours(server, log, "once", names, mode); };
  const auto theirs = [&, curators = neighbour == "curator"](const char* mode) {
    return curators ? curator(server, log, "once", mode) : kazoo(server, log, "once", mode);
  };
  const std::string mine_is = "dlock ", theirs_is = neighbour + " ";
  visitors all{server, log, crash};
  all.come(theirs("read"), 1);
  all.are_inside(1);
  all.come(mine("read"), 2);
  all.are_inside(2);
  all.come(we_write ? mine("write") : theirs("write"), 3);
  all.come(we_write ? theirs("read") : mine("read"), 4);
  lock_service locks(server.url("base=/locks&names=" + names));
  CHECK(locks.holders("k").size() == 2);
  CHECK(eventually([&] { return locks.waiters("k").count == 2; }));
  CHECK_FALSE(granted(locks.try_acquire("k", {.mode = shared})));
  CHECK_FALSE(granted(locks.try_acquire("k")));
  CHECK(read(log).order.size() == 2);
  all.end(0);
  all.end(1);
  all.are_inside(3);
  CHECK_FALSE(granted(locks.try_acquire("k", {.mode = shared})));
  all.end(2);
  all.are_inside(4);
  auto reading = locks.acquire("k", {.mode = shared});  // beside the last one
  reading.release();
  CHECK_FALSE(granted(locks.try_acquire("k")));
  all.end(3);
  CHECK(granted(locks.acquire("k", {.wait = 40s})));
  const auto writer = (we_write ? mine_is : theirs_is) + "write", last = (we_write ? theirs_is : mine_is) + "read";
  CHECK(read(log).order == words{theirs_is + "read", mine_is + "read", writer, last});
  CHECK(read(log).overlaps == 0);
}

TEST_CASE("zookeeper: no more have permits than there are, of dlock and of Curator, all killed at random",
          "[T48][T91]") {
  const zookeeper_server server;
  const scratch_folder folder;
  const auto log = folder / "log";
  const auto theirs = curator(server, log, "loop", "permit");
  const auto mine = ours(server, log, "loop", "curator-semaphore", "permit");
  run_and_kill({theirs, mine, theirs, mine, mine}, log, {"curator", "dlock"});
  lock_service locks(server.url("base=/locks&names=curator-semaphore"));
  CHECK(granted(locks.acquire("k", {.wait = 40s, .mode = one_of(1)})));
}

TEST_CASE("zookeeper: those who wait for a permit get it in order, of dlock and of Curator", "[T33][T91]") {
  const auto [we_first, crash] = GENERATE(table<bool, bool>({{true, true}, {false, false}}));
  CAPTURE(we_first, crash);
  const zookeeper_server server;
  const scratch_folder folder;
  const auto log = folder / "log";
  const auto theirs = curator(server, log, "once", "permit");
  const auto mine = ours(server, log, "once", "curator-semaphore", "permit");
  visitors all{server, log, crash};
  all.come(theirs, 1);
  all.are_inside(1);
  all.come(mine, 2);
  all.are_inside(2);
  all.come(we_first ? mine : theirs, 4);  // in the lock, and with a node among the permits
  all.come(we_first ? theirs : mine, 5);  // behind it
  lock_service locks(server.url("base=/locks&names=curator-semaphore"));
  CHECK_FALSE(granted(locks.try_acquire("k", {.mode = one_of(2)})));
  CHECK(eventually([&] { return locks.waiters("k").count == 2; }));
  CHECK(read(log).order.size() == 2);
  all.end(we_first ? 0 : 1);
  all.are_inside(3);
  CHECK_FALSE(granted(locks.try_acquire("k", {.mode = one_of(2)})));
  all.end(we_first ? 1 : 0);
  all.are_inside(4);
  CHECK_FALSE(granted(locks.try_acquire("k", {.mode = one_of(2)})));
  all.end(2);
  all.end(3);
  CHECK(granted(locks.acquire("k", {.wait = 40s, .mode = one_of(1)})));
  const std::string us = "dlock permit", them = "curator permit";
  CHECK(read(log).order == words{them, us, we_first ? us : them, we_first ? them : us});
  CHECK(read(log).overlaps == 0);
}

TEST_CASE("zookeeper: the check of the log finds what it is there to find") {
  const scratch_folder folder;
  const auto overlaps = [&](const std::string& text) {
    std::ofstream(folder / "log", std::ios::trunc) << text;
    return read(folder / "log").overlaps;
  };
  CHECK(overlaps("B x 1\nE x 1\nB y 2\nE y 2\nB x 1\nE x 1\n") == 0);
  CHECK(overlaps("B x 1\nB y 2\nE y 2\nB z 3\nE z 3\n") == 0);  // 1 was killed
  CHECK(overlaps("B x 1\nB y 2\nE x 1\nE y 2\n") == 1);
  CHECK(overlaps("B x 1\nB y 2\nE y 2\nE x 1\n") == 1);
  CHECK(overlaps("B x 1\nB y 2\nE y 2\nB x 1\nE x 1\n") == 1);
  CHECK(overlaps("E x 1\n") == 1);
  CHECK(overlaps("B x 1 read\nB y 2 read\nE x 1 read\nB x 1 read\nE y 2 read\nE x 1 read\n") == 0);
  CHECK(overlaps("B x 1 read\nB y 2 write\nE x 1 read\nE y 2 write\n") == 1);
  CHECK(overlaps("B x 1 write\nB y 2 read\nE y 2 read\nB y 2 read\nE y 2 read\nE x 1 write\n") == 2);
  CHECK(overlaps("B x 1 permit\nB y 2 permit\nE x 1 permit\nB z 3 permit\nE z 3 permit\nE y 2 permit\n") == 0);
  CHECK(overlaps("B x 1 permit\nB y 2 permit\nB z 3 permit\nE z 3 permit\nE x 1 permit\nE y 2 permit\n") == 1);
  CHECK(overlaps("B x 1 permit\nB y 2 permit\nB z 3 permit\nE z 3 permit\nE y 2 permit\n") == 0);  // 1 was killed
  CHECK(overlaps("B x 1 read\nB y 2 read\nB z 3 write\nE z 3 write\nB y 4 read\nE y 4 read\n") == 0);
}

}  // namespace dlock::test
