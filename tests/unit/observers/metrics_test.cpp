// SPDX-License-Identifier: BSL-1.0

#include "dlock/metrics.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/stores/memory.hpp"
#include "dlock/trace.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

using namespace std::chrono_literals;
using dlock::event;
using std::chrono::system_clock;
using family = dlock::metric_family;
using kind = dlock::event::kind;

namespace {

const family::sample& sample(const std::vector<family>& all, std::string_view name, std::string_view label = {}) {
  for (const auto& each : all) {
    if (each.name != name) continue;
    for (const auto& one : each.samples) {
      if (label.empty() || one.labels.back().value == label) return one;
    }
  }
  throw std::runtime_error("no sample " + std::string(name) + " " + std::string(label));
}

double value(const dlock::metrics& of, std::string_view name, std::string_view label = {}) {
  const auto all = of.read();
  return sample(all, name, label).value;
}

/// In the bucket with that upper bound, and in no smaller one.
std::uint64_t in_bucket(const family::sample& histogram, double upper_bound) {
  std::uint64_t before = 0;
  for (const auto& each : histogram.buckets) {
    if (each.upper_bound >= upper_bound) return each.count - before;
    before = each.count;
  }
  return 0;
}

}  // namespace

TEST_CASE("metrics: each event is counted under its kind, as the service counts it") {
  dlock::stores::virtual_clock clock;
  const auto numbers = std::make_shared<dlock::metrics>();
  dlock::lock_service locks{std::make_shared<dlock::stores::memory_store>(clock),
                            {.observer = numbers, .time = &clock}};
  {
    const auto held = locks.acquire("a");
    const auto again = locks.acquire("a");
    const auto other = locks.acquire("b");
  }
  dlock::lock_service others{std::make_shared<dlock::stores::memory_store>(clock), {.time = &clock}};
  for (const kind each : dlock::event_kinds) {
    CHECK(value(*numbers, "dlock_events_total", std::string(to_string(each))) ==
          static_cast<double>(locks.count(each)));
  }
  CHECK(value(*numbers, "dlock_events_total", "granted") == 2);
  CHECK(value(*numbers, "dlock_events_total", "reentered") == 1);
}

TEST_CASE("metrics: times are in the first bucket that is not below them") {
  dlock::metrics of;
  const auto waited = [&](std::chrono::microseconds time) { of.on({.what = kind::granted, .waited = time}); };
  for (const auto time : {-5us, 0us, 100us}) waited(time);
  waited(101us);
  waited(1ms);
  waited(1'000'001us);
  waited(2h);
  const auto all = of.read();
  const auto& histogram = sample(all, "dlock_acquire_wait_seconds", "granted");
  CHECK(in_bucket(histogram, 0.0001) == 3);
  CHECK(in_bucket(histogram, 0.00025) == 1);
  CHECK(in_bucket(histogram, 0.001) == 1);
  CHECK(in_bucket(histogram, 1.0) == 0);
  CHECK(in_bucket(histogram, 2.5) == 1);
  CHECK(in_bucket(histogram, std::numeric_limits<double>::infinity()) == 1);
  CHECK(histogram.buckets.back().count == 7);
  CHECK(histogram.value > 7201.0);
  CHECK(histogram.value < 7201.1);
  CHECK(sample(all, "dlock_acquire_wait_seconds", "busy").buckets.back().count == 0);
  // Every bound is its own bucket's, and no other one's.
  double before = 0;
  for (const auto& each : histogram.buckets) {
    CHECK(each.upper_bound > before);
    before = each.upper_bound;
  }
}

TEST_CASE("metrics: every time from 1 us to 2 h is in the bucket that its bounds say") {
  for (std::int64_t us = 1; us < 7'200'000'000; us += 1 + us / 3) {
    dlock::metrics of;
    of.on({.what = kind::busy, .waited = std::chrono::microseconds{us}});
    const auto all = of.read();
    for (const auto& each : sample(all, "dlock_acquire_wait_seconds", "busy").buckets) {
      INFO(us << " us, bucket " << each.upper_bound);
      CHECK(each.count == (static_cast<double>(us) <= each.upper_bound * 1e6 + 0.5 ? 1U : 0U));
    }
  }
}

TEST_CASE("metrics: losses by reason, take-overs, statements and cleaned rows have counters of their own") {
  dlock::metrics of;
  of.on({.what = kind::lost, .held = 2s, .reason = dlock::loss_reason::unreachable});
  of.on({.what = kind::session_lost, .reason = dlock::loss_reason::server_changed});
  of.on({.what = kind::granted, .attempts = 3, .taken_over = true});
  of.on({.what = kind::released, .held = 4ms});
  of.on({.what = kind::cleanup, .attempts = 12});
  CHECK(value(of, "dlock_leases_lost_total", "unreachable") == 1);
  CHECK(value(of, "dlock_leases_lost_total", "expired") == 0);
  CHECK(value(of, "dlock_sessions_lost_total", std::string(to_string(dlock::loss_reason::server_changed))) == 1);
  CHECK(value(of, "dlock_take_overs_total") == 1);
  CHECK(value(of, "dlock_acquire_statements_total") == 3);
  CHECK(value(of, "dlock_cleanup_rows_total") == 12);
  CHECK(value(of, "dlock_hold_seconds", "released") == 0.004);
  CHECK(value(of, "dlock_hold_seconds", "lost") == 2);
}

TEST_CASE("metrics: threads count together, and nothing is lost between them") {
  dlock::metrics of;
  dlock::test::on_threads(20, [&](int) {
    for (int each = 0; each != 5'000; ++each) of.on({.what = kind::released, .held = 1ms});
  });
  CHECK(value(of, "dlock_events_total", "released") == 100'000);
  const auto all = of.read();
  CHECK(sample(all, "dlock_hold_seconds", "released").buckets.back().count == 100'000);
}

TEST_CASE("metrics: the gauges are those of the services that are watched, as long as they are") {
  dlock::stores::virtual_clock clock;
  const auto numbers = std::make_shared<dlock::metrics>();
  dlock::lock_service one{std::make_shared<dlock::stores::memory_store>(clock), {.time = &clock}};
  dlock::lock_service two{std::make_shared<dlock::stores::memory_store>(clock), {.time = &clock}};
  const auto a = one.acquire("a"), b = one.acquire("b"), c = two.acquire("c");
  CHECK(value(*numbers, "dlock_held_keys") == 0);
  {
    auto first = numbers->watch(one);
    CHECK(value(*numbers, "dlock_held_keys") == 2);
    auto second = numbers->watch(two);
    CHECK(value(*numbers, "dlock_held_keys") == 3);
    CHECK(value(*numbers, "dlock_waiting_calls") == 0);
    auto moved = std::move(second);
    CHECK(value(*numbers, "dlock_held_keys") == 3);
    moved = std::move(first);  // the second one is not watched any more
    CHECK(value(*numbers, "dlock_held_keys") == 2);
  }
  CHECK(value(*numbers, "dlock_held_keys") == 0);
}

TEST_CASE("metrics: the ages of the oldest hold and of the oldest wait are gauges") {
  dlock::stores::virtual_clock clock;
  const auto numbers = std::make_shared<dlock::metrics>();
  const auto database = std::make_shared<dlock::stores::memory_store>(clock);
  dlock::lock_service one{database, {.time = &clock}}, two{database, {.time = &clock}};
  const auto first = numbers->watch(one), second = numbers->watch(two);
  CHECK(value(*numbers, "dlock_oldest_hold_seconds") == 0);
  CHECK(value(*numbers, "dlock_oldest_wait_seconds") == 0);
  auto old = one.acquire("a", {.ttl = 1h});
  clock.advance(90s);
  auto young = two.acquire("b", {.ttl = 1h});
  clock.advance(10s);
  CHECK(value(*numbers, "dlock_oldest_hold_seconds") == 100);
  CHECK(one.oldest_hold() == 100s);
  CHECK(two.oldest_hold() == 10s);
  CHECK(two.oldest_wait() == 0s);
  {
    const std::jthread waiter([&] { static_cast<void>(two.try_acquire("a", {.wait = 60s})); });
    CHECK(clock.at_rest({.callers = 1}));
    clock.advance(20s);
    CHECK(clock.at_rest({.callers = 1}));
    CHECK(value(*numbers, "dlock_oldest_wait_seconds") == 20);
    old.release();
    clock.advance(1s);
  }
  CHECK(value(*numbers, "dlock_oldest_wait_seconds") == 0);
  young.release();
  CHECK(value(*numbers, "dlock_oldest_hold_seconds") == 0);
}

TEST_CASE("metrics: several services are one text, in which each metric is named once") {
  const auto orders = std::make_shared<dlock::metrics>(dlock::metrics_options{.service = "orders"});
  const auto stock = std::make_shared<dlock::metrics>(dlock::metrics_options{.service = "stock"});
  orders->on({.what = kind::granted});
  stock->on({.what = kind::granted});
  stock->on({.what = kind::granted});
  const auto text = dlock::metrics::text({orders, stock});
  CHECK(text.find("dlock_events_total{service=\"orders\",event=\"granted\"} 1\n") != std::string::npos);
  CHECK(text.find("dlock_events_total{service=\"stock\",event=\"granted\"} 2\n") != std::string::npos);
  std::set<std::string> heads;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) CHECK(heads.insert(line.substr(0, line.find(' ', 7))).second);
  }
  CHECK(heads.size() == 2 * orders->read().size());
  CHECK_THROWS_AS(dlock::metrics::text({orders, nullptr}), std::invalid_argument);
  CHECK_THROWS_WITH(dlock::metrics::text({orders, orders}), Catch::Matchers::ContainsSubstring("'orders'"));
}

TEST_CASE("metrics: in Prometheus' text format, with a service and escaped labels") {
  dlock::metrics of{{.service = "a \"b\"\\\n"}};
  of.on({.what = kind::granted, .waited = 3ms});
  const auto text = of.text();
  CHECK(text.find("# TYPE dlock_events_total counter\n") != std::string::npos);
  CHECK(text.find("dlock_events_total{service=\"a \\\"b\\\"\\\\\\n\",event=\"granted\"} 1\n") != std::string::npos);
  CHECK(text.find("# TYPE dlock_acquire_wait_seconds histogram\n") != std::string::npos);
  CHECK(text.find(",result=\"granted\",le=\"0.0025\"} 0\n") != std::string::npos);
  CHECK(text.find(",result=\"granted\",le=\"0.005\"} 1\n") != std::string::npos);
  CHECK(text.find(",result=\"granted\",le=\"+Inf\"} 1\n") != std::string::npos);
  CHECK(text.find("dlock_acquire_wait_seconds_sum{service=") != std::string::npos);
  const auto plain = dlock::metrics{}.text();
  CHECK(plain.find("dlock_held_keys 0\n") != std::string::npos);
  CHECK(plain.find("service=") == std::string::npos);
  std::set<std::string> names;
  for (const auto& each : of.read()) CHECK(names.insert(each.name).second);
}

namespace {

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

TEST_CASE_METHOD(trace_fixture, "trace: an acquire is a client span from the call to its answer") {
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

TEST_CASE_METHOD(trace_fixture, "trace: a hold is a span that fails if the lease was lost") {
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

TEST_CASE_METHOD(trace_fixture, "trace: everything else is an event with the name of its kind") {
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

TEST_CASE("trace: what is not known is no attribute, and a sink must be given") {
  const auto sink = std::make_shared<recorder>();
  dlock::make_trace_observer(sink)->on({.what = kind::released});
  CHECK(sink->spans.at(0).attributes.empty());
  CHECK_THROWS_AS(dlock::make_trace_observer(nullptr), std::invalid_argument);
}

TEST_CASE("trace: with hashed keys no attribute and no text has one") {
  const auto sink = std::make_shared<recorder>();
  const auto observer = dlock::make_trace_observer(sink, {.hash_keys = true, .now = [] { return now; }});
  const std::array<std::string_view, 1> others{"patient:SECRET-ONE"};
  observer->on({.what = kind::deadlock, .key = "SECRET", .text = "waits for 'patient:SECRET-ONE'", .keys = others});
  observer->on({.what = kind::acquire_failed, .key = "SECRET", .text = "key 'SECRET' is gone"});
  REQUIRE(sink->events.size() == 1);
  CHECK(sink->events[0].second.at("dlock.key").starts_with("sha256:"));
  CHECK(sink->events[0].second.at("message").starts_with("waits for 'sha256:"));
  REQUIRE(sink->spans.size() == 1);
  CHECK(sink->spans[0].description == "key '" + sink->spans[0].attributes.at("dlock.key") + "' is gone");
}
