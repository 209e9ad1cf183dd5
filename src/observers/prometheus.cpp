// SPDX-License-Identifier: BSL-1.0
#include "dlock/prometheus.hpp"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace dlock {

namespace {

::prometheus::ClientMetric converted(const metric_family::sample& sample, metric_family::type type) {
  ::prometheus::ClientMetric out;
  for (const auto& each : sample.labels) out.label.push_back({each.name, each.value});
  switch (type) {
    case metric_family::type::counter: out.counter.value = sample.value; break;
    case metric_family::type::gauge: out.gauge.value = sample.value; break;
    case metric_family::type::histogram:
      out.histogram.sample_count = sample.buckets.back().count;
      out.histogram.sample_sum = sample.value;
      for (const auto& each : sample.buckets) out.histogram.bucket.push_back({each.count, each.upper_bound});
      break;
  }
  return out;
}

::prometheus::MetricType converted(metric_family::type type) {
  switch (type) {
    case metric_family::type::counter: return ::prometheus::MetricType::Counter;
    case metric_family::type::gauge: return ::prometheus::MetricType::Gauge;
    case metric_family::type::histogram: break;
  }
  return ::prometheus::MetricType::Histogram;
}

class collectable final : public ::prometheus::Collectable {
 public:
  explicit collectable(std::vector<std::shared_ptr<const metrics>> from) : from_(std::move(from)) {}

  std::vector<::prometheus::MetricFamily> Collect() const override {
    std::vector<::prometheus::MetricFamily> out;
    for (const auto& family : metrics::read(from_)) {
      auto& made = out.emplace_back();
      made.name = family.name;
      made.help = family.help;
      made.type = converted(family.kind);
      for (const auto& sample : family.samples) made.metric.push_back(converted(sample, family.kind));
    }
    return out;
  }

 private:
  const std::vector<std::shared_ptr<const metrics>> from_;
};

}  // namespace

std::shared_ptr<::prometheus::Collectable> make_prometheus_collectable(std::shared_ptr<const metrics> from) {
  if (from == nullptr) throw std::invalid_argument("dlock: make_prometheus_collectable: the metrics are null");
  return make_prometheus_collectable(std::vector{std::move(from)});
}

std::shared_ptr<::prometheus::Collectable> make_prometheus_collectable(
    std::vector<std::shared_ptr<const metrics>> from) {
  static_cast<void>(metrics::read(from));  // throws for bad ones here rather than at the first scrape
  return std::make_shared<collectable>(std::move(from));
}

}  // namespace dlock
