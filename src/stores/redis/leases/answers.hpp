// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the answers of scripts mean.

#include <cstring>
#include <string>
#include <string_view>

#include "dlock/store_interface/store_types.hpp"
#include "stores/redis/client/answer.hpp"

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

inline std::uint64_t fence_in(const answer& response) noexcept { return static_cast<std::uint64_t>(response.number()); }

inline std::string who(std::string_view host, std::string_view pid, std::string_view label) {
  std::string text(host);
  text.append("/").append(pid);
  if (!label.empty()) text.append(" ").append(label);
  return text;
}

}  // namespace dlock::stores::redis::leases
