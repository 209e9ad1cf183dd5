// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks in a Redis (6.0 or later) or Valkey server: sessions, leases and fencing tokens as in the database stores,
/// each verb one script, executed in one round trip. Linking dlock::redis makes the scheme known to open_store().
///
///   redis://user:password@host:port,host2:port2/0?parameter=value&...
///   redis:///0?socket=/run/redis/redis.sock
///   rediss://...            the same by TLS
///
/// Several hosts are tried in turn, beginning with the last that worked; a replica is passed over. The path is the
/// number of the database, 0 unless given; the port 6379. A password without a user is that of the default user.
///
/// | parameter         | values, default              | meaning                                                       |
/// |-------------------|------------------------------|---------------------------------------------------------------|
/// | socket            | a path, none                 | a Unix socket instead of a host                               |
/// | credentials       | a name, none                  | set_redis_credentials() says with which user and password     |
/// | scheme            | leases, setnx; leases        | setnx: the key, value and scripts of programs that lock by    |
/// |                   |                              | SET NX PX, so that both exclude each other; no fencing token  |
/// | wake              | on, off; on                  | scheme=setnx: on: a release by dlock wakes a waiter that has  |
/// |                   |                              | found the key held; off: it polls                             |
/// | persistence       | always, everysec, none;      | what the server must promise about its own crash. always:     |
/// |                   | everysec                     | appendonly and appendfsync=always. everysec: appendonly. none:|
/// |                   |                              | nothing. docs/redis.md says what may be granted twice then    |
/// | tls               | off, require, verify; off,   | require: encrypted. verify: and the certificate must be that   |
/// |                   | with rediss: verify          | host's, by an authority that is known                         |
/// | tls_ca            | a file, the system's         | authorities, PEM                                              |
/// | tls_cert, tls_key | files, none                  | our own certificate and its key, PEM                          |
/// | sentinel          | a name, none                 | the hosts are sentinels (port 26379), which are asked at each |
/// |                   |                              | connect where the primary of that name is                     |
/// | sentinel_user,    | none                         | for the sentinels                                             |
/// | sentinel_password |                              |                                                               |
/// | fences            | clock, count; clock          | clock: each token is at least the server's time in            |
/// |                   |                              | microseconds, so they grow although grants were lost, and     |
/// |                   |                              | after a failover. count: from 1, for a server that never loses any              |
/// | prefix            | 1 to 40 word characters or   | begins the names of all keys of dlock. scheme=setnx: of the   |
/// |                   | ':', dlock:                  | locks; none unless given                                      |
/// | connect_timeout   | ms, 5000; 1 to 3600000       | for one attempt to connect                                    |
/// | statement_timeout | ms, 5000; 1 to 3600000       | without an answer for so long a statement has an unknown      |
/// |                   |                              | outcome, and its connection is ended                          |
///
/// Any other parameter is an error. The password is in no text that dlock makes. Refused at prepare(): a server whose
/// maxmemory-policy may delete locks (allkeys-*; with scheme=setnx and a maxmemory volatile-* too), a node of a Redis
/// Cluster, one that promises less than `persistence`. Not there: leases of rows.

#include <functional>
#include <memory>
#include <string>

#include "dlock/export.hpp"
#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores {

/// Makes the store, which connects to nothing yet.
/// Errors: std::invalid_argument, naming the parameter and its value.
DLOCK_EXPORT std::shared_ptr<store> open_redis(store_url url);

struct redis_login {
  std::string user{};  ///< empty for the default user
  std::string password{};
};

/// For passwords that change while the program runs: a URL, also one of redlock://, with credentials=`name` asks the
/// function at each login. It may be called from several threads at once, and the call that connects waits for it; what
/// it throws is the reason why that connection is not made. A second call with that name replaces the function.
///
/// Errors: std::invalid_argument, no name or no function.
/// Thread safety: any thread.
DLOCK_EXPORT void set_redis_credentials(std::string name, std::function<redis_login()> ask);

}  // namespace dlock::stores
