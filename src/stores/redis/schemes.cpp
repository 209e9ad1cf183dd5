// SPDX-License-Identifier: BSL-1.0

/// The parameter `scheme` of a redis:// URL chooses the store.

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "dlock/stores/redis.hpp"
#include "dlock/stores/redlock.hpp"
#include "stores/redis/leases/store.hpp"
#include "stores/redis/redlock/store.hpp"
#include "stores/redis/setnx/store.hpp"

namespace dlock::stores {

std::shared_ptr<store> open_redis(store_url url) {
  using namespace redis;
  const auto scheme = url.params.contains("scheme") ? url.params.at("scheme") : "leases";
  if (scheme != "leases" && scheme != "setnx") {
    throw std::invalid_argument(fmt::format("dlock: redis URL: scheme={} is not leases or setnx", scheme));
  }
  if (scheme == "setnx") return std::make_shared<setnx::setnx_store>(redis_settings::parse(std::move(url)));
  return std::make_shared<leases::lease_store>(lease_settings::parse(std::move(url)));
}

std::shared_ptr<store> open_redlock(store_url url) {
  return std::make_shared<redis::redlock::redlock_store>(redis::redlock_settings::parse(std::move(url)));
}

}  // namespace dlock::stores

// Runs before the constructors of static objects, which may open stores.
extern "C" [[gnu::constructor(200)]] DLOCK_EXPORT void dlock_register_redis() {
  dlock::register_store("redis", dlock::stores::open_redis);
  dlock::register_store("rediss", dlock::stores::open_redis);
  dlock::register_store("redlock", dlock::stores::open_redlock);
}
