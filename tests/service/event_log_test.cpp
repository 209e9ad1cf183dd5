// SPDX-License-Identifier: BSL-1.0

/// dlock/event_log.hpp: what a service does, as lines of a file.

#include "dlock/event_log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "dlock/lock_service.hpp"
#include "dlock/stores/memory.hpp"
#include "support/calls.hpp"
#include "support/scratch_folder.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

using kind = event::kind;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Without what differs from run to run.
std::string rest(const std::string& line) { return line.substr(line.find("\"event\"")); }

}  // namespace

TEST_CASE("event log: each event is a line with the fields of its kind") {
  const scratch_folder folder;
  const auto path = folder / "log";
  const auto now = [] { return std::chrono::system_clock::time_point{1'732'428'695s + 123'456us}; };
  const auto log = make_event_log(path, {.service = "shop", .now = now});
  log->on({.what = kind::granted, .key = "k", .fence = 7, .waited = 3us, .attempts = 2, .taken_over = true});
  log->on({.what = kind::busy, .key = "k", .waited = 2s});
  log->on({.what = kind::released, .key = "k", .fence = 7, .held = 5ms});
  log->on({.what = kind::lost, .key = "k", .fence = 7, .held = 5ms, .reason = loss_reason::max_hold});
  log->on({.what = kind::session_lost, .reason = loss_reason::unreachable, .text = "id"});
  log->on({.what = kind::cleanup, .attempts = 3});
  log->on({.what = kind::renewal_late, .text = "say \"when\" \\ \x01"});
  const auto lines = lines_of(path);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0].starts_with("{\"time_us\":1732428695123456,\"host\":\""));
  CHECK(lines[0].find("\"pid\":" + std::to_string(::getpid()) + ",\"service\":\"shop\",") != std::string::npos);
  CHECK(rest(lines[0]) ==
        "\"event\":\"granted\",\"key\":\"k\",\"fence\":7,\"waited_us\":3,\"attempts\":2,\"taken_over\":true}");
  CHECK(rest(lines[1]) == "\"event\":\"busy\",\"key\":\"k\",\"waited_us\":2000000}");
  CHECK(rest(lines[2]) == "\"event\":\"released\",\"key\":\"k\",\"fence\":7,\"held_us\":5000}");
  CHECK(rest(lines[3]) == "\"event\":\"lost\",\"key\":\"k\",\"fence\":7,\"held_us\":5000,\"reason\":\"" +
                              std::string(to_string(loss_reason::max_hold)) + "\"}");
  CHECK(rest(lines[4]) == "\"event\":\"session_lost\",\"reason\":\"unreachable\",\"text\":\"id\"}");
  CHECK(rest(lines[5]) == "\"event\":\"" + std::string(to_string(kind::cleanup)) + "\",\"rows\":3}");
  CHECK(rest(lines[6]) == "\"event\":\"renewal_late\",\"text\":\"say \\\"when\\\" \\\\\\\\ \\\\x01\"}");
}

TEST_CASE("event log: a file that was moved away is made anew, and no line is lost") {
  const scratch_folder folder;
  const auto path = folder / "log";
  std::chrono::system_clock::time_point time{1'732'428'695s};
  const auto log = make_event_log(path, {.now = [&] { return time; }});
  log->on({.what = kind::busy, .key = "1"});
  REQUIRE(std::rename(path.c_str(), (path + ".1").c_str()) == 0);
  log->on({.what = kind::busy, .key = "2"});  // within the second
  time += 1s;
  log->on({.what = kind::busy, .key = "3"});
  CHECK(lines_of(path + ".1").size() == 2);
  REQUIRE(lines_of(path).size() == 1);
  CHECK(rest(lines_of(path)[0]).find("\"3\"") != std::string::npos);
  REQUIRE(::unlink(path.c_str()) == 0);
  time -= 1h;  // a clock that was set back
  log->on({.what = kind::busy, .key = "4"});
  CHECK(lines_of(path).size() == 1);
  // It can't be made: the line is in the file that there was, and the service counts it.
  REQUIRE(std::rename(path.c_str(), (path + ".2").c_str()) == 0);
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  time += 1s;
  CHECK_THROWS_AS(log->on({.what = kind::busy, .key = "5"}), std::system_error);
  CHECK(lines_of(path + ".2").size() == 2);
}

TEST_CASE("event log: with hashed keys the file has none") {
  const scratch_folder folder;
  const auto path = folder / "log";
  const auto log = make_event_log(path, {.hash_keys = true});
  const std::array<std::string_view, 1> others{"patient:SECRET-ONE"};
  log->on({.what = kind::granted, .key = "SECRET"});
  log->on({.what = kind::deadlock, .key = "k", .text = "waits for 'patient:SECRET-ONE'", .keys = others});
  const auto lines = lines_of(path);
  REQUIRE(lines.size() == 2);
  for (const auto& each : lines) CHECK(each.find("SECRET") == std::string::npos);
  CHECK(lines[0].find("\"key\":\"sha256:") != std::string::npos);
}

TEST_CASE("event log: threads and services write whole lines into one file, behind what is there") {
  const scratch_folder folder;
  const auto path = folder / "log";
  std::ofstream(path) << "before\n";
  const auto one = make_event_log(path, {.service = "1"}), two = make_event_log(path, {.service = "2"});
  on_threads(8, [&](int i) {
    for (int each = 0; each != 500; ++each) {
      const auto key = std::to_string(i) + ":" + std::to_string(each);
      (i % 2 == 0 ? one : two)->on({.what = kind::granted, .key = key});
    }
  });
  const auto lines = lines_of(path);
  REQUIRE(lines.size() == 4001);
  CHECK(lines[0] == "before");
  std::set<std::string> keys;
  for (std::size_t i = 1; i != lines.size(); ++i) {
    CHECK((lines[i].front() == '{' && lines[i].back() == '}'));
    keys.insert(rest(lines[i]));
  }
  CHECK(keys.size() == 4000);
}

TEST_CASE("event log: a service writes what it does") {
  const scratch_folder folder;
  stores::virtual_clock clock;
  {
    lock_service locks{std::make_shared<stores::memory_store>(clock),
                       {.observer = make_event_log(folder / "log"), .time = &clock}};
    const auto held = locks.acquire("k");
  }
  std::vector<std::string> kinds;
  for (const auto& each : lines_of(folder / "log")) kinds.push_back(rest(each).substr(0, rest(each).find(',')));
  CHECK(kinds ==
        std::vector<std::string>{"\"event\":\"session_opened\"", "\"event\":\"granted\"", "\"event\":\"released\""});
}

TEST_CASE("event log: a file that can't be opened is an error that names it, a full disk a failed observer") {
  const auto wrong = caught<std::system_error>([&] { make_event_log("/nonexistent/log"); });
  CHECK(std::string(wrong.what()).find("/nonexistent/log") != std::string::npos);
  stores::virtual_clock clock;
  lock_service locks{std::make_shared<stores::memory_store>(clock),
                     {.observer = make_event_log("/dev/full"), .time = &clock}};
  { const auto held = locks.acquire("k"); }
  CHECK(locks.count(kind::observer_failed) >= 2);
}

}  // namespace dlock::test
