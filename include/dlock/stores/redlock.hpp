// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks that a majority of independent Redis (6.0 or later) or Valkey servers grants, as the page "Redlock" of Redis
/// describes them: the keys and values of redis://?scheme=setnx, on each of the masters. Programs that lock by another
/// library of that kind, over the same masters, and dlock exclude each other. docs/redis.md says what it promises and
/// what not; in short: no fencing token, and it relies on clocks. Linking dlock::redis makes the scheme known to
/// open_store().
///
///   redlock://user:password@a:port,b:port,c:port,d:port,e:port/0?parameter=value&...
///
/// Three masters or more, which must not replicate each other; 5 survive the loss of 2. An even number is allowed, and
/// survives no more than one less. The path is the number of the database, 0 unless given; the port 6379.
///
/// | parameter         | values, default              | meaning                                                       |
/// |-------------------|------------------------------|---------------------------------------------------------------|
/// | credentials       | a name, none                 | set_redis_credentials() says with which user and password     |
/// | master_timeout    | ms, 200; 1 to 86400000       | how long an answer of a master is waited for; not longer than |
/// |                   |                              | half the ttl. A dead or slow master costs this once           |
/// | restart_delay     | ms, 60000; 0 to 86400000     | a master that was started less than so long ago does not count|
/// |                   |                              | (unless it has appendfsync=always), because it may have       |
/// |                   |                              | forgotten what it granted. No ttl may be longer. Give all     |
/// |                   |                              | programs the same. 0: it counts at once                       |
/// | wake              | on, off; on                  | on: a release by dlock wakes a waiter that has found the key  |
/// |                   |                              | held; off: it polls                                           |
/// | persistence       | always, everysec, none; none | what each master must promise about its own crash             |
/// | prefix            | 1 to 40 word characters or   | begins the names of the locks' keys; none unless given        |
/// |                   | ':', none                    |                                                               |
/// | tls, tls_ca,      | as dlock/stores/redis.hpp    |                                                               |
/// | tls_cert, tls_key |                              |                                                               |
/// | connect_timeout   | ms, 5000; 1 to 3600000       | for one attempt to connect to all of them                     |
/// | statement_timeout | ms, 5000; 1 to 3600000       | without an answer for so long a connection is made anew       |
///
/// Any other parameter is an error. The password is in no text that dlock makes. Refused at prepare(): fewer than three
/// masters, one server with two names, servers that dlock/stores/redis.hpp says are refused.

#include <memory>

#include "dlock/export.hpp"
#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores {

/// Makes the store, which connects to nothing yet.
/// Errors: std::invalid_argument, naming the parameter and its value.
DLOCK_EXPORT std::shared_ptr<store> open_redlock(store_url url);

}  // namespace dlock::stores
