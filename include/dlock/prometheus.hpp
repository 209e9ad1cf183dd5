// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Metrics for Prometheus through prometheus-cpp. In the library dlock::prometheus, so that dlock::core needs none of
/// it:
///
///   const auto numbers = std::make_shared<dlock::metrics>();
///   dlock::lock_service locks{url, {.observer = numbers}};
///   const auto gauges = numbers->watch(locks);
///   const auto collectable = dlock::make_prometheus_collectable(numbers);
///   prometheus::Exposer exposer{"127.0.0.1:9464"};
///   exposer.RegisterCollectable(collectable);    // keeps a weak pointer: keep `collectable` as long as the exposer
///
/// dlock/metrics.hpp lists the metrics. A program without prometheus-cpp answers metrics::text() by its own HTTP
/// server.

#include <memory>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/metrics.hpp"

namespace prometheus {
class Collectable;
}

namespace DLOCK_EXPORT dlock {

/// Reads `from` at each scrape.
/// Errors: std::invalid_argument, `from` is null.
/// Thread safety: any thread.
DLOCK_EXPORT std::shared_ptr<::prometheus::Collectable> make_prometheus_collectable(
    std::shared_ptr<const metrics> from);
/// Of several, as metrics::read() joins them: one collectable for all.
/// Errors: as metrics::read().
DLOCK_EXPORT std::shared_ptr<::prometheus::Collectable> make_prometheus_collectable(
    std::vector<std::shared_ptr<const metrics>> from);

}  // namespace dlock
