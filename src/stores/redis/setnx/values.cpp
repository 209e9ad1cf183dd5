// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/setnx/values.hpp"

#include <fmt/format.h>

#include <chrono>

#include "base/text.hpp"
#include "dlock/lock_key.hpp"

namespace dlock::stores::redis::setnx {

// Without the right to publish, the key is freed but no waiter is notified.
const std::array<std::string, 3> scripts{
    R"(
local value = redis.call('GET', KEYS[1])
if not value then return false end
return {value, redis.call('PTTL', KEYS[1])}
)",
    R"(
local value = redis.call('GET', KEYS[1])
if value ~= ARGV[1] then return value and 0 or -1 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
)",
    R"(
local value = redis.call('GET', KEYS[1])
if value ~= ARGV[1] then return value and 0 or -1 end
redis.call('DEL', KEYS[1])
local waiters = redis.pcall('PUBLISH', ')" +
        std::string(channel_prefix) + R"(' .. KEYS[1], ARGV[1])
return 1 + (type(waiters) == 'number' and waiters or 0)
)"};

namespace {

constexpr std::string_view mark = "dlock:";
constexpr microseconds for_ever = std::chrono::hours{24 * 365};

}  // namespace

std::string unfit(std::string_view key) {
  if (!lock_key::from_stored(key).folded()) return {};
  return fmt::format("a key of more than {} bytes is folded, and so would not exclude other programs",
                     lock_key::max_size);
}

std::string value_of(const id128& session, std::uint64_t attempt) {
  return fmt::format("{}{}:{}", mark, session.hex(), attempt);
}

id128 foreign_holder() noexcept {
  id128 id;
  id.bytes.fill(0xff);
  return id;
}

seen holder_in(std::string_view value) {
  constexpr std::size_t digits = 32;
  if (value.starts_with(mark) && value.size() > mark.size() + digits + 1) {
    const auto attempt = static_cast<std::uint64_t>(answer::number_in(value.substr(mark.size() + digits + 1)));
    if (const auto session = id128::parse(value.substr(mark.size(), digits))) {
      return {.holder = *session, .fence = attempt, .nonce = attempt};
    }
  }
  return {.holder = foreign_holder(), .who = detail::printable_text(value.substr(0, 64))};
}

bool is_ours(std::string_view value) noexcept { return value.starts_with(mark); }

microseconds remaining_in(const answer& pttl) noexcept {
  return pttl.number() < 0 ? for_ever : microseconds{pttl.number() * 1000};
}

std::string in_ms(microseconds ttl) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(ttl).count());
}

}  // namespace dlock::stores::redis::setnx
