// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/statement_values.hpp"

#include "stores/sql/row_text.hpp"

namespace dlock::stores::sql {

void request_values::owner_text::write(const row_holder& who, std::string_view& plain,
                                       std::string_view& verified) noexcept {
  who.write(characters.data());
  characters.back() = row_holder::verified_mark;
  verified = {characters.data(), characters.size()};
  plain = verified.substr(0, row_holder::size);
}

request_values::request_values(const request& asked, tables_id tables) noexcept
    : values_{.key = asked.resource,
              .session = asked.session,
              .nonce = asked.nonce,
              .fence = asked.fence,
              .count = asked.count,
              .own_ttl = asked.ttl.count(),
              .no_own_ttl = asked.kind == lease_kind::session && asked.action != verb::extend,
              .min_hold = asked.min_hold.count()} {
  const bool takes_over = asked.action == verb::take_over;
  if (takes_over) {
    values_.holder = asked.expected->holder;
    values_.seen_fence = asked.expected->fence;
  }
  if (asked.row == nullptr) return;
  values_.row = asked.row;
  if (by_column(*asked.row->table)) values_.no_own_ttl = false;
  owner_.write({asked.session, asked.nonce, tables}, values_.owner, values_.verified_owner);
  if (!takes_over) return;
  values_.fence = asked.expected->fence;
  seen_owner_.write({asked.expected->holder, asked.expected->nonce, tables}, values_.seen_owner,
                    values_.seen_verified_owner);
}

}  // namespace dlock::stores::sql
