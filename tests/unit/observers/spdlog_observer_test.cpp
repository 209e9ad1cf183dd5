// SPDX-License-Identifier: BSL-1.0
#include "dlock/spdlog_observer.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "dlock/lock_service.hpp"
#include "dlock/stores/memory.hpp"
#include "support/test.hpp"

namespace {

using dlock::event;
using kind = dlock::event::kind;
using namespace std::chrono_literals;

struct log_fixture {
  dlock::stores::virtual_clock clock{};
  std::ostringstream out{};
  std::shared_ptr<spdlog::logger> logger =
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));

  log_fixture() {
    logger->set_pattern("%l %v");
    logger->set_level(spdlog::level::debug);
  }

  std::shared_ptr<dlock::observer> observer(bool hash_keys = false, unsigned per_second = 0) {
    return dlock::make_spdlog_observer(logger, {.hash_keys = hash_keys, .per_second = per_second, .time = &clock});
  }

  std::vector<std::string> lines() {
    std::vector<std::string> result;
    std::istringstream in(out.str());
    for (std::string line; std::getline(in, line);) result.push_back(line);
    out.str("");
    return result;
  }

  std::string line_of(const event& event, bool hash_keys = false) {
    observer(hash_keys)->on(event);
    const auto all = lines();
    return all.size() == 1 ? all.front() : "not one line";
  }
};

}  // namespace

TEST_CASE_METHOD(log_fixture, "spdlog: each kind of event is one line of pairs with its level") {
  CHECK(line_of({.what = kind::granted, .key = "order:42", .fence = 7, .waited = 1830us, .attempts = 3}) ==
        "debug granted key=order:42 fence=7 waited_us=1830 attempts=3 taken_over=false");
  CHECK(line_of({.what = kind::granted, .key = "k", .fence = 8, .taken_over = true}) ==
        "debug granted key=k fence=8 waited_us=0 attempts=0 taken_over=true");
  CHECK(line_of({.what = kind::reentered, .key = "k", .fence = 8}) == "debug reentered key=k fence=8");
  CHECK(line_of({.what = kind::busy, .key = "k", .waited = 2s}) == "debug busy key=k waited_us=2000000");
  CHECK(line_of({.what = kind::released, .key = "k", .fence = 8, .held = 5ms}) ==
        "debug released key=k fence=8 held_us=5000");
  CHECK(line_of({.what = kind::lost, .key = "k", .fence = 8, .held = 5ms, .reason = dlock::loss_reason::max_hold}) ==
        "error lost key=k fence=8 held_us=5000 reason=\"" + std::string(to_string(dlock::loss_reason::max_hold)) + '"');
  CHECK(line_of({.what = kind::split_brain, .key = "k", .fence = 8}) == "error split_brain key=k fence=8");
  CHECK(line_of({.what = kind::release_failed, .key = "k", .fence = 8, .text = "no answer"}) ==
        "warning release_failed key=k fence=8 text=\"no answer\"");
  CHECK(line_of({.what = kind::outcome_unknown, .key = "k", .text = "gone"}) ==
        "warning outcome_unknown key=k text=gone");
  CHECK(line_of({.what = kind::acquire_failed, .key = "k", .text = "gone"}) ==
        "warning acquire_failed key=k text=gone");
  CHECK(line_of({.what = kind::session_opened, .text = "0a1b"}) == "info session_opened text=0a1b");
  CHECK(line_of({.what = kind::session_lost, .reason = dlock::loss_reason::unreachable, .text = "0a1b"}) ==
        "error session_lost reason=unreachable text=0a1b");
  CHECK(line_of({.what = kind::renewal_late, .text = "gone"}) == "warning renewal_late text=gone");
  CHECK(line_of({.what = kind::cleanup, .attempts = 12}) == "debug cleanup rows=12");
}

TEST_CASE_METHOD(log_fixture, "spdlog: lines name their service, if it has a name") {
  const auto named =
      dlock::make_spdlog_observer(logger, {.per_second = 1, .service = "orders of today", .time = &clock});
  for (int i = 0; i < 2; ++i) named->on({.what = kind::released, .key = "k", .fence = 8});
  clock.advance(1s);
  named->on({.what = kind::busy, .key = "k"});
  CHECK(lines() == std::vector<std::string>{"debug released key=k fence=8 held_us=0 service=\"orders of today\"",
                                            "debug suppressed event=released count=1 service=\"orders of today\"",
                                            "debug busy key=k waited_us=0 service=\"orders of today\""});
}

TEST_CASE_METHOD(log_fixture, "spdlog: no key or text can forge a line or a pair") {
  CHECK(line_of({.what = kind::reentered, .key = "a\nerror lost key=b", .fence = 1}) ==
        R"(debug reentered key="a\x0aerror lost key=b" fence=1)");
  CHECK(line_of({.what = kind::reentered, .key = "k\" fence=\"9", .fence = 1}) ==
        R"(debug reentered key="k\" fence=\"9" fence=1)");
  CHECK(line_of({.what = kind::reentered, .key = "k\\", .fence = 1}) == R"(debug reentered key=k\\ fence=1)");
  CHECK(line_of({.what = kind::reentered, .key = "{}{0}%v", .fence = 1}) == "debug reentered key={}{0}%v fence=1");
  CHECK(line_of({.what = kind::renewal_late, .text = "\x1b[31mred\r\n"}) ==
        R"(warning renewal_late text=\x1b[31mred\x0d\x0a)");
}

TEST_CASE_METHOD(log_fixture, "spdlog: hashed keys appear nowhere as they are, and equal ones look equal") {
  // The beginning of the SHA-256 of "patient:jane doe".
  const std::string hash = "sha256:60f1f5a7aa6e0ab7";
  const std::string key = "patient:jane doe";
  CHECK(line_of({.what = kind::reentered, .key = key, .fence = 1}, true) == "debug reentered key=" + hash + " fence=1");
  CHECK(line_of({.what = kind::acquire_failed, .key = key, .text = "key 'patient:jane doe': gone"}, true) ==
        "warning acquire_failed key=" + hash + " text=\"key '" + hash + "': gone\"");
  const std::string odd = "jane\ndoe";
  const std::string line =
      line_of({.what = kind::acquire_failed, .key = odd, .text = "raw jane\ndoe, escaped jane\\x0adoe"}, true);
  CHECK(line.find("jane") == std::string::npos);
  CHECK(line.find("doe") == std::string::npos);
}

TEST_CASE_METHOD(log_fixture, "spdlog: events below the logger's level are not logged, nor counted") {
  const auto observer = this->observer(false, 1);
  logger->set_level(spdlog::level::warn);
  for (int i = 0; i != 10; ++i) observer->on({.what = kind::granted, .key = "k"});
  observer->on({.what = kind::lost, .key = "k"});
  CHECK(lines().size() == 1);
  logger->set_level(spdlog::level::debug);
  clock.advance(2s);
  observer->on({.what = kind::granted, .key = "k"});
  CHECK(lines().size() == 1);
}

TEST_CASE_METHOD(log_fixture, "spdlog: lines are limited per kind and second, and what is left out is counted",
                 "[T94]") {
  const auto observer = this->observer(false, 3);
  for (int i = 0; i != 10; ++i) observer->on({.what = kind::lost, .key = "k"});
  for (int i = 0; i != 2; ++i) observer->on({.what = kind::granted, .key = "k"});
  CHECK(lines().size() == 5);
  clock.advance(999ms);
  observer->on({.what = kind::lost, .key = "k"});
  CHECK(lines().empty());
  clock.advance(1ms);
  observer->on({.what = kind::granted, .key = "k"});  // another kind's event tells it, too
  CHECK(lines().front() == "error suppressed event=lost count=8");
  observer->on({.what = kind::lost, .key = "k"});
  CHECK(lines().size() == 1);
}

TEST_CASE_METHOD(log_fixture, "spdlog: a late count is told at the latest when the observer goes", "[T94]") {
  auto observer = this->observer(false, 1);
  for (int i = 0; i != 4; ++i) observer->on({.what = kind::lost, .key = "k"});
  CHECK(lines().size() == 1);
  observer.reset();
  CHECK(lines() == std::vector<std::string>{"error suppressed event=lost count=3"});
}

TEST_CASE_METHOD(log_fixture, "spdlog: without a limit every event is logged") {
  const auto observer = this->observer(false, 0);
  for (int i = 0; i != 1000; ++i) observer->on({.what = kind::busy, .key = "k"});
  CHECK(lines().size() == 1000);
}

TEST_CASE_METHOD(log_fixture, "spdlog: it watches a service") {
  {
    dlock::lock_service locks{"memory:", {.observer = observer()}};
    dlock::lease held = locks.acquire("k");
    held.release();
  }
  const std::string all = out.str();
  CHECK(all.find("debug granted key=k fence=1 ") != std::string::npos);
  CHECK(all.find("debug released key=k fence=1 ") != std::string::npos);
}

TEST_CASE("spdlog: a null logger is refused at once") {
  CHECK_THROWS_AS(dlock::make_spdlog_observer(nullptr), std::invalid_argument);
}

TEST_CASE_METHOD(log_fixture, "spdlog: with hashed keys no text names another key") {
  const std::array<std::string_view, 2> others{"patient:SECRET-ONE", "b\nSECRET"};
  const auto cycle = line_of({.what = kind::deadlock,
                              .key = "patient:SECRET",
                              .text = "it waits for 'patient:SECRET-ONE'; that holds 'b\\x0aSECRET'",
                              .keys = others},
                             true);
  CHECK(cycle.find("SECRET") == std::string::npos);
  CHECK(cycle.find("it waits for 'sha256:") != std::string::npos);
  // A database's error, and a handler's, which dlock has not composed.
  const auto foreign = line_of({.what = kind::acquire_failed,
                                .key = "k",
                                .text = "can't insert: Duplicate entry 'o'SECRET's' for \"SECRET\": it isn't 'a' one"},
                               true);
  CHECK(foreign.find("SECRET") == std::string::npos);
  CHECK(foreign.find("can't insert: Duplicate entry 'sha256:") != std::string::npos);
  CHECK(foreign.find("it isn't 'sha256:") != std::string::npos);
  // A key that is a part of another one, and of the hash.
  CHECK(line_of({.what = kind::renewal_late, .key = "a", .text = "a: late"}, true).find("late") != std::string::npos);
}
