// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "dlock/store_interface/id128.hpp"
#include "stores/redis/client/protocol.hpp"

namespace dlock::stores::redis::leases {

/// One script for each verb. docs/redis.md has the table of keys and fields.
enum class script : std::size_t {
  hello,   ///< KEYS: meta. ARGV: run, a new name for the data, whether tokens go by the clock, promotion. Name of the
           ///< data, epoch
  take,    ///< KEYS: lock, index. ARGV: session, nonce, ttl ('': kept), epoch, whether tokens go by the clock, key. The
           ///< fence, or nothing
  insert,  ///< KEYS: as take, and: meta. ARGV: as take
  take_over,     ///< KEYS: as take, and: the holder's session. ARGV: as take, and: holder, its fence
  poll,          ///< KEYS: lock. ARGV: what names of sessions begin with; of a caller that wants to be a member: units,
                 ///< permits, how long a key stays closed
  extend,        ///< KEYS: lock. ARGV: session, fence, ttl. 1 or 0
  release,       ///< KEYS: lock, index. ARGV: session, fence, how many ms a free hash stays ('': until clean-up), key,
                 ///< min_hold. 1 or 0
  cancel,        ///< the same. ARGV: session, nonce, as release without min_hold. 1 or 0
  open_session,  ///< KEYS: session, sessions. ARGV: session, ttl, host, pid, label. 1 or 0
  renew_session,   ///< the same. ARGV: session, ttl, what names of locks begin with, and pairs of a key and its fence,
                   ///< or of a key and ':' with the nonce of a member. 0; or 1, and which of the pairs (from 0) the
                   ///< session does not hold
  remove_session,  ///< the same. ARGV: session, whether only if it has expired. 1 or 0
  inspect,         ///< KEYS: lock. ARGV: key, what names of sessions begin with. Holders
  list,    ///< KEYS: index. ARGV: what names of locks and of sessions begin with, after, how many. Whether there may be
           ///< more, the last key that was looked at, the number of keys, holders
  revoke,  ///< KEYS: lock. ARGV: what names of sessions begin with. 1 or 0
  sweep_keys,  ///< KEYS: index, meta. ARGV: what names begin with (two), after, idle (0: none goes), how many. Deleted
               ///< ones, where to go on ('': at the beginning), dead sessions that keep something
  overview,    ///< KEYS: index, sessions. ARGV: what names of locks and of sessions begin with, how many sessions. Kept
             ///< keys, live sessions, dead ones; sessions, each with its locks as far as they were looked at; holders;
             ///< how many of the keys are held
  dead_sessions,  ///< KEYS: sessions. ARGV: what their names begin with, how many to pass over. How many it looked at
                  ///< (500: there may be more), those long dead
  find_mark,      ///< KEYS: mark. How long ago, how long it counts on (-1: for ever), fence, by; or nothing
  set_mark,       ///< KEYS: lock, mark. ARGV: session, fence, valid ('': for ever), by. 1 or 0
  // Members: docs/protocol.md. `members` is a hash that has one field for each.
  join,       ///< KEYS: lock, members, index. ARGV: session, nonce, units, permits (0: no limit), how long a key stays
              ///< closed, whether tokens go by the clock, key. The fence, or nothing
  join_new,   ///< KEYS: as join, and: meta. ARGV: as join. The same, for a key without a hash
  join_dead,  ///< KEYS: as join, and: the holder's session. ARGV: as join, and: holder, its fence. The same, after a
              ///< dead holder
  leave,      ///< KEYS: members, lock. ARGV: session, nonce. 1 or 0
  remove_dead,  ///< KEYS: members, a session. ARGV: its id. Nothing
  close,        ///< KEYS: lock. 1 or 0
  open,         ///< KEYS: lock. 1 or 0
  take_closed,  ///< KEYS: as take, and: members. ARGV: as take, and: the fence and the closing that were seen
  downgrade,    ///< KEYS: as join. ARGV: as join, and: the fence. The fence, or nothing
};

/// The texts of the scripts, in that order.
std::span<const std::string> scripts();

/// A session's name in keys and values.
inline std::string_view name_of(const id128& id) noexcept {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}
inline id128 id_in(std::string_view text) noexcept {
  id128 id;
  if (text.size() == id.bytes.size()) std::memcpy(id.bytes.data(), text.data(), text.size());
  return id;
}

inline std::uint64_t fence_in(const answer& response) noexcept { return static_cast<std::uint64_t>(response.number()); }

}  // namespace dlock::stores::redis::leases
