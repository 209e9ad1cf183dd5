// SPDX-License-Identifier: BSL-1.0
// What metrics cost: for each event, and for an uncontended pair of acquire and release.
#include <chrono>
#include <memory>
#include <vector>

#include "dlock/dlock.hpp"
#include "dlock/metrics.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "harness.hpp"

namespace {

using namespace dlock;
using namespace std::chrono_literals;
using kind = event::kind;

/// Half of them grants, half releases, as a pair gives them.
void events() {
  metrics of;
  const event granted{.what = kind::granted, .key = "order:42", .fence = 7, .waited = 1830us, .attempts = 1};
  const event released{.what = kind::released, .key = "order:42", .fence = 7, .held = 20ms};
  observer& as_observer = of;  // called as a service calls it
  std::vector<double> ns;
  for (int round = 0; round != 51; ++round) {
    ns.push_back(bench::time_us(20'000,
                                [&] {
                                  as_observer.on(granted);
                                  as_observer.on(released);
                                }) *
                 1000 / 2);
  }
  fmt::print("one event: {:.1f} ns\n", bench::median(ns));
  bench::figures::add("metrics, one event", "ns", ns, {.at_most = 60});

  std::vector<double> together;
  for (int round = 0; round != 5; ++round) {
    const double rate = bench::per_second(4, 300ms, [&](int) {
      as_observer.on(granted);
      as_observer.on(released);
    });
    together.push_back(1e9 / (rate * 2) * static_cast<double>(std::thread::hardware_concurrency()));
  }
  fmt::print("one event, four threads at once: {:.1f} ns of a processor\n", bench::median(together));
  bench::figures::add("metrics, one event, four threads", "ns", together);
}

/// The same pairs without an observer and with metrics.
void pairs(const std::string& name, const std::string& url, int rounds, int times, const bench::promise& promised) {
  lock_service plain{url, {.connections = 1}};
  lock_service observed{url, {.connections = 1, .observer = std::make_shared<metrics>()}};
  const lock_key one("bench:plain"), two("bench:observed");
  const lock_options options;
  bench::compare(
      "pair with metrics, " + name, rounds, times, [&] { const lease held = plain.acquire(one, options); },
      [&] { const lease held = observed.acquire(two, options); }, promised);
}

}  // namespace

int main() {
  events();
  // In memory a pair takes a microsecond: what nothing else hides.
  pairs("memory", "memory:", 101, 5'000, {});
  const bench::sqlite_file file;
  pairs("SQLite", "sqlite:" + file.path, 21, 200, {.at_least = 0.97});
  const auto url = store_url::parse(bench::need_env("DLOCK_TEST_MYSQL_OWNER_URL"));
  pairs("MariaDB", bench::by_socket(url) + "&prefix=benchm_", 21, 500, {.at_least = 0.97});
  return bench::figures::exit_code();
}
