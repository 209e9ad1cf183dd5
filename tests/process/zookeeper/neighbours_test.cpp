// SPDX-License-Identifier: BSL-1.0

/// dlock beside programs that lock by Apache Curator and by kazoo, on one path. Who is inside writes a line when it
/// comes and one before it goes, so what was written by two at once shows.

#include <fmt/format.h>

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

/// Who came in while another was inside: right if that one has been killed, and so has never written again.
visits read(const std::string& log) {
  visits found;
  std::ifstream in(log);
  std::string inside;
  std::set<std::string> dead;
  for (std::string line; std::getline(in, line);) {
    std::istringstream all(line);
    std::string what, kind, pid;
    all >> what >> kind >> pid;
    if (what == "error") {
      ++found.errors;
      UNSCOPED_INFO(line);
    } else if (what == "B") {
      if (!inside.empty()) dead.insert(inside);
      found.overlaps += dead.contains(pid) ? 1 : 0;
      inside = pid;
      ++found.of[kind];
      found.order.push_back(kind);
    } else {
      found.overlaps += inside == pid ? 0 : 1;
      inside.clear();
    }
  }
  return found;
}

words curator(const zookeeper_server& server, const std::string& log, const std::string& how) {
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
          how};
}

words kazoo(const zookeeper_server& server, const std::string& log, const std::string& how) {
  return {DLOCK_TEST_PYTHON, DLOCK_TEST_KAZOO_PY, server.address(), "/locks/k", log, how};
}

words ours(const zookeeper_server& server, const std::string& log, const std::string& how, const std::string& names) {
  return {DLOCK_TEST_ZOOKEEPER_WORKER, server.url("base=/locks&names=" + names), "k", log, how};
}

/// How many nodes stand in the queue.
int queue_length(const zookeeper_server& server) {
  const auto text = server.ask("dump");
  int count = 0;
  for (auto at = text.find("/locks/k/"); at != std::string::npos; at = text.find("/locks/k/", at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("zookeeper: dlock and its neighbours exclude each other, all killed at random", "[T48][T91]") {
  const auto neighbour = GENERATE(as<std::string>{}, "curator", "kazoo", "kazoo with a pattern");
  CAPTURE(neighbour);
  const zookeeper_server server;
  const scratch_folder folder;
  const auto log = folder / "log";
  auto theirs = neighbour == "curator" ? curator(server, log, "loop") : kazoo(server, log, "loop");
  if (neighbour == "kazoo with a pattern") theirs.emplace_back("lock-");
  const auto mine = ours(server, log, "loop", neighbour == "kazoo" ? "kazoo" : "curator");
  const auto kind = neighbour.substr(0, neighbour.find(' '));
  {
    std::vector<std::unique_ptr<child_process>> children;
    for (const auto& command : {theirs, mine, theirs, mine})
      children.push_back(std::make_unique<child_process>(command));
    REQUIRE(eventually([&] { return read(log).of[kind] > 10 && read(log).of["dlock"] > 10; }, 60s));
    std::mt19937 random{20};
    const auto begun = std::chrono::steady_clock::now();
    const auto enough = [&] {
      const auto now = std::chrono::steady_clock::now();
      if (now - begun < 4s) return false;
      return now - begun > 60s || (read(log).of[kind] > 20 && read(log).of["dlock"] > 20);
    };
    while (!enough()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{500 + random() % 1000});
      auto& victim = *children[random() % children.size()];
      victim.kill();
      victim.start();
    }
  }
  auto found = read(log);
  CAPTURE(found.of[kind], found.of["dlock"]);
  CHECK(found.overlaps == 0);
  CHECK(found.errors == 0);
  CHECK(found.of[kind] > 20);
  CHECK(found.of["dlock"] > 20);
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
  CHECK(read(log).order == words{neighbour, "dlock", neighbour, "dlock"});
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
  CHECK(overlaps("B x 1\nB y 2\nE x 1\nE y 2\n") == 2);
  CHECK(overlaps("B x 1\nB y 2\nE y 2\nE x 1\n") == 1);
  CHECK(overlaps("B x 1\nB y 2\nE y 2\nB x 1\nE x 1\n") == 1);
}

}  // namespace dlock::test
