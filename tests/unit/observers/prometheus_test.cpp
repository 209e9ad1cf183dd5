// SPDX-License-Identifier: BSL-1.0
#include "dlock/prometheus.hpp"
#include "support/test.hpp"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

namespace {

using kind = dlock::event::kind;
using namespace std::chrono_literals;

}  // namespace

TEST_CASE("prometheus: a scrape has every metric with its type, labels and value") {
  const auto numbers = std::make_shared<dlock::metrics>(dlock::metrics_options{.service = "shop"});
  numbers->on({.what = kind::granted, .waited = 3ms});
  numbers->on({.what = kind::busy, .waited = 1s});
  const auto scraped = dlock::make_prometheus_collectable(numbers)->Collect();
  const auto read = numbers->read();
  REQUIRE(scraped.size() == read.size());
  for (std::size_t i = 0; i != read.size(); ++i) {
    CHECK(scraped[i].name == read[i].name);
    CHECK(scraped[i].help == read[i].help);
    REQUIRE(scraped[i].metric.size() == read[i].samples.size());
    for (std::size_t j = 0; j != read[i].samples.size(); ++j) {
      const auto& theirs = scraped[i].metric[j];
      const auto& ours = read[i].samples[j];
      REQUIRE(theirs.label.size() == ours.labels.size());
      CHECK(theirs.label.front().value == "shop");
      switch (read[i].kind) {
        case dlock::metric_family::type::counter:
          CHECK(scraped[i].type == prometheus::MetricType::Counter);
          CHECK(theirs.counter.value == ours.value);
          break;
        case dlock::metric_family::type::gauge:
          CHECK(scraped[i].type == prometheus::MetricType::Gauge);
          CHECK(theirs.gauge.value == ours.value);
          break;
        case dlock::metric_family::type::histogram:
          CHECK(scraped[i].type == prometheus::MetricType::Histogram);
          CHECK(theirs.histogram.sample_sum == ours.value);
          CHECK(theirs.histogram.sample_count == ours.buckets.back().count);
          REQUIRE(theirs.histogram.bucket.size() == ours.buckets.size());
          for (std::size_t k = 0; k != ours.buckets.size(); ++k) {
            CHECK(theirs.histogram.bucket[k].cumulative_count == ours.buckets[k].count);
            CHECK(theirs.histogram.bucket[k].upper_bound == ours.buckets[k].upper_bound);
          }
          break;
      }
    }
  }
  CHECK_THROWS_AS(dlock::make_prometheus_collectable(nullptr), std::invalid_argument);
}

TEST_CASE("prometheus: several services are one collectable, in which each metric is one family") {
  const auto a = std::make_shared<dlock::metrics>(dlock::metrics_options{.service = "a"});
  const auto b = std::make_shared<dlock::metrics>(dlock::metrics_options{.service = "b"});
  const auto scraped = dlock::make_prometheus_collectable({a, b})->Collect();
  REQUIRE(scraped.size() == a->read().size());
  CHECK(scraped.front().metric.size() == 2 * a->read().front().samples.size());
  CHECK(scraped.front().metric.front().label.front().value == "a");
  CHECK(scraped.front().metric.back().label.front().value == "b");
  CHECK_THROWS_AS(dlock::make_prometheus_collectable({a, a}), std::invalid_argument);
}
