# SPDX-License-Identifier: BSL-1.0
# What is run on Redis.
set(redis LIBS dlock_redis_server dlock_store_actor LABELS redis)
dlock_add_backend(redis FIXTURE redis_fixture redis/fixtures.hpp ${redis} SUITES ${all_verbs} mark share ${services})
dlock_add_backend(redis_clock FIXTURE redis_clock_fixture redis/fixtures.hpp ${redis}
  SUITES store list expiry fence any_key session)  # the others count tokens from 1
dlock_add_backend(redis_setnx FIXTURE redis_setnx_fixture redis/fixtures.hpp ${redis}
  SUITES store list expiry any_key ${services})
dlock_add_backend(redlock FIXTURE redlock_fixture redis/fixtures.hpp ${redis} SUITES store list expiry any_key ${services})
