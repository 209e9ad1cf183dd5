// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/deadlock_cycles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace dlock::stores::sql {

namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char each : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(each));
  return text;
}

bool read_bytes(std::string_view text, unsigned char* to, std::size_t count) noexcept {
  if (text.size() != 2 * count) return false;
  for (std::size_t i = 0; i != count; ++i) {
    const auto* const at = text.data() + 2 * i;
    if (std::from_chars(at, at + 2, to[i], 16).ptr != at + 2) return false;
  }
  return true;
}

bool read_number(std::string_view text, int base, std::uint64_t& to) noexcept {
  return !text.empty() &&
         std::from_chars(text.data(), text.data() + text.size(), to, base).ptr == text.data() + text.size();
}

/// Removes and returns the text up to the next `end`, and removes that as well.
std::string_view next(std::string_view& text, char end) noexcept {
  const auto part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

/// A lock that is held, and the wait of its holder.
struct edge {
  const nested_waiter* waiter = nullptr;
  const lock_held_meanwhile* held = nullptr;
};

/// Orders waits by the time at which they began.
bool older(const edge& a, const edge& b) {
  return std::tie(a.waiter->since, a.waiter->process) < std::tie(b.waiter->since, b.waiter->process);
}
bool ends_before(const edge& a, const edge& b) {
  if (a.held->until != b.held->until) return a.held->until < b.held->until;
  return older(b, a) || (!older(a, b) && a.held->key < b.held->key);
}

/// A row's text may also be that of a key, or of a row of another table; only with its grant is it unique.
using lock_name = std::tuple<std::string_view, id128, std::uint64_t>;

lock_name name_of(const lock_held_meanwhile& held) {
  return {held.key, held.nonce != 0 ? held.session : id128{}, held.nonce};
}
lock_name waited_for(const nested_waiter& by) { return {by.waits_for, by.row.session, by.row.nonce}; }

}  // namespace

std::string write_held(const held_meanwhile& held, instant now) {
  constexpr auto most = microseconds{std::chrono::hours{24 * 365 * 200}};  // so that sums with times don't overflow
  std::string text;
  if (held.row && !held.locks.empty()) text = fmt::format("={}:{:x}", held.row.session.hex(), held.row.nonce);
  for (const auto& each : held.locks) {
    const auto remaining = each.until == instant::max() ? most : std::clamp(each.until - now, microseconds{0}, most);
    text += fmt::format(" {}:{}:{}:{:x}", remaining.count(), hex(each.key), each.session.hex(), each.fence);
    if (each.nonce != 0) text += fmt::format(":{:x}", each.nonce);
  }
  return text;
}

bool read_held(std::string_view text, nested_waiter& into) {
  auto row = next(text, ' ');
  auto times = next(row, '=');
  const bool again = times.find('+') != std::string_view::npos;
  if (!read_number(next(times, '+'), 10, into.since)) return false;
  into.confirmed = into.since;
  if (again && !read_number(times, 10, into.confirmed)) return false;
  if (!row.empty()) {
    const auto session = next(row, ':');
    if (!read_bytes(session, into.row.session.bytes.data(), into.row.session.bytes.size()) ||
        !read_number(row, 16, into.row.nonce)) {
      return false;
    }
  }
  while (!text.empty()) {
    auto part = next(text, ' ');
    auto& lock = into.held.emplace_back();
    const auto wait = next(part, ':'), key = next(part, ':'), session = next(part, ':'), fence = next(part, ':');
    lock.key.resize(key.size() / 2);
    std::uint64_t remaining = 0;
    if (!read_number(wait, 10, remaining)) return false;
    lock.until = instant{microseconds{static_cast<std::int64_t>(into.since + remaining)}};
    if (!read_bytes(key, reinterpret_cast<unsigned char*>(lock.key.data()), lock.key.size()) ||
        !read_bytes(session, lock.session.bytes.data(), lock.session.bytes.size()) ||
        !read_number(fence, 16, lock.fence) || (!part.empty() && !read_number(part, 16, lock.nonce))) {
      return false;
    }
  }
  return true;
}

found_cycles find_cycles(const std::vector<nested_waiter>& waiters, const std::map<std::string, present_grant>& grants,
                         std::string_view process) {
  std::map<lock_name, edge> by_held;
  for (const auto& waiter : waiters) {
    for (const auto& lock : waiter.held) {
      const auto present = grants.find(lock.key);
      const bool read =
          present != grants.end() && present->second.fence == lock.fence && present->second.session == lock.session;
      if (lock.nonce != 0 || read) by_held.emplace(name_of(lock), edge{&waiter, &lock});
    }
  }
  found_cycles found;
  for (const auto& [name, mine] : by_held) {
    const auto& own = *mine.waiter;
    if (own.process != process) continue;
    // The waits that follow may form a cycle that this waiter is not in.
    std::vector<edge> all;
    auto at = by_held.find(waited_for(own));
    while (at != by_held.end() && at->second.held != mine.held && all.size() < by_held.size()) {
      all.push_back(at->second);
      at = by_held.find(waited_for(*at->second.waiter));
    }
    if (all.empty() || at == by_held.end() || at->second.held != mine.held) continue;
    all.push_back(mine);
    const auto youngest = *std::max_element(all.begin(), all.end(), older);
    const auto in_vain = *std::min_element(all.begin(), all.end(), ends_before);
    all.pop_back();
    if (in_vain.held != mine.held) {
      if (own.confirmed < youngest.waiter->since) found.to_confirm[own.waits_for] = own.since;
      if (youngest.waiter == &own && in_vain.waiter->process != process) found.to_ask.insert(in_vain.waiter->process);
      continue;
    }
    deadlock_cycle cycle{.waits_for = own.waits_for, .held = *mine.held, .others = {}};
    bool certain = true;
    for (const auto& [each, held] : all) {
      const bool here = each->process == process;
      cycle.others.push_back({.who = here ? std::string() : each->who, .waits_for = each->waits_for});
      if (here || each->confirmed >= youngest.waiter->since) continue;
      found.to_ask.insert(each->process);
      certain = false;
    }
    if (certain) found.to_break.push_back(std::move(cycle));
  }
  return found;
}

std::vector<deadlock_cycle> lasting_cycles::found(std::vector<deadlock_cycle> found, time_point now) {
  std::map<deadlock_cycle, time_point> since;
  for (auto& each : found) {
    const auto before = since_.find(each);
    since.emplace(each, before == since_.end() ? now : before->second);
  }
  std::erase_if(found, [&](const auto& each) { return now - since.at(each) < lasts; });
  since_ = std::move(since);
  return found;
}

}  // namespace dlock::stores::sql
