// SPDX-License-Identifier: BSL-1.0
// What a generated subclass costs beside the macro that one would write by hand, on a store that does nothing.
#include <sys/resource.h>
#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "annotated_service.locked.hpp"
#include "dlock/dlock.hpp"
#include "dlock/store_interface/store.hpp"
#include "harness.hpp"

namespace {

using namespace dlock;
using namespace std::chrono_literals;

class nothing_connection final : public connection {
 public:
  void interrupt() noexcept override {}
  bool usable() const noexcept override { return true; }
  const connection_identity& identity() const noexcept override { return identity_; }

 private:
  connection_identity identity_{};
};

/// Says yes to everything, at once.
class nothing_store final : public store {
 public:
  const std::string& name() const noexcept override { return name_; }
  capabilities caps() const noexcept override { return {}; }
  void prepare() override {}
  std::unique_ptr<connection> connect(microseconds, fault&) noexcept override {
    return std::make_unique<nothing_connection>();
  }
  void execute(connection&, std::span<const request>, std::span<reply> replies) noexcept override {
    for (auto& each : replies) {
      each.result = outcome::yes;
      each.fence = ++fence_;
    }
  }
  reply session(connection&, session_verb, const session_record&) noexcept override { return {.result = outcome::yes}; }
  bool terminate(connection&, const connection_identity&) noexcept override { return true; }

 private:
  std::string name_ = "nothing";
  std::uint64_t fence_ = 0;
};

/// The class by hand: the same lock, written as a macro.
class by_hand final : public bench::annotated_service {
 public:
  explicit by_hand(lock_service& locks) : locks_(locks) {}
  std::int64_t place(std::int64_t id, std::int64_t buyer) override {
    DISTRIBUTED_LOCKED(locks_, key<"order:{id}:{buyer}", "id", "buyer">(id, buyer), {.ttl = 30s, .wait = 2s}) {
      return annotated_service::place(id, buyer);
    }
  }

 private:
  lock_service& locks_;
};

/// What this thread has computed, whatever else the machine does.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Nanoseconds of a call through the interface, as a caller has it.
double call_ns(bench::annotated_service& service, int times) {
  const auto begun = thread_seconds();
  for (int i = 0; i < times; ++i) service.place(i, 7);
  return (thread_seconds() - begun) * 1e9 / times;
}

/// Seconds of a processor that a command takes.
double seconds_of(const std::string& command) {
  const auto used = [] {
    rusage all{};
    ::getrusage(RUSAGE_CHILDREN, &all);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(all.ru_utime) + seconds(all.ru_stime);
  };
  const auto before = used();
  if (std::system((command + " >/dev/null").c_str()) != 0) {
    fmt::print(stderr, "failed: {}\n", command);
    std::exit(2);
  }
  return used() - before;
}

/// What the build pays: dlock-gen for one header, and a build in which nothing has changed.
void building() {
  constexpr int rounds = 11;
  std::vector<double> runs, builds;
  for (int round = 0; round < rounds; ++round) {
    runs.push_back(seconds_of(DLOCK_BENCH_GEN));
    builds.push_back(seconds_of(DLOCK_BENCH_BUILD));
  }
  fmt::print("dlock-gen on one header: {:.2f} s; a build with nothing to do: {:.2f} s\n", bench::median(runs),
             bench::median(builds));
  bench::figures::add("dlock-gen on one header", "s", runs, {.at_most = 2});
  bench::figures::add("a build where no annotated header has changed", "s", builds, {.at_most = 0.2});
}

void calling() {
  constexpr int rounds = 100001;
  constexpr int times = 10;
  lock_service locks{std::make_shared<nothing_store>()};
  by_hand hand{locks};
  bench::annotated_service_locked generated{locks};
  call_ns(hand, times);
  call_ns(generated, times);
  std::vector<double> hands, generateds, differences;
  for (int round = 0; round < rounds; ++round) {
    // In turns, so that a slow moment of the machine hits both.
    const bool first = round % 2 == 0;
    const double one = call_ns(first ? static_cast<bench::annotated_service&>(hand) : generated, times);
    const double other = call_ns(first ? static_cast<bench::annotated_service&>(generated) : hand, times);
    hands.push_back(first ? one : other);
    generateds.push_back(first ? other : one);
    differences.push_back(generateds.back() - hands.back());
  }
  fmt::print(
      "a call under a lock, on a store that does nothing: macro {:.0f} ns, generated subclass {:.0f} ns, difference "
      "{:.1f} ns\n",
      bench::median(hands), bench::median(generateds), bench::median(differences));
  bench::figures::add("generated subclass over the macro", "ns", differences, {.at_most = 5});
}

}  // namespace

int main() {
  calling();
  building();
  return bench::figures::exit_code();
}
