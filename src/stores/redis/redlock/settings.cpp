// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/redlock/settings.hpp"

#include <fmt/format.h>

#include <set>
#include <stdexcept>
#include <utility>

namespace dlock::stores::redis::redlock {

namespace {

[[noreturn]] void bad(const std::string& text) {
  throw std::invalid_argument(fmt::format("dlock: redlock URL: {}", text));
}

std::chrono::milliseconds take_timeout(store_url& url, const char* name, std::chrono::milliseconds otherwise,
                                       std::int64_t least) {
  return std::chrono::milliseconds{url.take_number(name, otherwise.count(), least, 86'400'000, "milliseconds")};
}

}  // namespace

redlock_settings redlock_settings::parse(store_url url) {
  constexpr std::size_t least = 3;
  if (url.params.contains("socket")) bad("socket= is one server; name the hosts of three or more masters");
  for (const char* strange : {"scheme", "sentinel"}) {
    if (url.params.contains(strange)) bad(fmt::format("there is no {}=", strange));
  }
  auto name = url.redacted();
  // What one master loses in a crash is what the others are for.
  url.params.emplace("persistence", "none");
  redlock_settings settings{redis_settings::take(url)};
  settings.name = std::move(name);
  if (settings.hosts.size() < least) {
    bad(
        fmt::format("{} of the {} masters that a majority needs at least; for one server there is "
                    "redis://host?scheme=setnx",
                    settings.hosts.size(), least));
  }
  std::set<std::string> named;
  for (const auto& host : settings.hosts) {
    if (!named.insert(settings.where(host)).second) bad(fmt::format("{} is named twice", settings.where(host)));
  }
  if (const auto text = url.take_param("prefix", ""); !text.empty()) settings.prefix = checked_prefix(text);
  settings.master_timeout = take_timeout(url, "master_timeout", settings.master_timeout, 1);
  settings.restart_delay = take_timeout(url, "restart_delay", settings.restart_delay, 0);
  url.expect_no_more_params();
  return settings;
}

}  // namespace dlock::stores::redis::redlock
