// SPDX-License-Identifier: BSL-1.0

#include <dlock/version.hpp>
#include <new>

#include "base/background_thread.hpp"
#include "base/late_object.hpp"
#include "base/lock_settings.hpp"
#include "dlock/detail/option_limits.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/observer.hpp"
#include "dlock/service_options.hpp"
#include "dlock/store_interface/id128.hpp"
#include "engine/registry/service_context.hpp"
#include "support/calls.hpp"
#include "support/each_option.hpp"
#include "support/test.hpp"

using namespace dlock;
using namespace std::chrono_literals;
using dlock::base::background_thread;
using dlock::base::late_object;

static_assert(std::is_base_of_v<error, lock_timeout> && std::is_base_of_v<error, lock_refused> &&
              std::is_base_of_v<error, lock_lost> && std::is_base_of_v<error, store_error> &&
              std::is_base_of_v<std::system_error, error>);

TEST_CASE("error: each code has a text of its own in the category") {
  CHECK(std::string(error_category().name()) == "dlock");
  std::set<std::string> texts;
  for (int code = 1; code <= static_cast<int>(errc::outcome_unknown); ++code) {
    texts.insert(error_category().message(code));
  }
  CHECK(texts.size() == static_cast<std::size_t>(errc::outcome_unknown));
  CHECK_FALSE(error_category().message(12345).empty());
  const std::error_code code = errc::closed;
  CHECK(code.category() == error_category());
  CHECK(code == errc::closed);
}

TEST_CASE("error: what() is dlock, once, and the facts, without the category's sentence") {
  const lock_timeout e("key 'order:42': still busy after 2000 ms");
  CHECK(std::string(e.what()) == "dlock: key 'order:42': still busy after 2000 ms");
  const error copy = e;
  CHECK(std::string(copy.what()) == e.what());
  static_assert(std::is_nothrow_copy_constructible_v<lock_timeout>);
  CHECK(e.code() == errc::timed_out);
  CHECK(std::string(lock_timeout("dlock: key 'k': busy").what()).starts_with("dlock: key 'k'"));
}

TEST_CASE("error: what will not pass by itself is no store that can't be reached") {
  const store_error denied(errc::store_unreachable, "access denied", 1045, "28000", false);
  CHECK(denied.code() == errc::store_failed);
  CHECK(std::string(denied.what()).find("reached") == std::string::npos);
  CHECK(store_error(errc::store_unreachable, "nobody there", 2003, "", true).code() == errc::store_unreachable);
  CHECK(store_error(errc::outcome_unknown, "gone", 2013, "", false).code() == errc::outcome_unknown);
}

TEST_CASE("error: which store it was is told once") {
  const std::string server = "mysql://app:***@[::1],h2/d?prefix=x_";
  const std::string file = "sqlite:run/locks.db?schema=none";
  CHECK(engine::with_store_name(server, "[::1]:3306: take: no") == server + ": [::1]:3306: take: no");
  CHECK(engine::with_store_name(server, "dlock: " + server + ": connecting: no") == server + ": connecting: no");
  CHECK(engine::with_store_name(file, "SQLite file '/a/run/locks.db': full") == "SQLite file '/a/run/locks.db': full");
  CHECK(engine::with_store_name(file, "SQLite file '/a/run/other.db': full") ==
        file + ": SQLite file '/a/run/other.db': full");
  CHECK(engine::with_store_name("memory:", "no answer") == "memory:: no answer");
  CHECK(engine::with_store_name("sqlite:a", "all lock connections are busy") ==
        "sqlite:a: all lock connections are busy");
}

TEST_CASE("error: each type carries what callers ask") {
  CHECK(lock_lost(loss_reason::max_hold, "x").reason() == loss_reason::max_hold);
  CHECK(lock_lost(loss_reason::max_hold, "x").code() == errc::lost);
  CHECK(lock_refused(errc::cancelled, "x").code() == errc::cancelled);
  const store_error e(errc::store_failed, "x", 1205, "HY000", true);
  CHECK(e.native_code() == 1205);
  CHECK(e.sqlstate() == "HY000");
  CHECK(e.transient());
}

TEST_CASE("error: every loss reason and every event has a name of its own") {
  std::set<std::string_view> reasons;
  for (int i = 0; i <= static_cast<int>(loss_reason::abandoned); ++i) {
    reasons.insert(to_string(static_cast<loss_reason>(i)));
  }
  CHECK(reasons.size() == static_cast<std::size_t>(loss_reason::abandoned) + 1);
  std::set<std::string_view> events;
  for (int i = 0; i <= static_cast<int>(event::kind::observer_failed); ++i) {
    events.insert(to_string(static_cast<event::kind>(i)));
  }
  CHECK(events.size() == static_cast<std::size_t>(event::kind::observer_failed) + 1);
}

TEST_CASE("id128: random ids differ and are never zero", "[T04]") {
  std::set<id128> all;
  for (int i = 0; i < 10'000; ++i) {
    const auto id = id128::random();
    CHECK(static_cast<bool>(id));
    all.insert(id);
  }
  CHECK(all.size() == 10'000);
}

TEST_CASE("id128: zero means none") {
  CHECK_FALSE(static_cast<bool>(id128{}));
  CHECK(id128{} == id128{});
}

TEST_CASE("id128: hex shows each byte in order") {
  id128 id;
  CHECK(id.hex() == std::string(32, '0'));
  id.bytes[0] = 0xab;
  id.bytes[1] = 0x01;
  id.bytes[15] = 0xf0;
  CHECK(id.hex() == "ab0100000000000000000000000000f0");
}

TEST_CASE("id128: hex is read again, and nothing else") {
  const auto id = id128::random();
  CHECK(id128::parse(id.hex()) == id);
  CHECK_FALSE(id128::parse(""));
  CHECK_FALSE(id128::parse(id.hex() + "00"));
  CHECK_FALSE(id128::parse("ab0100000000000000000000000000g0"));
  CHECK_FALSE(id128::parse("-b010000000000000000000000000000"));
}

TEST_CASE("id128: ordered by its bytes") {
  id128 low, high;
  low.bytes[15] = 0xff;
  high.bytes[0] = 0x01;
  CHECK(low < high);
  CHECK(low != high);
}

namespace {

struct counted {
  explicit counted(int& living, bool fails = false) : living_(living) {
    if (fails) throw std::runtime_error("no");
    ++living_;
  }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --living_; }
  int& living_;
};

struct large {
  std::array<unsigned char, 512> bytes;
};

}  // namespace

TEST_CASE("late_object: ends what was made, once") {
  int living = 0;
  {
    late_object<counted> one;
    CHECK_FALSE(one.has_value());
    one.emplace(living);
    CHECK(one.has_value());
    CHECK(living == 1);
    CHECK(&one->living_ == &living);
    CHECK(&(*one).living_ == &living);
    one.emplace(living);
    CHECK(living == 1);
    one.reset();
    one.reset();
    CHECK(living == 0);
    one.emplace(living);
  }
  CHECK(living == 0);
}

TEST_CASE("late_object: is empty after a constructor that threw") {
  int living = 0;
  late_object<counted> one;
  one.emplace(living);
  CHECK_THROWS_AS(one.emplace(living, true), std::runtime_error);
  CHECK_FALSE(one.has_value());
  CHECK(living == 0);
}

TEST_CASE("late_object: its beginning leaves the room as it was") {
  using held = late_object<large>;
  alignas(held) std::array<unsigned char, sizeof(held)> memory;
  memory.fill(0xa5);
  // By a pointer that the compiler can't follow: it leaves out a write to memory in which it sees an object begin.
  held* (*volatile const make)(void*) = [](void* at) { return ::new (at) held{}; };
  auto* const made = make(memory.data());
  const auto untouched = std::count(memory.begin(), memory.end(), 0xa5);
  std::destroy_at(made);
  CHECK(untouched >= 512);
}

namespace {

/// The text of what validate() throws; empty if it accepts.
template <class Options>
std::string complaint(const Options& options) {
  return dlock::test::refusal([&] { validate(options); });
}

bool names(const std::string& text, const std::string& field, const std::string& value) {
  return text.starts_with("dlock: " + field + " = " + value + ":");
}

static_assert(std::is_aggregate_v<lock_options> && std::is_aggregate_v<service_options>);

}  // namespace

TEST_CASE("lock_options: the defaults are valid and finite", "[T37]") {
  CHECK(complaint(lock_options{}).empty());
  CHECK(complaint(service_options{}).empty());
  CHECK(detail::settled({}).ttl == 30s);
  CHECK(detail::settled({}).wait == 10s);
}

namespace {

/// A value that differs from the default.
struct another_value {
  std::stop_source stops{};

  std::chrono::milliseconds operator()(std::chrono::milliseconds usual) const { return usual + 1s; }
  double operator()(double usual) const { return usual / 2; }
  unsigned operator()(unsigned usual) const { return usual / 2; }
  renewal operator()(renewal /*usual*/) const { return renewal::manual; }
  reentry operator()(reentry /*usual*/) const { return reentry::refuse; }
  fairness operator()(fairness /*usual*/) const { return fairness::fifo; }
  std::stop_token operator()(const std::stop_token& /*usual*/) const { return stops.get_token(); }
  lock_mode operator()(const lock_mode& /*usual*/) const { return shared; }
};

}  // namespace

TEST_CASE("lock_options: each field that is given alone is given, inherited and replaced") {
  const detail::lock_settings usual;
  CHECK_FALSE(detail::gives_any(lock_options{}));
  CHECK(detail::settled({}) == usual);
  int fields = 0;
  dlock::test::with_each_option(another_value{}, [&](const lock_options& options, const std::string& name) {
    INFO(name);
    ++fields;
    CHECK(detail::gives_any(options));
    const auto settled = detail::settled(options);
    CHECK(settled != usual);
    CHECK(detail::settled({}, settled) == settled);
    CHECK(detail::settled(detail::as_options(settled)) == settled);
    CHECK(detail::settled(detail::as_options(usual), settled) == usual);
  });
  CHECK(fields >= 13);
}

namespace {

template <std::size_t Field>
void check_limits() {
  if constexpr (std::is_same_v<detail::field_type<lock_options, Field>, optional_time>) {
    const auto limits = *detail::limits_of(detail::field_name<lock_options, Field>());
    INFO(limits.field);
    // Only a lease that is renewed may linger.
    auto options = limits.field == "linger" ? lock_options{.ttl = 24h} : lock_options{.renewal = renewal::none};
    auto& time = boost::pfr::get<Field>(options);
    for (const auto good : {limits.least, limits.most}) {
      time = good;
      CHECK(complaint(options).empty());
    }
    for (const auto bad : {limits.least - 1ms, limits.most + 1ms}) {
      time = bad;
      CHECK(names(complaint(options), std::string(limits.field), std::to_string(bad.count()) + " ms"));
    }
  }
}

}  // namespace

TEST_CASE("lock_options: each time is accepted up to its limits, and refused beyond them") {
  []<std::size_t... I>(std::index_sequence<I...>) { (check_limits<I>(), ...); }
  (detail::field_indices<lock_options>());
}

TEST_CASE("lock_options: each bad field is named with its value") {
  CHECK(names(complaint(lock_options{.ttl = 999ms}), "ttl", "999 ms"));
  CHECK(names(complaint(lock_options{.ttl = 24h + 1ms}), "ttl", "86400001 ms"));
  CHECK(names(complaint(lock_options{.ttl = 9ms, .renewal = renewal::none}), "ttl", "9 ms"));
  CHECK(names(complaint(lock_options{.ttl = 9ms, .renewal = renewal::manual}), "ttl", "9 ms"));
  CHECK(names(complaint(lock_options{.ttl = 24h * 30 + 1ms, .renewal = renewal::none}), "ttl", "2592000001 ms"));
  CHECK(names(complaint(lock_options{.wait = -1ms}), "wait", "-1 ms"));
  CHECK(names(complaint(lock_options{.wait = 24h * 366}), "wait", "31622400000 ms"));
  CHECK(names(complaint(lock_options{.retry = {.pause = 0ms}}), "retry.pause", "0 ms"));
  CHECK(names(complaint(lock_options{.retry = {.multiplier = 0.5}}), "retry.multiplier", "0.500000"));
  CHECK(names(complaint(lock_options{.retry = {.multiplier = 101}}), "retry.multiplier", "101.000000"));
  CHECK(names(complaint(lock_options{.retry = {.max_pause = 9ms}}), "retry.max_pause", "9 ms"));
  CHECK(names(complaint(lock_options{.retry = {.jitter = 1.01}}), "retry.jitter", "1.010000"));
  CHECK(names(complaint(lock_options{.retry = {.jitter = -0.01}}), "retry.jitter", "-0.010000"));
  CHECK(names(complaint(lock_options{.retry = {.limit = 3}, .fairness = fairness::fifo}), "retry.limit", "3"));
  CHECK(names(complaint(lock_options{.min_hold = -1ms}), "min_hold", "-1 ms"));
  CHECK(names(complaint(lock_options{.max_hold = -1ms}), "max_hold", "-1 ms"));
  CHECK(names(complaint(lock_options{.linger = -1ms}), "linger", "-1 ms"));
  CHECK(names(complaint(lock_options{.ttl = 14s, .linger = 10'001ms}), "linger", "10001 ms"));
  CHECK(names(complaint(lock_options{.renewal = renewal::none, .linger = 1s}), "linger", "1000 ms"));
  CHECK(names(complaint(lock_options{.min_hold = 1s, .linger = 1s}), "linger", "1000 ms"));
  CHECK(names(complaint(lock_options{.fairness = fairness::fifo, .linger = 1s}), "linger", "1000 ms"));
  CHECK(names(complaint(lock_options{.min_hold = 2s, .max_hold = 1s}), "max_hold", "1000 ms"));
}

TEST_CASE("lock_options: a ttl out of bounds is told what it is for, and by which bound") {
  CHECK(complaint(lock_options{.ttl = 999ms}).find("shorter ones need renewal::none") != std::string::npos);
  CHECK(complaint(lock_options{.ttl = 48h}).find("shorter") == std::string::npos);
  CHECK(complaint(lock_options{.ttl = 48h}).find("how long others wait after a crash") != std::string::npos);
}

TEST_CASE("lock_options: not-a-number is no number") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(complaint(lock_options{.retry = {.multiplier = nan}}).empty());
  CHECK_FALSE(complaint(lock_options{.retry = {.jitter = nan}}).empty());
}

TEST_CASE("lock_options: the bounds themselves are accepted") {
  CHECK(complaint(lock_options{.ttl = 1s}).empty());
  CHECK(complaint(lock_options{.ttl = 24h}).empty());
  CHECK(complaint(lock_options{.ttl = 10ms, .renewal = renewal::none}).empty());
  CHECK(complaint(lock_options{.ttl = 24h * 30, .renewal = renewal::manual}).empty());
  CHECK(complaint(lock_options{.wait = 0ms}).empty());
  CHECK(complaint(lock_options{.wait = 24h * 365}).empty());
  CHECK(complaint(lock_options{.wait = wait_forever}).empty());
  CHECK(complaint(lock_options{.retry = {.pause = 1ms, .multiplier = 1, .max_pause = 1ms, .jitter = 0}}).empty());
  CHECK(complaint(lock_options{.retry = {.multiplier = 100, .jitter = 1, .limit = 0u}}).empty());
  CHECK(complaint(lock_options{.min_hold = 1s, .max_hold = 1s}).empty());
  CHECK(complaint(lock_options{.retry = {.limit = 3}, .fairness = fairness::none}).empty());
  CHECK(complaint(lock_options{.fairness = fairness::fifo}).empty());
}

TEST_CASE("service_options: each bad field is named with its value") {
  CHECK(names(complaint(service_options{.label = std::string(65, 'x')}), "label", "'xxxxxxxxxxxxxxxx...' (65 bytes)"));
  CHECK(names(complaint(service_options{.connections = 0}), "connections", "0"));
  CHECK(names(complaint(service_options{.connections = 257}), "connections", "257"));
  CHECK(names(complaint(service_options{.defaults = {.ttl = 1ms}}), "ttl", "1 ms"));
  CHECK(names(complaint(service_options{.margin = -1ms}), "margin", "-1 ms"));
  CHECK(names(complaint(service_options{.margin = 7501ms}), "margin", "7501 ms"));
  CHECK(names(complaint(service_options{.defaults = {.ttl = 1999ms}, .margin = 251ms}), "margin", "251 ms"));
  CHECK(names(complaint(service_options{.max_waiters = 0}), "max_waiters", "0"));
  CHECK(names(complaint(service_options{.release_limit = 9ms}), "release_limit", "9 ms"));
  CHECK(names(complaint(service_options{.close_limit = -1ms}), "close_limit", "-1 ms"));
  CHECK(names(complaint(service_options{.start_limit = -1ms}), "start_limit", "-1 ms"));
  CHECK(names(complaint(service_options{.start_limit = 24h + 1ms}), "start_limit", "86400001 ms"));
  CHECK(names(complaint(service_options{.start_limit = 1s, .lazy = true}), "start_limit", "1000 ms"));
  CHECK(names(complaint(service_options{.key_retention = -1ms}), "key_retention", "-1 ms"));
  CHECK(names(complaint(service_options{.cleanup_interval = -1ms}), "cleanup_interval", "-1 ms"));
}

TEST_CASE("service_options: a margin is at most a quarter of the ttl that a lease gets") {
  CHECK(complaint(service_options{.margin = 7500ms}).empty());
  CHECK(complaint(service_options{.defaults = {.ttl = 1999ms}, .margin = 250ms}).empty());
  const lock_options exactly{.ttl = 1999ms, .renewal = renewal::none};
  CHECK(complaint(service_options{.defaults = exactly, .margin = 499ms}).empty());
  CHECK(names(complaint(service_options{.defaults = exactly, .margin = 500ms}), "margin", "500 ms"));
}

TEST_CASE("ttl_class: the nearest class that is not above what was asked") {
  const std::vector<std::chrono::milliseconds> classes{1s, 2s, 5s, 10s, 15s, 30s, 60s, 120s, 300s, 600s, 1800s, 3600s};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    CHECK(ttl_class(classes[i]) == classes[i]);
    const auto above = i + 1 < classes.size() ? classes[i + 1] : 24h;
    CHECK(ttl_class(above - 1ms) == classes[i]);
  }
}

TEST_CASE("version: the library and its headers name the same version") {
  CHECK(dlock::library_version() == dlock::header_version);
}

TEST_CASE("version: the number for the preprocessor spells the version text") {
  const int number = DLOCK_DETAIL_VERSION;
  const std::string text =
      std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
  CHECK(text == dlock::header_version);
}

namespace {

struct sleeper {
  std::atomic<unsigned> wakes{0};
  std::atomic<bool> ended{false};

  void start(background_thread& by) {
    by.start(
        [this](const std::stop_token& stop) {
          wakes.wait(0);
          ended = stop.stop_requested();
        },
        [this] {
          ++wakes;
          wakes.notify_all();
        });
  }
};

}  // namespace

TEST_CASE("background thread: its end asks the body to stop, wakes it, and waits for it", "[unit]") {
  sleeper body;
  std::optional<background_thread> thread(std::in_place);
  CHECK_FALSE(thread->started());
  body.start(*thread);
  CHECK(thread->started());
  CHECK_FALSE(thread->in_child());
  thread.reset();
  CHECK(body.wakes == 1);
  CHECK(body.ended);
}

TEST_CASE("background thread: it starts again when its body has ended", "[unit]") {
  { const background_thread never; }
  background_thread thread;
  unsigned runs = 0, wakes = 0;
  for (int i = 0; i != 2; ++i) thread.start([&](const auto&) { ++runs; }, [&] { ++wakes; });
  thread.end();
  thread.end();  // nothing any more
  CHECK(runs == 2);
  CHECK(wakes == 1);
}
