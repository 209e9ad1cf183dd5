// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <thread>

#include "contract/place.hpp"
#include "dlock/lock_service.hpp"
#include "process/hold_log.hpp"
#include "process/taker.hpp"
#include "support/scratch_folder.hpp"

using namespace std::chrono_literals;

namespace dlock::test {

namespace {

const std::vector<std::string> keys{"red", "green", "blue"};

/// Kills, stops and replaces takers at random.
class tormented {
 public:
  tormented(std::string url, std::string log, std::uint64_t seed)
      : url_(std::move(url)), log_(std::move(log)), random_(seed) {
    for (int i = 0; i != 4; ++i) processes_.push_back(start());
  }

  void run(std::chrono::milliseconds length) {
    const auto end = std::chrono::steady_clock::now() + length;
    while (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds{30 + random_() % 200});
      auto& taker = victim();
      if (random_() % 2 != 0) {
        taker.kill();
        taker = start();
      } else {
        taker.stop();
        ++stops;
        // Sometimes a moment, sometimes longer than the session lives.
        std::this_thread::sleep_for(std::chrono::milliseconds{random_() % 2 == 0 ? 20 : 1200});
        taker.go_on();
      }
    }
    for (auto& each : processes_) each.say("enough");
    for (auto& each : processes_) codes.push_back(each.end());
  }

  std::uint64_t stops = 0;
  std::vector<int> codes{};

 private:
  /// Anybody, or whoever was the last to hold something: the one that it may hurt most.
  taker& victim() {
    if (random_() % 3 != 0) {
      const auto holder = hold_log::last_holder(log_);
      for (auto& each : processes_) {
        if (each.pid() == holder) return each;
      }
    }
    return processes_[random_() % processes_.size()];
  }
  taker start() {
    return taker(url_, {"--torture", log_, "--keys", fmt::format("{},{},{}", keys[0], keys[1], keys[2]), "--seed",
                        std::to_string(random_())});
  }

  const std::string url_;
  const std::string log_;
  std::mt19937_64 random_;
  std::vector<taker> processes_{};
};

hold_record at(char kind, std::uint64_t fence, std::int64_t when, std::int64_t process, std::uint64_t attempt = 1) {
  return {.what = static_cast<hold_record::kind>(kind),
          .key = "k",
          .fence = fence,
          .at = when,
          .process = process,
          .attempt = attempt};
}

}  // namespace

TEST_CASE("torture: processes that are killed and stopped at random never hold a key at the same time", "[crash]") {
  const auto place = make_store_place();
  const scratch_folder folder;
  const auto log = folder / "holds";
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  lock_service locks(place->url());
  tormented processes(place->url(), log, seed);
  processes.run(5s);
  CHECK(std::all_of(processes.codes.begin(), processes.codes.end(), [](int code) { return code == 0; }));

  // Whatever the killed have left behind, every key can be had again.
  std::map<std::string, std::uint64_t> last;
  for (const auto& key : keys) {
    last[key] = locks.acquire(key, {.ttl = 1s, .wait = 20s}).fencing_token() - 1;
  }
  const auto found = check_holds(hold_log::read(log), 0, last, processes.stops);
  CAPTURE(found.violations, found.grants, found.lost, found.open, processes.stops);
  CHECK(found.violations.empty());
  CHECK(found.grants >= 20);
}

TEST_CASE("torture: the check of the log finds what it is there to find", "[crash]") {
  const std::vector<hold_record> good{at('A', 0, 1, 7),  at('H', 1, 10, 7),    at('H', 1, 20, 7),   at('A', 0, 2, 8),
                                      at('H', 2, 30, 8), at('A', 0, 31, 7, 2), at('N', 0, 32, 7, 2)};
  CHECK(check_holds(good, 0, {{"k", 2}}, 0).violations.empty());
  CHECK(check_holds(good, 0, {{"k", 2}}, 0).grants == 2);

  auto overlap = good;
  overlap.push_back(at('H', 1, 30, 7));
  CHECK(check_holds(overlap, 0, {{"k", 2}}, 0).violations.size() == 1);
  auto backwards = good;
  backwards.push_back(at('H', 3, 5, 9));
  CHECK(check_holds(backwards, 0, {{"k", 3}}, 0).violations.size() == 1);
  auto twice = good;
  twice.push_back(at('H', 2, 33, 9));
  CHECK(check_holds(twice, 0, {{"k", 2}}, 0).violations.size() == 1);
  CHECK(check_holds(good, 0, {{"k", 1}}, 0).violations.size() == 1);  // went back
  CHECK(check_holds(good, 0, {{"k", 3}}, 0).violations.size() == 1);  // a grant to nobody
  CHECK(check_holds(good, 0, {{"k", 3}}, 1).violations.empty());
  auto cut_off = good;
  cut_off.push_back(at('A', 0, 40, 8, 2));
  CHECK(check_holds(cut_off, 0, {{"k", 3}}, 0).violations.empty());
  CHECK_THROWS_AS(hold_record::parse("H k 1 2 3 4"), std::invalid_argument);  // cut short
  CHECK(hold_record::parse(good[1].line()).fence == 1);
}

}  // namespace dlock::test
