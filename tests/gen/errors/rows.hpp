// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>
#include <dlock/odb/lock_columns.hpp>

namespace shop {
struct order {
  int id = 0;
  dlock::lock_columns lock{};
};
class wallet {
  dlock::expiring_lock_columns lock_{};
};
}  // namespace shop

struct rows {
  DLOCK_LOCKED_ROW(id) void which(int id);
  DLOCK_LOCKED_ROW() void no_id(int id);
  DLOCK_LOCKED_ROW(.row = shop::order) void no_id_either(int id);
  DLOCK_LOCKED_ROW(id, .row = shop::order, .prefix = "a") void prefix(int id);
  DLOCK_LOCKED_ROW("{id}", .row = shop::order) void text(int id);
  DLOCK_LOCKED_ROW(oder.id, .row = shop::order) void misspelled(const shop::order& order);
  DLOCK_LOCKED_ROW(id, .row = shop::order, .db = shop.db) void database(int id);
  DLOCK_LOCKED_ROW(id, .row = shop::order) DLOCK_VERIFIED() void verified(int id);
  DLOCK_LOCKED_ROW(id, .row = shop::order) DLOCK_VERIFIED(db) DLOCK_VERIFIED(db) void twice(int id);
};
