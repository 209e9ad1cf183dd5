// SPDX-License-Identifier: BSL-1.0
#include "dlock/trace.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using kind = dlock::event::kind;
using namespace std::chrono_literals;
using std::chrono::system_clock;

constexpr system_clock::time_point now{1'000'000s};

std::map<std::string, std::string> readable(std::span<const dlock::trace_attribute> all) {
  std::map<std::string, std::string> made;
  for (const auto& each : all) {
    const auto text = std::visit(
        [](const auto& value) -> std::string {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string_view>) {
            return std::string(value);
          } else {
            return std::to_string(value);
          }
        },
        each.value);
    CHECK(made.emplace(each.name, text).second);
  }
  return made;
}

struct recorder final : dlock::trace_sink {
  struct span {
    std::string name;
    dlock::trace_span::kind what;
    system_clock::time_point begin, end;
    bool failed;
    std::string description;
    std::map<std::string, std::string> attributes;
  };
  void on_span(const dlock::trace_span& s) override {
    spans.push_back(
        {std::string(s.name), s.what, s.begin, s.end, s.failed, std::string(s.description), readable(s.attributes)});
  }
  void on_event(std::string_view name, system_clock::time_point at,
                std::span<const dlock::trace_attribute> attributes) override {
    CHECK(at == now);
    events.emplace_back(name, readable(attributes));
  }
  std::vector<span> spans;
  std::vector<std::pair<std::string, std::map<std::string, std::string>>> events;
};

struct trace_fixture {
  std::shared_ptr<recorder> sink = std::make_shared<recorder>();
  std::shared_ptr<dlock::observer> observer =
      dlock::make_trace_observer(sink, {.system = "mysql", .address = "db1", .port = 3306, .now = [] { return now; }});
};

using attributes = std::map<std::string, std::string>;

}  // namespace

TEST_CASE_METHOD(trace_fixture, "trace: an acquire is a client span from the call to its answer", "[trace]") {
  observer->on({.what = kind::granted, .key = "k\n", .fence = 7, .waited = 20ms, .taken_over = true});
  observer->on({.what = kind::busy, .key = "k", .waited = 2s});
  observer->on({.what = kind::acquire_failed, .key = "k", .text = "gone away"});
  REQUIRE(sink->spans.size() == 3);
  const auto& granted = sink->spans[0];
  CHECK(granted.name == "dlock.acquire");
  CHECK(granted.what == dlock::trace_span::kind::client);
  CHECK(granted.begin == now - 20ms);
  CHECK(granted.end == now);
  CHECK_FALSE(granted.failed);
  CHECK(granted.attributes == attributes{{"db.system.name", "mysql"},
                                         {"server.address", "db1"},
                                         {"server.port", "3306"},
                                         {"dlock.key", "k\\x0a"},
                                         {"dlock.fencing_token", "7"},
                                         {"dlock.taken_over", "1"},
                                         {"dlock.result", "granted"}});
  CHECK(sink->spans[1].attributes.at("dlock.result") == "busy");
  CHECK_FALSE(sink->spans[1].failed);
  CHECK(sink->spans[1].begin == now - 2s);
  CHECK(sink->spans[2].failed);
  CHECK(sink->spans[2].description == "gone away");
  CHECK(sink->spans[2].attributes.at("error.type") == "acquire_failed");
  CHECK(sink->events.empty());
}

TEST_CASE_METHOD(trace_fixture, "trace: a hold is a span that fails if the lease was lost", "[trace]") {
  observer->on({.what = kind::released, .key = "k", .fence = 7, .held = 5ms});
  observer->on({.what = kind::lost, .key = "k", .fence = 8, .held = 1s, .reason = dlock::loss_reason::expired});
  REQUIRE(sink->spans.size() == 2);
  CHECK(sink->spans[0].name == "dlock.hold");
  CHECK(sink->spans[0].what == dlock::trace_span::kind::internal);
  CHECK(sink->spans[0].begin == now - 5ms);
  CHECK_FALSE(sink->spans[0].failed);
  CHECK(sink->spans[1].failed);
  CHECK(sink->spans[1].description == "expired");
  CHECK(sink->spans[1].attributes.at("error.type") == "expired");
}

TEST_CASE_METHOD(trace_fixture, "trace: everything else is an event with the name of its kind", "[trace]") {
  for (const kind each : dlock::event_kinds) {
    const bool span = each == kind::granted || each == kind::busy || each == kind::acquire_failed ||
                      each == kind::released || each == kind::lost;
    if (span) continue;
    sink->events.clear();
    observer->on({.what = each, .reason = dlock::loss_reason::unreachable, .text = "text"});
    REQUIRE(sink->events.size() == 1);
    CHECK(sink->events[0].first == "dlock." + std::string(to_string(each)));
    CHECK(sink->events[0].second.at("message") == "text");
    CHECK(sink->events[0].second.at("error.type") == "unreachable");
  }
  CHECK(sink->spans.empty());
}

TEST_CASE("trace: what is not known is no attribute, and a sink must be given", "[trace]") {
  const auto sink = std::make_shared<recorder>();
  dlock::make_trace_observer(sink)->on({.what = kind::released});
  CHECK(sink->spans.at(0).attributes.empty());
  CHECK_THROWS_AS(dlock::make_trace_observer(nullptr), std::invalid_argument);
}
