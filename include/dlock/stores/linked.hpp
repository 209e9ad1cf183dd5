// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Makes the URL schemes of the linked store libraries known: dlock::sqlite, dlock::mysql, dlock::redis and
/// dlock::zookeeper define these macros for everybody who links them.

#ifdef DLOCK_HAS_SQLITE
#include "dlock/stores/sqlite.hpp"
#endif
#ifdef DLOCK_HAS_MYSQL
#include "dlock/stores/mysql.hpp"
#endif
#ifdef DLOCK_HAS_REDIS
#include "dlock/stores/redis.hpp"
#include "dlock/stores/redlock.hpp"
#endif
#ifdef DLOCK_HAS_ZOOKEEPER
#include "dlock/stores/zookeeper.hpp"
#endif
