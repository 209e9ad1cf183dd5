// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Counts and times what a lock_service does, for a monitoring system.
///
///   const auto numbers = std::make_shared<dlock::metrics>();
///   dlock::lock_service locks{url, {.observer = numbers}};
///   const auto gauges = numbers->watch(locks);
///   answer_scrape(numbers->text());   // Prometheus' text format; or dlock/prometheus.hpp
///
/// | metric                          | type      | label                     | what                                        |
/// |---------------------------------|-----------|---------------------------|---------------------------------------------|
/// | dlock_events_total              | counter   | event: each event::kind   | as lock_service::count()                    |
/// | dlock_leases_lost_total         | counter   | reason: each loss_reason  | leases that were lost                       |
/// | dlock_sessions_lost_total       | counter   | reason                    | sessions that were lost                     |
/// | dlock_take_overs_total          | counter   | -                         | grants of keys whose holder was dead        |
/// | dlock_acquire_statements_total  | counter   | -                         | statements that granted acquires sent       |
/// | dlock_acquires_without_statement_total | counter | -                      | granted acquires that sent nothing          |
/// | dlock_cleanup_rows_total        | counter   | -                         | rows that clean-up deleted                  |
/// | dlock_acquire_wait_seconds      | histogram | result: granted, busy     | from the call to its answer                 |
/// | dlock_hold_seconds              | histogram | end: released, lost       | from the grant to the end of the lease      |
/// | dlock_held_keys                 | gauge     | -                         | lock_service::held(), of watched services   |
/// | dlock_lingering_keys            | gauge     | -                         | lock_service::lingering(), likewise         |
/// | dlock_waiting_calls             | gauge     | -                         | lock_service::waiting(), of watched services|
/// | dlock_oldest_hold_seconds       | gauge     | -                         | lock_service::oldest_hold(), of the oldest  |
/// | dlock_oldest_wait_seconds       | gauge     | -                         | lock_service::oldest_wait(), likewise       |
///
/// No label depends on keys, so the number of time series is fixed: some 130. With metrics_options::service each has
/// the label `service`, too. Several services that shall be told apart have a dlock::metrics each, and one text:
///
///   answer_scrape(dlock::metrics::text({orders, stock}));

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/observer.hpp"

namespace DLOCK_EXPORT dlock {

class lock_service;

struct metrics_options {
  /// Value of the label `service` of all metrics, to tell several services of a process apart. Default: no such label.
  std::string service{};
};

/// The values of one metric, as metrics::read() shows them.
struct metric_family {
  enum class type { counter, gauge, histogram };
  struct label {
    std::string name{};
    std::string value{};
  };
  struct bucket {
    double upper_bound = 0;   ///< seconds; the last one of a histogram is infinity
    std::uint64_t count = 0;  ///< of values not above it
  };
  struct sample {
    std::vector<label> labels{};
    double value = 0;               ///< a counter, a gauge; of a histogram the sum, in seconds
    std::vector<bucket> buckets{};  ///< of a histogram
  };

  std::string name{};
  std::string help{};
  type kind = type::counter;
  std::vector<sample> samples{};
};

/// An observer for one or several services. on() takes no lock and allocates nothing.
/// Thread safety: all functions from any thread.
class metrics final : public observer {
 public:
  explicit metrics(metrics_options options = {});
  ~metrics() override;
  metrics(const metrics&) = delete;
  metrics& operator=(const metrics&) = delete;

  void on(const event& event) override;

  /// A service whose gauges are among the metrics as long as this lives; it may outlive the metrics.
  /// Precondition: it ends before the service, so declare it after the service.
  class watched_service {
   public:
    watched_service() noexcept = default;

   private:
    friend class metrics;
    struct registry;
    struct unwatch {
      std::shared_ptr<registry> in;
      void operator()(const lock_service* service) const noexcept;
    };
    watched_service(std::shared_ptr<registry> in, const lock_service& service);

    std::unique_ptr<const lock_service, unwatch> service_{};
  };
  [[nodiscard]] watched_service watch(const lock_service& service);

  /// All metrics. Counters that other threads raise meanwhile may or may not be included.
  std::vector<metric_family> read() const;
  /// The same in Prometheus' text format, version 0.0.4 (Content-Type: text/plain; version=0.0.4).
  std::string text() const;

  /// The same of several in one answer, which names each metric once.
  /// Errors: std::invalid_argument, one is null, or two have the same metrics_options::service.
  static std::vector<metric_family> read(const std::vector<std::shared_ptr<const metrics>>& of);
  static std::string text(const std::vector<std::shared_ptr<const metrics>>& of);

 private:
  struct counters;
  counters& mine() const noexcept;

  const metrics_options options_;
  const std::unique_ptr<counters[]> shards_;
  const std::shared_ptr<watched_service::registry> watched_;
};

}  // namespace dlock
