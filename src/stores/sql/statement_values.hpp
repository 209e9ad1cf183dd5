// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/row_table.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::sql {

/// The values of the parameters (sql::parameter) of one statement about the lock tables or a row of the application.
/// They must outlive the statement's execution.
struct statement_values {
  std::string_view key{};
  id128 session{};
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  std::uint64_t count = 0;
  std::int64_t own_ttl = 0;
  bool no_own_ttl = false;  ///< the session keeps the lease: own_ttl is NULL
  std::int64_t min_hold = 0;
  id128 holder{};  ///< the holder that was seen
  std::uint64_t seen_fence = 0;
  std::int64_t ttl = 0;
  std::string_view host{};
  std::int64_t pid = 0;
  std::string_view label{};
  id128 wake_id{};
  // For rows:
  const row_id* row = nullptr;
  std::string_view owner{};
  std::string_view verified_owner{};
  std::string_view seen_owner{};
  std::string_view seen_verified_owner{};
};

/// The values of a request.
class request_values {
 public:
  /// `asked` must outlive it.
  request_values(const request& asked, tables_id tables) noexcept;
  request_values(const request_values&) = delete;
  request_values& operator=(const request_values&) = delete;

  operator const statement_values&() const noexcept { return values_; }

 private:
  /// A holder's text followed by the mark of verify().
  struct owner_text {
    std::array<char, row_holder::size + 1> characters{};

    void write(const row_holder& who, std::string_view& plain, std::string_view& verified) noexcept;
  };

  statement_values values_{};
  owner_text owner_{};
  owner_text seen_owner_{};
};

}  // namespace dlock::stores::sql
