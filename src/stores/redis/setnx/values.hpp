// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The key, value and scripts of the lock that most programs on Redis use: SET NX PX, and a script that deletes the key
/// if it still has our value. On one server, or on several.

#include <array>
#include <string>
#include <string_view>

#include "dlock/store_interface/store_types.hpp"
#include "stores/redis/client/protocol.hpp"

namespace dlock::stores::redis::setnx {

/// poll: KEYS: lock. Value and PTTL, or nothing. extend: KEYS: lock. ARGV: value, ttl. 1; 0: the key has another value;
/// -1: there is no key. release: KEYS: lock. ARGV: value. As extend, but 1 + how many waiters were notified, to whom
/// the value is published; for an attempt that is cancelled too, because the value names both.
enum class script : std::size_t { poll, extend, release };
extern const std::array<std::string, 3> scripts;

/// The release script publishes on the channel named by this prefix and the Redis key. Other programs may use the bare
/// names.
constexpr std::string_view channel_prefix = "dlock:free:";

/// Why other programs would not know the key by this name; empty if they would.
std::string unfit(std::string_view key);
/// Returns "dlock:<session>:<attempt>".
std::string value_of(const id128& session, std::uint64_t attempt);
/// Stands for the holder of another program's value, which has no session.
id128 foreign_holder() noexcept;
/// The holder that a value names.
seen holder_in(std::string_view value);
/// The end of the range to read of a value: one byte more than dlock's values have.
constexpr std::string_view value_head_end = "63";
bool is_ours(std::string_view value) noexcept;
microseconds remaining_in(const answer& pttl) noexcept;
/// The number of notified waiters, for a release that returned yes.
inline unsigned waiters_in(const answer& response) noexcept {
  return response.number() > 1 ? static_cast<unsigned>(response.number() - 1) : 0;
}
/// Rounds up to whole milliseconds, the unit of an expiry.
std::string in_ms(microseconds ttl);

/// `to` has add(words) for a command, and add(script, number of keys, words).
template <class Calls>
void add_request(Calls&& to, const std::string& prefix, const request& asked) {
  const auto key = prefix + std::string(asked.resource);
  // The attempt's number names the grant: release and extend have it as the fence.
  const bool held = asked.action == verb::release || asked.action == verb::extend;
  const auto value = value_of(asked.session, held ? asked.fence : asked.nonce);
  switch (asked.action) {
    case verb::take:
    case verb::insert: return to.add({"SET", key, value, "NX", "PX", in_ms(asked.ttl)});
    case verb::poll:
    case verb::take_over:
    case verb::close:
    case verb::open:
    case verb::pass_on:
    case verb::reserve: return to.add(script::poll, 1, {key});
    case verb::extend: return to.add(script::extend, 1, {key, value, in_ms(asked.ttl)});
    case verb::release:
    case verb::cancel: return to.add(script::release, 1, {key, value});
  }
}

}  // namespace dlock::stores::redis::setnx
