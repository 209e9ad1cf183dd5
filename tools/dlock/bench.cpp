// SPDX-License-Identifier: BSL-1.0
// Measures what this server can do, in a few seconds.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "client.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "output.hpp"
#include "url_source.hpp"
#include "verbs.hpp"

namespace dlock::command {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Times of one kind, in microseconds.
class samples {
 public:
  void add(clock::duration time) { all_.push_back(std::chrono::duration<double, std::micro>(time).count()); }
  std::size_t count() const noexcept { return all_.size(); }
  double at(double share) {
    if (all_.empty()) return 0;
    std::sort(all_.begin(), all_.end());
    return all_[static_cast<std::size_t>(share * static_cast<double>(all_.size() - 1) + 0.5)];
  }

 private:
  std::vector<double> all_{};
};

struct figure {
  const char* name;
  const char* meaning;
  samples times{};
  double per_second = 0;  ///< 0 if it is no rate
};

/// Repeats `work` until the time is over.
template <class Work>
void measure(figure& into, clock::duration time, Work&& work) {
  const auto end = clock::now() + time;
  do {
    const auto begun = clock::now();
    work();
    into.times.add(clock::now() - begun);
  } while (clock::now() < end);
}

service_options service(const char* label, std::size_t connections) {
  return {.label = label, .connections = connections, .cleanup_interval = 0ms};
}

class measurement {
 public:
  explicit measurement(const all_options& options)
      : with_(options.common),
        url_(without_making_tables(need_url(options.common))),
        prefix_(fmt::format("{}{}", options.bench.prefix, ::getpid())),
        time_(options.bench.time) {}

  std::vector<figure> run() {
    std::vector<figure> all;
    all.push_back(round_trip());
    if (with_.where().caps().session_leases) all.push_back(renewal());
    all.push_back(pair());
    all.push_back(throughput());
    all.push_back(hand_over());
    return all;
  }
  const std::string& store() { return with_.name(); }

 private:
  /// The lower bound of a statement.
  figure round_trip() {
    figure made{"round trip", "one poll of a key: the lower bound of a statement"};
    const auto key = prefix_ + ":none";
    const request look{.action = verb::poll, .resource = key};
    const auto ask = [&] {
      with_.ask("look", [&](connection& on) {
        reply answer;
        with_.where().execute(on, {&look, 1}, {&answer, 1});
        return answer;
      });
    };
    ask();
    measure(made, time_ / 10, ask);
    return made;
  }

  /// The lower bound of a change: one row, committed.
  figure renewal() {
    figure made{"commit", "one renewal of a session: the lower bound of a change"};
    const session_record mine{.id = id128::random(), .ttl = 30s, .host = "dlock-bench", .pid = ::getpid()};
    const auto ask = [&](session_verb action) {
      with_.ask("session", [&](connection& on) { return with_.where().session(on, action, mine); });
    };
    ask(session_verb::open);
    measure(made, time_ / 10, [&] { ask(session_verb::renew); });
    ask(session_verb::close);
    return made;
  }

  figure pair() {
    figure made{"lock and unlock", "acquire and release of a free key, one thread"};
    lock_service locks(url_, service("dlock bench", 1));
    const lock_key key(prefix_);
    { const auto warm = locks.acquire(key); }
    measure(made, time_ / 5, [&] { const auto held = locks.acquire(key); });
    return made;
  }

  figure throughput() {
    constexpr int threads = 8;
    figure made{"eight threads", "acquire and release of eight different keys at once"};
    lock_service locks(url_, service("dlock bench", 4));
    std::atomic<std::size_t> done{0};
    std::atomic<bool> over{false};
    std::vector<std::future<void>> all;
    const auto begun = clock::now();
    for (int i = 0; i != threads; ++i) {
      all.push_back(std::async(std::launch::async, [&, i] {
        const lock_key key(fmt::format("{}:{}", prefix_, i));
        while (!over) {
          const auto held = locks.acquire(key);
          ++done;
        }
      }));
    }
    std::this_thread::sleep_for(time_ / 10);
    over = true;
    for (auto& each : all) each.get();
    made.per_second = static_cast<double>(done) / std::chrono::duration<double>(clock::now() - begun).count();
    return made;
  }

  /// From the release in one service to the grant in another one that waits.
  figure hand_over() {
    figure made{"hand-over", "from a release to the grant in another service, which waited"};
    lock_service first(url_, service("dlock bench", 1)), second(url_, service("dlock bench", 1));
    const lock_key key(prefix_ + ":over");
    const auto end = clock::now() + time_ / 2;
    do {
      auto held = first.acquire(key);
      auto waits = std::async(std::launch::async, [&] {
        const auto got = second.acquire(key, {.wait = 60s});
        return clock::now();
      });
      std::this_thread::sleep_for(200ms);
      const auto released = clock::now();
      held.release();
      made.times.add(waits.get() - released);
    } while (clock::now() < end);
    return made;
  }

  client with_;
  const std::string url_;
  const std::string prefix_;
  const clock::duration time_;
};

std::string us_text(double us) {
  return us < 1000 ? fmt::format("{:.0f} us", us) : fmt::format("{:.2f} ms", us / 1000);
}

}  // namespace

int bench(const all_options& options) {
  if (options.bench.time < 1s) throw failure(exit_code::usage, "--time must be at least 1s");
  measurement of(options);
  auto all = of.run();
  if (options.common.json) {
    json out{{"store", of.store()}, {"figures", json::array()}};
    for (auto& each : all) {
      json one{{"name", each.name}, {"meaning", each.meaning}};
      if (each.per_second != 0) {
        one["per_second"] = each.per_second;
      } else {
        one["count"] = each.times.count();
        one["p50_us"] = each.times.at(0.5);
        one["p99_us"] = each.times.at(0.99);
      }
      out["figures"].push_back(std::move(one));
    }
    print_json(out);
    return code(exit_code::done);
  }
  print_line(of.store());
  text_table table({"FIGURE", "MEDIAN", "99 %", "COUNT", "WHAT"});
  for (auto& each : all) {
    if (each.per_second != 0) {
      table.add({each.name, fmt::format("{:.0f}/s", each.per_second), "-", "-", each.meaning});
    } else {
      table.add({each.name, us_text(each.times.at(0.5)), us_text(each.times.at(0.99)),
                 fmt::to_string(each.times.count()), each.meaning});
    }
  }
  for (const auto& each : table.lines()) print_line(each);
  return code(exit_code::done);
}

}  // namespace dlock::command
