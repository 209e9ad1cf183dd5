// SPDX-License-Identifier: BSL-1.0

// Times are microseconds by the server's clock. A script runs alone and as a whole, so what it has read stays true
// until it ends. Its numbers are doubles, exact to 2^53: until the year 2255 for times, and for tokens that begin with
// them.
#include "stores/redis/leases/scripts.hpp"

#include <array>

namespace dlock::stores::redis::leases {

namespace {

// Each call of redis.call() takes about a microsecond, and each function that a script defines a tenth of one.
constexpr std::string_view read_clock = R"(
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
)";

constexpr std::string_view whole = R"(
local function whole(n) return string.format('%.0f', n) end
)";

// A key that members share has one of these as its session, and an expiry that never comes, so that a script that knows
// nothing of members finds it held.
constexpr std::string_view shared_names = R"(
local OPEN, CLOSED, NEVER = 'dlock:open:share', 'dlock:closed:now', '250000000000000000'
)";

/// The name of the hash of members, from those of a lock and of what names of sessions begin with. So that exclusive
/// locks pay nothing for it.
constexpr std::string_view members_of = R"(
local function members_of(lock, sessions)
  local prefix = string.sub(sessions, 1, -9)
  return prefix .. 'members:' .. string.sub(lock, #prefix + 6)
end
)";

// A server whose memory is full refuses a script's first write if that one may need memory, and none after it. The end,
// renewal or cancellation of a lease must not depend on memory that other programs use up, so such a script begins with
// a PERSIST or HDEL that changes nothing.

/// The end of a script that grants: `fence` and `expires` are the row's. If tokens come from the clock, a free key's
/// hash expires, so a held key's must not, and is indexed again. Such tokens exceed the clock at each grant, even on a
/// primary that was cut off and keeps granting. Rule 1: a grant that its session keeps clears an expiry left by the
/// previous holder, which would free it.
constexpr std::string_view grant = R"(
fence = math.max(fence, ARGV[4]) + 1
if ARGV[5] == '1' then fence = math.max(fence, now) end
fence = string.format('%.0f', fence)
redis.call('HSET', KEYS[1], 'session', ARGV[1], 'nonce', ARGV[2], 'fence', fence,
           'acquired', string.format('%.0f', now))
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[1], 'expires', string.format('%.0f', now + ARGV[3]))
elseif expires then
  redis.call('HDEL', KEYS[1], 'expires')
end
if ARGV[5] == '1' then
  redis.call('PERSIST', KEYS[1])
  redis.call('ZADD', KEYS[2], 0, ARGV[6])
end
return fence
)";

/// A promoted replica has other data than its primary, which may have had more, so the data get a new name, which
/// restarts keep. A user without the right to write is refused here rather than at the first acquire. A server that
/// accepts no writes now may do so later.
constexpr std::string_view hello = R"(
local nothing = redis.pcall('HDEL', KEYS[1], '')
if type(nothing) == 'table' and nothing.err then
  local passes = false
  for _, kind in ipairs({'NOREPLICAS', 'MISCONF', 'READONLY', 'MASTERDOWN'}) do
    passes = passes or string.find(nothing.err, kind, 1, true)
  end
  if not passes then return nothing end
end
local meta = redis.call('HMGET', KEYS[1], 'run', 'data', 'epoch', 'promotion')
local data, epoch = meta[2], tonumber(meta[3] or 0)
local promoted = ARGV[4] ~= '' and meta[4] ~= ARGV[4]
if promoted or not data then
  data = ARGV[2]
  redis.call('HSET', KEYS[1], 'data', data, 'promotion', ARGV[4])
end
if promoted or meta[1] ~= ARGV[1] then
  if ARGV[3] == '1' then epoch = math.max(epoch, now) end
  redis.call('HSET', KEYS[1], 'run', ARGV[1], 'epoch', whole(epoch))
end
return {data, whole(epoch)}
)";

constexpr std::string_view take = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'fence', 'expires')
if not row[2] then return false end
if row[1] and not (row[3] and tonumber(row[3]) <= now) then return false end
local fence, expires = row[2], row[3]
)";

/// Reads the epoch again, because an operator may have deleted the key, and the floor with it, after the connection
/// read its epoch.
constexpr std::string_view insert = R"(
if redis.call('EXISTS', KEYS[1]) == 1 then return false end
redis.call('ZADD', KEYS[2], 0, ARGV[6])
local meta = redis.call('HMGET', KEYS[3], 'floor', 'epoch')
local fence, expires = math.max(meta[1] or 0, meta[2] or 0), false
)";

/// Rule 2: names the holder and the fence that were seen.
constexpr std::string_view take_over = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'fence', 'expires')
if not row[1] or row[1] ~= ARGV[7] or row[2] ~= ARGV[8] then return false end
if row[3] then
  if tonumber(row[3]) > now then return false end
elseif redis.call('EXISTS', KEYS[3]) == 1 then
  return false
end
local fence, expires = row[2], row[3]
)";

constexpr std::string_view poll = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'fence', 'expires')
if not row[2] then return false end
if row[1] == OPEN or row[1] == CLOSED then return poll_members(row) end
local s = row[1] and redis.call('HMGET', ARGV[1] .. row[1], 'expires', 'host', 'pid', 'label') or {}
local ends = tonumber(row[3] or s[1] or now)
return {row[1] or '', row[2], row[3] and 1 or 0, s[1] and 1 or 0, ends <= now and 1 or 0,
        whole(math.max(0, ends - now)), s[2] or '', s[3] or '', s[4] or ''}
)";

/// As poll, with the member whose session ends first as the holder, of those that the caller must wait for. One without
/// a session comes first.
constexpr std::string_view poll_members = R"(
local function poll_members(row)
  local shown = redis.call('HMGET', KEYS[1], 'closings', 'closed')
  local since = row[1] == CLOSED and now - (shown[2] or 0) or 0
  local found = {'', row[2], 2, 0, 0, '0', '', '', '', row[1] == OPEN and 1 or 2, shown[1] or '0', whole(since)}
  local room = 0
  if ARGV[2] then
    if row[1] == CLOSED and since < tonumber(ARGV[4]) then
      found[1], found[4], found[6] = CLOSED, 1, whole(ARGV[4] - since)
      return found
    end
    if ARGV[3] == '0' then return found end
    room = ARGV[3] - ARGV[2]
  end
  local units, first = 0, nil
  local all = redis.call('HGETALL', members_of(KEYS[1], ARGV[1]))
  for i = 1, #all, 2 do
    local id = string.sub(all[i], 1, 16)
    local s = redis.call('HMGET', ARGV[1] .. id, 'expires', 'host', 'pid', 'label')
    local ends = tonumber(s[1] or -1)
    units = units + string.match(all[i + 1], '^%d+')
    if not first or ends < first then
      first = ends
      found[1], found[4], found[5] = id, s[1] and 1 or 0, ends <= now and 1 or 0
      found[6], found[7], found[8], found[9] = whole(math.max(0, ends - now)), s[2] or '', s[3] or '', s[4] or ''
    end
  end
  if ARGV[2] and units <= room then found[1] = '' end
  return found
end
)";

constexpr std::string_view extend = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'fence', 'expires')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] or not row[3] or tonumber(row[3]) <= now then return 0 end
redis.call('PERSIST', KEYS[1])
redis.call('HSET', KEYS[1], 'expires', whole(math.max(tonumber(row[3]), now + ARGV[3])))
return 1
)";

/// The end of a script that frees. If tokens come from the clock, a free key's data need not stay for long.
constexpr std::string_view free = R"(
local function free()
  redis.call('HDEL', KEYS[1], 'session', 'expires')
  if ARGV[3] ~= '' then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    redis.call('ZREM', KEYS[2], ARGV[4])
  end
end
)";

/// Rule 12: with min_hold holder and fence stay, and a waiter learns until when; without it the clock is not needed.
/// Without the right to publish, the key is freed but no waiter is notified.
constexpr std::string_view release = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'fence', 'acquired')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return 0 end
local ends
if ARGV[5] ~= '0' then
  local t = redis.call('TIME')
  ends = row[3] + ARGV[5]
  if ends <= t[1] * 1000000 + t[2] then ends = nil end
end
if ends then
  redis.call('PERSIST', KEYS[1])
  redis.call('HSET', KEYS[1], 'expires', string.format('%.0f', ends))
  if ARGV[3] ~= '' then
    redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', math.ceil(ends / 1000) + ARGV[3]))
  end
else
  free()
end
local waiters = redis.pcall('PUBLISH', KEYS[1], '')
return 1 + (type(waiters) == 'number' and waiters or 0)
)";

constexpr std::string_view cancel = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'nonce')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return 0 end
free()
redis.pcall('PUBLISH', KEYS[1], '')
return 1
)";

constexpr std::string_view open_session = R"(
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local ends = whole(now + ARGV[2])
redis.call('HSET', KEYS[1], 'expires', ends, 'ttl', ARGV[2], 'host', ARGV[3], 'pid', ARGV[4], 'label', ARGV[5],
           'opened', whole(now))
redis.call('ZADD', KEYS[2], ends, ARGV[1])
return 1
)";

/// Checks some of the session's keys, because only the holder would miss a hash that was deleted or evicted.
constexpr std::string_view renew_session = R"(
local row = redis.call('HMGET', KEYS[1], 'expires', 'revoked')
if not row[1] or row[2] or tonumber(row[1]) <= now then return 0 end
local ends = whole(math.max(tonumber(row[1]), now + ARGV[2]))
redis.call('PERSIST', KEYS[1])
redis.call('HSET', KEYS[1], 'expires', ends)
redis.call('ZADD', KEYS[2], ends, ARGV[1])
local found = {1}
for i = 4, #ARGV, 2 do
  local lock = ARGV[3] .. ARGV[i]
  local held = redis.call('HMGET', lock, 'session', 'fence')
  local there = held[1] == ARGV[1] and held[2] == ARGV[i + 1]
  if not there and string.sub(ARGV[i + 1], 1, 1) == ':' and (held[1] == OPEN or held[1] == CLOSED) then
    local members = members_of(lock, string.sub(KEYS[1], 1, -17))
    there = redis.call('HEXISTS', members, ARGV[1] .. string.sub(ARGV[i + 1], 2)) == 1
  end
  if not there then found[#found + 1] = i / 2 - 2 end
end
return found
)";

constexpr std::string_view remove_session = R"(
local ends = redis.call('HGET', KEYS[1], 'expires')
if ends and ARGV[2] == '1' and tonumber(ends) > now then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])
)";

/// Adds the holders of a key to a list: none for a free key or one whose own expiry has passed, several for one that
/// members share.
constexpr std::string_view describe = R"(
local function describe(lock, key, sessions, found)
  local row = redis.call('HMGET', lock, 'session', 'fence', 'acquired', 'expires')
  local function add(id, since, expires)
    local s = redis.call('HMGET', sessions .. id, 'expires', 'host', 'pid', 'label', 'revoked')
    local ends = tonumber(expires or s[1] or now)
    found[#found + 1] = {key, id, row[2], expires and 1 or 0, whole(now - since), whole(math.max(0, ends - now)),
                         s[2] or '', s[3] or '', s[4] or '', s[5] and 1 or 0}
  end
  if row[1] == OPEN or row[1] == CLOSED then
    local all = redis.call('HGETALL', members_of(lock, sessions))
    for i = 1, #all, 2 do add(string.sub(all[i], 1, 16), string.match(all[i + 1], ':(%d+)')) end
  elseif row[1] and not (row[4] and tonumber(row[4]) <= now) then
    add(row[1], row[3], row[4])
  end
end
)";

constexpr std::string_view inspect = R"(
local found = {}
describe(KEYS[1], ARGV[1], ARGV[2], found)
return found
)";

constexpr std::string_view list = R"(
local window = 500
local names = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[3] == '' and '-' or '(' .. ARGV[3], '+', 'LIMIT', 0, window)
local found, held = {#names == window and 1 or 0, ARGV[3], 0}, 0
for _, key in ipairs(names) do
  if held >= tonumber(ARGV[4]) then break end
  found[2] = key
  local before = #found
  describe(ARGV[1] .. key, key, ARGV[2], found)
  if #found > before then held = held + 1 end
end
found[3] = held
return found
)";

constexpr std::string_view revoke = R"(
local function revoke(id)
  local session = ARGV[1] .. id
  if redis.call('EXISTS', session) == 0 then return 0 end
  redis.call('PERSIST', session)
  redis.call('HSET', session, 'revoked', 1)
  return 1
end
local row = redis.call('HMGET', KEYS[1], 'session', 'expires')
if row[1] == OPEN or row[1] == CLOSED then
  local any = 0
  for _, each in ipairs(redis.call('HKEYS', members_of(KEYS[1], ARGV[1]))) do
    any = math.max(any, revoke(string.sub(each, 1, 16)))
  end
  return any
end
if not row[1] or row[2] then return 0 end
return revoke(row[1])
)";

/// Removes members whose session has been dead for another ttl, and returns how many are left.
constexpr std::string_view remove_long_dead = R"(
local function remove_long_dead(members)
  for _, each in ipairs(redis.call('HKEYS', members)) do
    local s = redis.call('HMGET', ARGV[2] .. string.sub(each, 1, 16), 'expires', 'ttl')
    if not s[1] or s[1] + s[2] <= now then redis.call('HDEL', members, each) end
  end
  return redis.call('HLEN', members)
end
)";

/// Rule 11: raises the floor together with the deletion of the key. A dead holder has had another ttl to come back.
constexpr std::string_view sweep_keys = R"(
local window = 500
local names = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[3] == '' and '-' or '(' .. ARGV[3], '+', 'LIMIT', 0, window)
local gone, last, holders = 0, #names == window and names[window] or '', {}
for _, key in ipairs(names) do
  local lock = ARGV[1] .. key
  local row = redis.call('HMGET', lock, 'session', 'fence', 'acquired', 'expires')
  local forsaken = not row[1]
  if row[1] == OPEN or row[1] == CLOSED then
    forsaken = remove_long_dead(members_of(lock, ARGV[2])) == 0
  elseif row[4] then
    forsaken = tonumber(row[4]) <= now
  elseif row[1] then
    local s = redis.call('HMGET', ARGV[2] .. row[1], 'expires', 'ttl')
    forsaken = not s[1] or s[1] + s[2] <= now
    if s[1] and tonumber(s[1]) <= now then holders[#holders + 1] = row[1] end
  end
  if not row[2] then
    redis.call('ZREM', KEYS[1], key)
  elseif forsaken and tonumber(ARGV[4]) > 0 and now - (row[3] or 0) >= tonumber(ARGV[4]) then
    local floor = tonumber(redis.call('HGET', KEYS[2], 'floor') or 0)
    redis.call('DEL', lock)
    redis.call('ZREM', KEYS[1], key)
    redis.call('HSET', KEYS[2], 'floor', whole(math.max(floor, tonumber(row[2]))))
    gone = gone + 1
    if gone >= tonumber(ARGV[5]) then
      last = key
      break
    end
  end
end
return {gone, last, holders}
)";

/// Reads only a window of each, so that it delays others by at most a millisecond or two.
constexpr std::string_view overview = R"(
local window = 500
local names = redis.call('ZRANGEBYLEX', KEYS[1], '-', '+', 'LIMIT', 0, window)
local locks, holders, held = {}, {}, 0
for _, key in ipairs(names) do
  local before = #holders
  describe(ARGV[1] .. key, key, ARGV[2], holders)
  if #holders > before then held = held + 1 end
  for i = before + 1, #holders do
    local id = holders[i][2]
    locks[id] = (locks[id] or 0) + 1
  end
end
local sessions = {}
for _, id in ipairs(redis.call('ZREVRANGE', KEYS[2], 0, ARGV[3] - 1)) do
  local s = redis.call('HMGET', ARGV[2] .. id, 'expires', 'ttl', 'host', 'pid', 'label', 'revoked', 'opened')
  if s[1] then
    sessions[#sessions + 1] = {id, whole(s[1] - now), s[2], s[3] or '', s[4] or '', s[5] or '', s[6] and 1 or 0,
                               s[7] and whole(now - s[7]) or 0, locks[id] or 0}
  end
end
local alive = redis.call('ZCOUNT', KEYS[2], '(' .. whole(now), '+inf')
return {redis.call('ZCARD', KEYS[1]), alive, redis.call('ZCARD', KEYS[2]) - alive, #names, sessions, holders, held}
)";

constexpr std::string_view dead_sessions = R"(
local dead = {}
local names = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', whole(now), 'LIMIT', ARGV[2], 500)
for _, name in ipairs(names) do
  local row = redis.call('HMGET', ARGV[1] .. name, 'expires', 'ttl')
  if not row[1] or row[1] + row[2] <= now then dead[#dead + 1] = name end
end
return {#names, dead}
)";

/// The parts of the scripts by which a caller becomes a member. It comes after the last exclusive holder, so its token
/// is the fence as it stands.
constexpr std::string_view member_functions = R"(
local function has_room()
  if ARGV[4] == '0' then return true end
  local units = 0
  for _, each in ipairs(redis.call('HVALS', KEYS[2])) do units = units + string.match(each, '^%d+') end
  return units + ARGV[3] <= tonumber(ARGV[4])
end
local function share()
  redis.call('HSET', KEYS[1], 'session', OPEN, 'nonce', 0, 'expires', NEVER, 'acquired', whole(now))
  if ARGV[6] == '1' then
    redis.call('PERSIST', KEYS[1])
    redis.call('ZADD', KEYS[3], 0, ARGV[7])
  end
end
local function join(fence)
  redis.call('HSET', KEYS[2], ARGV[1] .. ARGV[2], ARGV[3] .. ':' .. whole(now))
  return fence
end
)";

constexpr std::string_view join = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'fence', 'expires', 'closed')
if not row[2] then return false end
if row[1] ~= OPEN then
  local free = not row[1]
  if row[1] == CLOSED then
    free = (row[4] or 0) + ARGV[5] <= now
  elseif row[3] then
    free = free or tonumber(row[3]) <= now
  end
  if not free then return false end
end
if not has_room() then return false end
if row[1] ~= OPEN then share() end
return join(row[2])
)";

/// As insert: above the floor.
constexpr std::string_view join_new = R"(
if redis.call('EXISTS', KEYS[1]) == 1 or not has_room() then return false end
redis.call('ZADD', KEYS[3], 0, ARGV[7])
local meta = redis.call('HMGET', KEYS[4], 'floor', 'epoch')
local fence = math.max(meta[1] or 0, meta[2] or 0) + 1
if ARGV[6] == '1' then fence = math.max(fence, now) end
fence = whole(fence)
redis.call('HSET', KEYS[1], 'fence', fence)
share()
return join(fence)
)";

/// Rule 2: as take_over.
constexpr std::string_view join_dead = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'fence', 'expires')
if not row[1] or row[1] ~= ARGV[8] or row[2] ~= ARGV[9] then return false end
if row[3] then
  if tonumber(row[3]) > now then return false end
elseif redis.call('EXISTS', KEYS[4]) == 1 then
  return false
end
if not has_room() then return false end
share()
return join(row[2])
)";

constexpr std::string_view downgrade = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'fence')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[8] then return false end
share()
join(row[2])
redis.pcall('PUBLISH', KEYS[1], '')
return row[2]
)";

constexpr std::string_view leave = R"(
if redis.call('HDEL', KEYS[1], ARGV[1] .. ARGV[2]) == 0 then return 0 end
local waiters = redis.pcall('PUBLISH', KEYS[2], '')
return 1 + (type(waiters) == 'number' and waiters or 0)
)";

constexpr std::string_view remove_dead = R"(
redis.call('HDEL', KEYS[1], '')
if redis.call('EXISTS', KEYS[2]) == 1 then return false end
for _, each in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(each, 1, 16) == ARGV[1] then redis.call('HDEL', KEYS[1], each) end
end
return false
)";

/// With the fence, `closings` numbers the times that a key was closed: it only grows while the hash exists.
/// `closers` has the nonces of the callers that said so and have not given up, each in brackets.
constexpr std::string_view close = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'closings', 'closers')
local closers, caller = row[1] == CLOSED and row[3] or '', '<' .. ARGV[1] .. '>'
if caller ~= '<0>' and not string.find(closers, caller, 1, true) then closers = closers .. caller end
if row[1] == OPEN then
  redis.call('HSET', KEYS[1], 'session', CLOSED, 'closings', (row[2] or 0) + 1)
elseif row[1] ~= CLOSED then
  return 0
end
redis.call('HSET', KEYS[1], 'closed', whole(now), 'closers', closers)
return 1
)";

constexpr std::string_view open = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'closers')
if row[1] ~= CLOSED then return 0 end
local others = string.gsub(row[2] or '', '<' .. ARGV[1] .. '>', '')
redis.call('HSET', KEYS[1], 'closers', others)
if others ~= '' then return 1 end
redis.call('HSET', KEYS[1], 'session', OPEN)
redis.pcall('PUBLISH', KEYS[1], '')
return 1
)";

constexpr std::string_view take_closed = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'fence', 'expires', 'closings')
if row[1] ~= CLOSED or row[2] ~= ARGV[7] or row[4] ~= ARGV[8] or redis.call('EXISTS', KEYS[3]) == 1 then return false end
local fence, expires = row[2], row[3]
)";

constexpr std::string_view find_mark = R"(
local mark = redis.call('HMGET', KEYS[1], 'at', 'fence', 'by')
if not mark[1] then return false end
return {whole(math.max(0, now - mark[1])), whole(redis.call('PTTL', KEYS[1]) * 1000), mark[2], mark[3]}
)";

/// The mark ends by the server's clock. It is written as a whole, because a script is.
constexpr std::string_view set_mark = R"(
local row = redis.call('HMGET', KEYS[1], 'session', 'fence')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[2], 'at', whole(now), 'fence', ARGV[2], 'by', ARGV[4])
if ARGV[3] ~= '' then
  redis.call('PEXPIRE', KEYS[2], string.format('%.0f', math.ceil(ARGV[3] / 1000)))
else
  redis.call('PERSIST', KEYS[2])
end
return 1
)";

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const auto part : parts) text += part;
  return text;
}

}  // namespace

std::span<const std::string> scripts() {
  const auto timed = [](std::string_view script, std::string_view before = "") {
    return joined({read_clock, whole, before, script});
  };
  const auto shared = [&](std::initializer_list<std::string_view> parts) {
    return joined({read_clock, whole, shared_names, joined(parts)});
  };
  static const std::array all{timed(hello),
                              joined({read_clock, take, grant}),
                              joined({read_clock, insert, grant}),
                              joined({read_clock, take_over, grant}),
                              shared({members_of, poll_members, poll}),
                              timed(extend),
                              joined({free, release}),
                              joined({free, cancel}),
                              timed(open_session),
                              shared({members_of, renew_session}),
                              timed(remove_session),
                              shared({members_of, describe, inspect}),
                              shared({members_of, describe, list}),
                              joined({shared_names, members_of, revoke}),
                              shared({members_of, remove_long_dead, sweep_keys}),
                              shared({members_of, describe, overview}),
                              timed(dead_sessions),
                              timed(find_mark),
                              timed(set_mark),
                              shared({member_functions, join}),
                              shared({member_functions, join_new}),
                              shared({member_functions, join_dead}),
                              std::string(leave),
                              std::string(remove_dead),
                              shared({close}),
                              joined({shared_names, open}),
                              shared({take_closed, grant}),
                              shared({member_functions, downgrade})};
  return all;
}

}  // namespace dlock::stores::redis::leases
