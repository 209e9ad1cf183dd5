// SPDX-License-Identifier: BSL-1.0
#include "simulation/trace.hpp"

#include <cstddef>
#include <cstring>
#include <string>
#include <variant>

namespace dlock::simulation {

void trace(world& in, std::string_view text) noexcept {
  in.mix(text.size());
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t part = 0;
    const auto some = text.substr(at, sizeof part);
    std::memcpy(&part, some.data(), some.size());
    in.mix(part);
  }
}

void trace(world& in, const id128& id) noexcept {
  trace(in, {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
}

void trace(world& in, const seen& holder) noexcept {
  trace(in, holder.holder);
  in.mix(holder.fence);
  in.mix(holder.nonce);
  in.mix(static_cast<std::uint64_t>(holder.kind) << 3U | std::uint64_t{holder.gone} << 2U |
         std::uint64_t{holder.expired} << 1U | std::uint64_t{holder.others_first});
  in.mix(static_cast<std::uint64_t>(holder.remaining.count()));
}

void trace(world& in, const request& statement) noexcept {
  in.mix(static_cast<std::uint64_t>(statement.action));
  trace(in, statement.resource);
  trace(in, statement.session);
  in.mix(statement.nonce);
  in.mix(statement.fence);
  in.mix(static_cast<std::uint64_t>(statement.kind));
  in.mix(static_cast<std::uint64_t>(statement.ttl.count()));
  in.mix(static_cast<std::uint64_t>(statement.min_hold.count()));
  trace(in, statement.request_id);
  if (statement.expected != nullptr) trace(in, *statement.expected);
  in.mix(static_cast<std::uint64_t>(statement.if_locked) << 4U | std::uint64_t{statement.polled} << 3U |
         std::uint64_t{statement.in_order} << 2U | std::uint64_t{statement.registered} << 1U |
         std::uint64_t{statement.wake});
}

void trace(world& in, session_verb action, const session_record& of) noexcept {
  in.mix(static_cast<std::uint64_t>(action));
  trace(in, of.id);
  in.mix(static_cast<std::uint64_t>(of.ttl.count()));
}

void trace(world& in, const reply& answer) noexcept {
  in.mix(static_cast<std::uint64_t>(answer.result));
  in.mix(answer.fence);
  trace(in, answer.holder);
  in.mix(static_cast<std::uint64_t>(answer.why.native));
  in.mix(answer.waiters);
}

void trace(world& in, const sql::call& statement) noexcept {
  in.mix(static_cast<std::uint64_t>(statement.what->what));
  trace(in, statement.what->table);
  for (const auto& [name, what] : statement.values) {
    trace(in, name);
    if (const auto* const number = std::get_if<std::int64_t>(&what)) in.mix(static_cast<std::uint64_t>(*number));
    if (const auto* const bytes = std::get_if<std::string>(&what)) trace(in, *bytes);
  }
}

std::uint64_t share_of(std::uint64_t seed, std::uint64_t digest) noexcept {
  // The finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
  auto mixed = digest + seed * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ mixed >> 30U) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ mixed >> 27U) * 0x94d049bb133111ebULL;
  return mixed ^ mixed >> 31U;
}

}  // namespace dlock::simulation
