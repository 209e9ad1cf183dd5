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

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

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
  CLI::App app{"Locks with metrics that Prometheus reads"};
  settings s;
  app.add_option("--db", s.url, "Where the locks live: sqlite:FILE or mysql://USER:PASSWORD@HOST/DATABASE")
      ->envname("DLOCK_SAMPLE_DB")
      ->capture_default_str();
  app.add_option("--port", s.port, "Of the metrics; 0: one that is free")
      ->check(CLI::Range(0, 65'535))
      ->capture_default_str();
  app.add_option("--workers", s.workers, "Threads")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--jobs", s.jobs, "Of each worker")->check(CLI::Range(1, 1'000'000))->capture_default_str();
  app.add_flag("--wait", s.wait, "Go on until the standard input ends, so that the metrics can be read");
  CLI11_PARSE(app, argc, argv);
  try {
    run(s);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "failed: {}\n", error.what());
    return 1;
  }
}
