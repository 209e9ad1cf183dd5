// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Locks in a ZooKeeper ensemble (3.5 or later): queues of ephemeral nodes, named and ordered as by a recipe of Apache
/// Curator or of kazoo, so that its programs and dlock exclude each other. ZooKeeper wakes waiters in order.
/// Linking dlock::zookeeper makes the scheme known to open_store().
///
///   zookeeper://host1:port,host2,host3/chroot?parameter=value&...
///   zookeeper://user:password@host/...          authenticates as that user (digest); nodes are made for it alone
///
/// The port is 2181 unless given. The path stands before all paths, as the chroot of other clients, and is made if need
/// be.
///
/// | parameter         | values, default          | meaning                                                          |
/// |-------------------|--------------------------|------------------------------------------------------------------|
/// | base              | a path, /dlock           | the node below which each key has one: base=/locks and the key   |
/// |                   |                          | "stock" are the path /locks/stock of the other programs          |
/// | names             | see below; curator       | the recipe whose programs see our nodes                          |
/// | connect_timeout   | ms, 5000; 1 to 3600000   | how long the start waits for a server                            |
/// | statement_timeout | ms, 5000; 1 to 3600000   | without an answer for so long a statement has an unknown outcome |
///
/// | names             | lock_options::mode       | beside                                                           |
/// |-------------------|--------------------------|------------------------------------------------------------------|
/// | curator           | exclusive                | Curator's InterProcessMutex. Locks of kazoo are respected, too   |
/// | curator-readwrite | exclusive, shared        | Curator's InterProcessReadWriteLock                              |
/// | curator-semaphore | one_of(n)                | Curator's InterProcessSemaphoreV2                                |
/// | kazoo             | exclusive, shared        | kazoo's Lock or WriteLock, and ReadLock. Curator's mutexes are   |
/// |                   |                          | respected, too                                                   |
///
/// Any other parameter is an error. The password is in no text that dlock makes. lock_options::ttl is at most three
/// quarters of the servers' maxSessionTimeout (30 s where that is not set); docs/zookeeper.md says what it means here.
/// Not there: leases that end by an expiry (renewal::none, renewal::manual), min_hold, leases of rows, TLS.

#include <memory>

#include "dlock/export.hpp"
#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores {

/// Makes the store, which connects to nothing yet.
/// Errors: std::invalid_argument, naming the parameter and its value.
DLOCK_EXPORT std::shared_ptr<store> open_zookeeper(store_url url);

}  // namespace dlock::stores
