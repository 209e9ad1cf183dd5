// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dlock::stores::redis::leases {

/// One script for each verb. docs/redis.md has the table of keys and fields.
enum class script : std::size_t {
  hello,  ///< KEYS: meta. ARGV: run, a new name for the data, whether tokens go by the clock, promotion. Name of the data,
          ///< epoch
  take,            ///< KEYS: lock. ARGV: session, nonce, ttl ('': kept), epoch. The fence, or nothing
  insert,          ///< KEYS: lock, meta, index. ARGV: as take, and: key, whether tokens go by the clock
  take_over,       ///< KEYS: lock, the holder's session. ARGV: as take, and: holder, its fence
  look,            ///< KEYS: lock. ARGV: what names of sessions begin with
  extend,          ///< KEYS: lock. ARGV: session, fence, ttl. 1 or 0
  release,         ///< KEYS: lock. ARGV: session, fence, min_hold. 1 or 0
  cancel,          ///< KEYS: lock. ARGV: session, nonce. 1 or 0
  open_session,    ///< KEYS: session, sessions. ARGV: session, ttl, host, pid, label. 1 or 0
  renew_session,   ///< the same. ARGV: session, ttl. 1 or 0
  remove_session,  ///< the same. ARGV: session, whether only if it has expired. 1 or 0
  inspect,         ///< KEYS: lock. ARGV: key, what names of sessions begin with. A holder, or nothing
  list,    ///< KEYS: index. ARGV: what names of locks and of sessions begin with, after, how many. Whether there may be
           ///< more, the last key that was looked at, holders
  revoke,  ///< KEYS: lock. ARGV: what names of sessions begin with. 1 or 0
  sweep_keys,  ///< KEYS: index, meta. ARGV: what names begin with (two), after, idle (0: none goes), how many. Deleted
               ///< ones, where to go on ('': at the beginning), dead sessions that keep something
  dead_sessions,  ///< KEYS: sessions. ARGV: what their names begin with. Those long dead
};

/// Their texts, in that order.
std::span<const std::string> scripts();

}  // namespace dlock::stores::redis::leases
