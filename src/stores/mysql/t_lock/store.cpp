// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql/t_lock/store.hpp"

#include <fmt/format.h>

#include <charconv>

#include "stores/sql/row_owner.hpp"

namespace dlock::stores::mysql::t_lock {

namespace {
constexpr std::size_t name_size = 49;  // of session and attempt
}  // namespace

/// Of a pattern for LIKE, '_' stands for any character and '%' for any text. Our own texts have neither.
std::string t_lock_store::our_name(const request& request) const {
  switch (request.action) {
    case verb::release:
    case verb::extend: return fmt::format("{}/{:_>16}/{}", request.session.hex(), "", request.fence);
    case verb::cancel: return sql::row_owner{request.session, request.nonce}.text() + "/%";
    default: return sql::row_owner{request.session, request.nonce}.text();
  }
}

seen t_lock_store::holder_named(std::string_view owner, std::uint64_t fence) const {
  const auto ours = sql::row_owner::parse(owner.substr(0, name_size));
  std::uint64_t granted = 0;
  if (ours && owner.size() > name_size) {
    std::from_chars(owner.data() + name_size + 1, owner.data() + owner.size(), granted);
  }
  if (granted == 0) return {.holder = sql::foreign_owner, .fence = fence, .who = std::string(owner)};
  return {.holder = ours->session, .fence = granted, .nonce = ours->nonce};
}

}  // namespace dlock::stores::mysql::t_lock
