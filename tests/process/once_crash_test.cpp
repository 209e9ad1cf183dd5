// SPDX-License-Identifier: BSL-1.0

// Work that is done once, by processes that are killed and stopped. Of stores with capabilities::marks.

#include <fmt/format.h>

#include <random>
#include <thread>

#include "contract/store_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "process/once_log.hpp"
#include "process/taker.hpp"
#include "support/calls.hpp"
#include "support/scratch_folder.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

constexpr unsigned jobs = 1'200;
constexpr std::size_t workers = 4;

/// Processes that do the same jobs, each in an order of its own.
class once_scene {
 public:
  once_scene() {
    for (std::size_t i = 0; i != workers; ++i) running_.push_back(start());
  }

  /// Kills a worker, or stops it for a moment or for longer than its lease lives.
  void hurt_one() {
    auto& victim = running_[random_() % workers];
    if (random_() % 2 == 0) {
      victim.kill();
      victim = start();
      return;
    }
    victim.stop();
    std::this_thread::sleep_for(random_() % 3 == 0 ? ttl + 300ms : std::chrono::milliseconds{random_() % 100});
    victim.go_on();
  }
  void finish() {
    for (auto& each : running_) {
      each.expect("finished", 120s);
      each.say("quit");
      CHECK(each.end() == 0);
    }
  }
  std::vector<once_record> log() const { return once_log::read(log_name_); }
  std::size_t begun() const { return log().size() / 2; }
  bool done(unsigned job) { return locks_.done(fmt::format("job-{}", job)).has_value(); }

 private:
  static constexpr std::chrono::milliseconds ttl{1000};

  taker start() {
    return taker(fixture_->url(), {"--once", log_name_, "--jobs", std::to_string(jobs), "--seed",
                                   std::to_string(random_()), "--ttl", std::to_string(ttl.count())});
  }

  const std::unique_ptr<store_fixture> fixture_ = make_store_fixture();
  const scratch_folder folder_{};
  const std::string log_name_ = folder_ / "once.log";
  std::mt19937 random_{std::random_device{}()};
  lock_service locks_{fixture_->url()};
  std::vector<taker> running_{};
};

once_record at(char what, const char* key, std::int64_t when) {
  return {.what = static_cast<once_record::kind>(what), .key = key, .at = when, .process = 7};
}

}  // namespace

TEST_CASE("crash: work that is done once is marked once, by processes that are killed and stopped") {
  once_scene s;
  // As long as there is work, and not so long that nobody ever gets on.
  for (int i = 0; i != 100 && s.begun() < jobs * 9 / 10; ++i) {
    std::this_thread::sleep_for(20ms);
    s.hurt_one();
  }
  s.finish();
  const auto log = s.log();
  for (const auto& each : check_once(log)) FAIL_CHECK(each);
  for (unsigned job = 0; job != jobs; ++job) {
    CAPTURE(job);
    CHECK(s.done(job));
  }
  const auto did =
      std::count_if(log.begin(), log.end(), [](auto& each) { return each.what == once_record::kind::did; });
  CHECK(did <= jobs);
  CHECK(did > jobs / 2);
}

TEST_CASE("crash: the check of work that is done once finds what it is there to find") {
  CHECK(check_once({at('B', "a", 1), at('B', "a", 4), at('D', "a", 5), at('B', "b", 9)}).empty());
  CHECK(check_once({at('B', "a", 1), at('D', "a", 5), at('D', "a", 6)}).size() == 1);
  CHECK(check_once({at('B', "a", 1), at('D', "a", 5), at('B', "a", 6)}).size() == 1);
  CHECK(once_record::parse(at('B', "a", 1).line()).process == 7);
  CHECK_THROWS_AS(once_record::parse("B a 1"), std::invalid_argument);  // cut short
}

}  // namespace dlock::test
