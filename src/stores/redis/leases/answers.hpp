// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// What the answers of scripts mean.

#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "dlock/store/store_types.hpp"
#include "stores/redis/client/answer.hpp"
#include "stores/redis/client/errors.hpp"

namespace dlock::stores::redis::leases {

/// As keys and values name a session.
inline std::string_view name_of(const id128& id) noexcept {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}
inline id128 id_in(std::string_view text) noexcept {
  id128 id;
  if (text.size() == id.bytes.size()) std::memcpy(id.bytes.data(), text.data(), text.size());
  return id;
}

inline std::uint64_t fence_in(const answer& told) noexcept { return static_cast<std::uint64_t>(told.number()); }

inline std::string who(std::string_view host, std::string_view pid, std::string_view label) {
  std::string text(host);
  text.append("/").append(pid);
  if (!label.empty()) text.append(" ").append(label);
  return text;
}

/// It was sent, or may have been.
inline reply unanswered(const char* doing) {
  return {.result = outcome::unknown, .why = lost_connection(std::string(doing) + ": no answer")};
}

inline reply refused(const answer& error, const char* doing) {
  return {.result = outcome::failed, .why = fault_of_error(error.text(), doing)};
}

inline reply yes_or_no(const answer& told, const char* doing) {
  if (!told) return unanswered(doing);
  if (told.is_error()) return refused(told, doing);
  return {.result = told.number() == 1 ? outcome::yes : outcome::no};
}

/// Runs the body of a verb, which must not throw: without memory it is not known what was sent.
template <class Body>
void guarded(std::span<reply> replies, Body&& body) noexcept {
  try {
    body();
  } catch (const std::exception&) {
    for (auto& each : replies) {
      each = reply{.result = outcome::unknown};
      each.why.transient = true;
    }
  }
}

}  // namespace dlock::stores::redis::leases
