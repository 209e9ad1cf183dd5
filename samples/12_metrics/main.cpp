// SPDX-License-Identifier: BSL-1.0
// Workers share some keys, and a monitoring system reads what becomes of the locks: counters, times and gauges at
// http://127.0.0.1:<port>/metrics.

#include <fmt/core.h>
#include <dlock/dlock.hpp>
#include <dlock/metrics.hpp>
#include <dlock/prometheus.hpp>
#include <dlock/store_interface/store_url.hpp>

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/command_line.hpp"

namespace {

using namespace std::chrono_literals;

struct settings {
  std::string url = "sqlite:locks.db";
  int port = 0;
  int workers = 4;
  int jobs = 25;
  bool wait = false;
};

void work(dlock::lock_service& locks, int jobs) {
  for (int i = 0; i != jobs; ++i) {
    locks.with_lock(dlock::key<"product:{number}">(i % 3), {.wait = 60s}, [] { std::this_thread::sleep_for(100us); });
  }
}

void run(const settings& s) {
  // [metrics]
  const auto numbers = std::make_shared<dlock::metrics>(dlock::metrics_options{.service = "shop"});
  dlock::lock_service locks{s.url, {.observer = numbers}};
  const auto gauges = numbers->watch(locks);

  const auto collectable = dlock::make_prometheus_collectable(numbers);
  prometheus::Exposer exposer{fmt::format("127.0.0.1:{}", s.port)};
  exposer.RegisterCollectable(collectable);
  // [/metrics]
  fmt::print("http://127.0.0.1:{}/metrics\n", exposer.GetListeningPorts().at(0));

  std::vector<std::thread> workers;
  for (int i = 0; i != s.workers; ++i) workers.emplace_back([&] { work(locks, s.jobs); });
  for (auto& each : workers) each.join();

  fmt::print("granted {}\nreleased {}\nlost {}\n", locks.count(dlock::event::kind::granted),
             locks.count(dlock::event::kind::released), locks.count(dlock::event::kind::lost));
  std::fflush(stdout);
  if (!s.wait) return;
  for (std::string line; std::getline(std::cin, line);) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"Locks with metrics that Prometheus reads"};
  settings s;
  options.database(s.url);
  options.number("--port", s.port, 0, 65'535, "Of the metrics; 0: one that is free");
  options.number("--workers", s.workers, 1, 64, "Threads");
  options.number("--jobs", s.jobs, 1, 1'000'000, "Of each worker");
  options.flag("--wait", s.wait, "Go on until the standard input ends, so that the metrics can be read");
  return options.run(argc, argv, [&] {
    run(s);
    return 0;
  });
}
