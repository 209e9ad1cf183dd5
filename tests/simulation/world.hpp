// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dlock::simulation {

/// The one source of chance of a run: the same seed gives the same run (splitmix64).
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}

  std::uint64_t bits() noexcept {
    state_ += 0x9e3779b97f4a7c15ULL;
    auto made = state_;
    made = (made ^ (made >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    made = (made ^ (made >> 27U)) * 0x94d049bb133111ebULL;
    return made ^ (made >> 31U);
  }
  /// 0 to `end` - 1; `end` > 0.
  std::uint64_t below(std::uint64_t end) noexcept { return bits() % end; }
  /// Both are possible.
  std::int64_t between(std::int64_t least, std::int64_t most) noexcept {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
  }
  /// So often of a million times.
  bool chance(std::uint64_t ppm) noexcept { return ppm > 0 && below(1'000'000) < ppm; }

 private:
  std::uint64_t state_;
};

/// Microseconds of the simulated world, which are those of a perfect clock.
using moment = std::int64_t;
inline constexpr moment millisecond = 1'000;
inline constexpr moment second = 1'000'000;

/// What the run shows of itself, line by line. Nothing is made of a line that nobody wants to see.
class journal {
 public:
  struct line {
    moment when;
    std::string who;
    std::string text;
  };
  bool wanted = false;
  std::vector<line> lines{};
  /// Of all lines, wanted or not: the same for the same run.
  std::uint64_t digest = 0;
};

/// Who goes on when its time has come.
class sleeper {
 public:
  /// `turn`: which of its sleeps that ends.
  virtual void due(std::uint64_t turn) = 0;

 protected:
  ~sleeper() = default;
};

/// Time, chance, and what is going to happen. All that happens does so in run(), one thing after the other.
class world {
 public:
  explicit world(std::uint64_t seed) : random(seed) {}
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  random_source random;
  journal story{};

  moment now() const noexcept { return now_; }
  /// `what` happens then, or now if that has passed. What happens at the same moment does so in an order left to
  /// chance.
  void at(moment when, std::function<void()> what);
  /// The same of one that lives as long as the world does.
  void at(moment when, sleeper& who, std::uint64_t turn) { push(when, &who, turn); }
  void after(moment delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  /// Until `done` says so, or nothing happens any more, or then. True: it is done.
  bool run(const std::function<bool()>& done, moment until);
  std::uint64_t steps() const noexcept { return steps_; }

  /// The first thing that was wrong; the run ends with it.
  void fail(std::string what);
  bool failed() const noexcept { return !failure_.empty(); }
  const std::string& failure() const noexcept { return failure_; }

  /// Something fails or is slow now. What follows from that is over after so long.
  void disturb(moment for_so_long) noexcept { quiet_from_ = std::max(quiet_from_, now_ + for_so_long); }
  /// The same of something that some keys alone may notice.
  void disturb_some(moment for_so_long) noexcept { some_quiet_from_ = std::max(some_quiet_from_, now_ + for_so_long); }
  /// From when on nothing has failed.
  moment quiet_from() const noexcept { return std::max(quiet_from_, some_quiet_from_); }
  /// From when on nothing has failed that all keys may notice.
  moment quiet_for_all_from() const noexcept { return quiet_from_; }

  /// `text` is called if the line is wanted.
  template <class Text>
  void tell(const std::string& who, Text text) {
    if (story.wanted) story.lines.push_back({now_, who, text()});
  }
  /// So that two runs of one seed can be compared.
  void mix(std::uint64_t what) noexcept {
    story.digest = (story.digest ^ what ^ static_cast<std::uint64_t>(now_)) * 0x100000001b3ULL;
  }

 private:
  struct entry {
    std::uint64_t
        order;     // the moment, and below it chance: one number, since most of a run's comparisons are made here
    sleeper* who;  // null: a thing
    std::uint64_t position;  // of the thing, or the turn
    moment when() const noexcept { return static_cast<moment>(order >> chance_bits); }
  };
  static constexpr unsigned chance_bits = 16;
  void push(moment when, sleeper* who, std::uint64_t position);
  entry pop();

  moment now_ = 0;
  moment quiet_from_ = 0;
  moment some_quiet_from_ = 0;
  std::uint64_t steps_ = 0;
  moment then_ = 0;            // when there had been so many steps that it is looked at
  std::vector<entry> heap_{};  // each has four children: half as many levels as with two
  std::vector<std::function<void()>> things_{};
  std::vector<std::uint64_t> free_{};
  std::string failure_{};
};

}  // namespace dlock::simulation
