// SPDX-License-Identifier: BSL-1.0
#include "dlock/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "dlock/lock_service.hpp"

namespace dlock {

namespace {

using kind = event::kind;
using number = std::atomic<std::uint64_t>;

constexpr std::size_t reasons = static_cast<std::size_t>(loss_reason::forked) + 1;

/// Upper bounds of the buckets, in microseconds: 0.1 ms to 30 minutes.
constexpr std::array<std::uint64_t, 20> bounds{
    100,     250,     500,       1'000,     2'500,     5'000,      10'000,     25'000,     50'000,      100'000,
    250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000, 30'000'000, 60'000'000, 300'000'000, 1'800'000'000};

/// For each bit width of a time, the first bucket that such a time can belong to.
constexpr auto first_bucket = [] {
  std::array<std::uint8_t, 65> first{};
  for (std::size_t bits = 0; bits != first.size(); ++bits) {
    const std::uint64_t least = bits == 0 ? 0 : std::uint64_t{1} << (bits - 1);
    while (first[bits] != bounds.size() && bounds[first[bits]] < least) ++first[bits];
  }
  return first;
}();

void add(number& to, std::uint64_t value) noexcept { to.fetch_add(value, std::memory_order_relaxed); }
std::uint64_t value_of(const number& of) noexcept { return of.load(std::memory_order_relaxed); }
std::uint64_t clamped(std::chrono::microseconds time) noexcept {
  return time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0;
}

struct histogram {
  std::array<number, bounds.size() + 1> buckets{};
  number sum_us{0};

  void put(std::uint64_t us) noexcept {
    std::size_t at = first_bucket[static_cast<std::size_t>(std::bit_width(us))];
    while (at != bounds.size() && us > bounds[at]) ++at;
    add(buckets[at], 1);
    add(sum_us, us);
  }
};

/// The number of sets of counters in a process, so that two threads seldom write to one cache line.
constexpr std::size_t shard_count = 16;

std::size_t shard_of_thread() noexcept {
  static std::atomic<std::size_t> next{0};
  static thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed) % shard_count;
  return mine;
}

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') text.push_back('\\');
    text.push_back(c);
  }
  return text;
}

std::string number_text(double value) {
  if (value == std::numeric_limits<double>::infinity()) return "+Inf";
  return fmt::format("{}", value);
}

double seconds(std::chrono::microseconds time) { return std::chrono::duration<double>(time).count(); }

std::string text_of(const std::vector<metric_family>& families);

}  // namespace

struct alignas(64) metrics::counters {
  std::array<number, event_kinds.size()> events{};
  std::array<number, reasons> leases_lost{};
  std::array<number, reasons> sessions_lost{};
  number take_overs{0};
  number statements{0};
  number without_statement{0};
  number cleanup_rows{0};
  histogram granted{};
  histogram busy{};
  histogram released{};
  histogram lost{};
};

struct metrics::watched_service::registry {
  base::mutex mutex;
  std::vector<const lock_service*> services DLOCK_GUARDED_BY(mutex);
};

metrics::metrics(metrics_options options)
    : options_(std::move(options)),
      shards_(std::make_unique<counters[]>(shard_count)),
      watched_(std::make_shared<watched_service::registry>()) {}
metrics::~metrics() = default;

metrics::counters& metrics::mine() const noexcept { return shards_[shard_of_thread()]; }

void metrics::on(const event& event) {
  auto& to = mine();
  add(to.events[static_cast<std::size_t>(event.what)], 1);
  switch (event.what) {
    case kind::granted:
      to.granted.put(clamped(event.waited));
      add(to.statements, event.attempts);
      if (event.attempts == 0) add(to.without_statement, 1);
      if (event.taken_over) add(to.take_overs, 1);
      break;
    case kind::busy: to.busy.put(clamped(event.waited)); break;
    case kind::released: to.released.put(clamped(event.held)); break;
    case kind::lost:
      to.lost.put(clamped(event.held));
      add(to.leases_lost[static_cast<std::size_t>(event.reason)], 1);
      break;
    case kind::session_lost: add(to.sessions_lost[static_cast<std::size_t>(event.reason)], 1); break;
    case kind::cleanup: add(to.cleanup_rows, event.attempts); break;
    default: break;
  }
}

// ---- gauges ---------------------------------------------------------------------------------------------------------

metrics::watched_service::watched_service(std::shared_ptr<registry> in, const lock_service& service)
    : service_(nullptr, unwatch{std::move(in)}) {
  auto& all = *service_.get_deleter().in;
  const base::lock_guard lock(all.mutex);
  all.services.push_back(&service);
  service_.reset(&service);
}

void metrics::watched_service::unwatch::operator()(const lock_service* service) const noexcept {
  const base::lock_guard lock(in->mutex);
  // Removes one entry only: a service may be watched twice.
  const auto found = std::find(in->services.begin(), in->services.end(), service);
  if (found != in->services.end()) in->services.erase(found);
}

metrics::watched_service metrics::watch(const lock_service& service) { return {watched_, service}; }

// ---- reading --------------------------------------------------------------------------------------------------------

std::vector<metric_family> metrics::read() const {
  using type = metric_family::type;
  std::vector<metric_family> all;
  const auto family = [&](const char* name, const char* help, type kind) {
    all.push_back({.name = name, .help = help, .kind = kind});
  };
  const auto sample = [&](const char* label, std::string_view value) -> metric_family::sample& {
    auto& made = all.back().samples.emplace_back();
    if (!options_.service.empty()) made.labels.push_back({"service", options_.service});
    if (label != nullptr) made.labels.push_back({label, std::string(value)});
    return made;
  };
  const auto sum = [&](auto&& which) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i != shard_count; ++i) total += value_of(which(shards_[i]));
    return total;
  };
  const auto put = [&](metric_family::sample& to, auto&& which) { to.value = static_cast<double>(sum(which)); };
  const auto put_histogram = [&](metric_family::sample& to, histogram counters::*which) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i <= bounds.size(); ++i) {
      count += sum([&](const counters& c) -> const number& { return (c.*which).buckets[i]; });
      const double bound =
          i == bounds.size() ? std::numeric_limits<double>::infinity() : static_cast<double>(bounds[i]) / 1e6;
      to.buckets.push_back({bound, count});
    }
    to.value = static_cast<double>(sum([&](const counters& c) -> const number& { return (c.*which).sum_us; })) / 1e6;
  };

  family("dlock_events_total", "What happened to locks and sessions, by the kind of event", type::counter);
  for (const kind each : event_kinds) {
    put(sample("event", to_string(each)),
        [&](const counters& c) -> const number& { return c.events[static_cast<std::size_t>(each)]; });
  }
  const auto by_reason = [&](const char* name, const char* help, std::array<number, reasons> counters::*which) {
    family(name, help, type::counter);
    for (std::size_t i = 1; i != reasons; ++i) {  // 0 means no reason
      put(sample("reason", to_string(static_cast<loss_reason>(i))),
          [&](const counters& c) -> const number& { return (c.*which)[i]; });
    }
  };
  by_reason("dlock_leases_lost_total", "Leases that were lost, by reason", &counters::leases_lost);
  by_reason("dlock_sessions_lost_total", "Sessions that were lost, by reason", &counters::sessions_lost);
  const auto plain = [&](const char* name, const char* help, number counters::*which) {
    family(name, help, type::counter);
    put(sample(nullptr, {}), [&](const counters& c) -> const number& { return c.*which; });
  };
  plain("dlock_take_overs_total", "Grants of keys whose holder was dead", &counters::take_overs);
  plain("dlock_acquire_statements_total", "Statements that granted acquires sent", &counters::statements);
  plain("dlock_acquires_without_statement_total", "Granted acquires that sent nothing", &counters::without_statement);
  plain("dlock_cleanup_rows_total", "Rows that clean-up deleted", &counters::cleanup_rows);

  family("dlock_acquire_wait_seconds", "Time from an acquire to its answer", type::histogram);
  put_histogram(sample("result", "granted"), &counters::granted);
  put_histogram(sample("result", "busy"), &counters::busy);
  family("dlock_hold_seconds", "Time from a grant to the end of the lease", type::histogram);
  put_histogram(sample("end", "released"), &counters::released);
  put_histogram(sample("end", "lost"), &counters::lost);

  std::size_t held = 0, lingering = 0, waiting = 0;
  std::chrono::microseconds oldest_hold{0}, oldest_wait{0};
  {
    const base::lock_guard lock(watched_->mutex);
    for (const auto* each : watched_->services) {
      held += each->held();
      lingering += each->lingering();
      waiting += each->waiting();
      oldest_hold = std::max(oldest_hold, each->oldest_hold());
      oldest_wait = std::max(oldest_wait, each->oldest_wait());
    }
  }
  const auto gauge = [&](const char* name, const char* help, double value) {
    family(name, help, type::gauge);
    sample(nullptr, {}).value = value;
  };
  gauge("dlock_held_keys", "Keys and rows that the service holds now", static_cast<double>(held));
  gauge("dlock_lingering_keys", "Keys that the service keeps between two leases", static_cast<double>(lingering));
  gauge("dlock_waiting_calls", "Calls that wait for a key now", static_cast<double>(waiting));
  gauge("dlock_oldest_hold_seconds", "Time since the grant of the key that is held longest", seconds(oldest_hold));
  gauge("dlock_oldest_wait_seconds", "Time since the begin of the call that waits longest", seconds(oldest_wait));
  return all;
}

std::vector<metric_family> metrics::read(const std::vector<std::shared_ptr<const metrics>>& of) {
  std::set<std::string> services;
  std::vector<metric_family> all;
  for (const auto& each : of) {
    if (each == nullptr) throw std::invalid_argument("dlock: metrics::read: one of the metrics is null");
    if (!services.insert(each->options_.service).second) {
      throw std::invalid_argument(fmt::format(
          "dlock: metrics::read: two metrics have the service '{}': metrics_options::service tells them apart",
          each->options_.service));
    }
    auto more = each->read();
    if (all.empty()) {
      all = std::move(more);
      continue;
    }
    for (std::size_t i = 0; i != all.size(); ++i) {  // they all have the same families
      std::move(more[i].samples.begin(), more[i].samples.end(), std::back_inserter(all[i].samples));
    }
  }
  return all;
}

std::string metrics::text() const { return text_of(read()); }

std::string metrics::text(const std::vector<std::shared_ptr<const metrics>>& of) { return text_of(read(of)); }

namespace {

std::string text_of(const std::vector<metric_family>& families) {
  std::string out;
  const auto to = [&] { return std::back_inserter(out); };
  const auto labels = [](const std::vector<metric_family::label>& all, std::string_view more = {}) {
    std::string text;
    for (const auto& each : all) {
      text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", each.name, escaped(each.value));
    }
    if (!more.empty()) text += fmt::format("{}{}", text.empty() ? "" : ",", more);
    return text.empty() ? text : "{" + text + "}";
  };
  for (const auto& family : families) {
    const char* const type = family.kind == metric_family::type::counter ? "counter"
                             : family.kind == metric_family::type::gauge ? "gauge"
                                                                         : "histogram";
    fmt::format_to(to(), "# HELP {0} {1}\n# TYPE {0} {2}\n", family.name, family.help, type);
    for (const auto& sample : family.samples) {
      if (family.kind != metric_family::type::histogram) {
        fmt::format_to(to(), "{}{} {}\n", family.name, labels(sample.labels), number_text(sample.value));
        continue;
      }
      for (const auto& bucket : sample.buckets) {
        fmt::format_to(to(), "{}_bucket{} {}\n", family.name,
                       labels(sample.labels, "le=\"" + number_text(bucket.upper_bound) + "\""), bucket.count);
      }
      fmt::format_to(to(), "{}_sum{} {}\n{}_count{} {}\n", family.name, labels(sample.labels),
                     number_text(sample.value), family.name, labels(sample.labels), sample.buckets.back().count);
    }
  }
  return out;
}

}  // namespace

}  // namespace dlock
