// SPDX-License-Identifier: BSL-1.0
// The owner column of rows, which other programs write too.

#include "stores/sql/row_owner.hpp"

#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace sql = dlock::stores::sql;
  const auto text = fuzz::text_of(data, size);
  if (const auto owner = sql::row_owner::parse(text)) {
    fuzz::require(owner->text() == text, "an owner that is read is written as it was");
  }
  const auto ours = sql::tables_id(12'345);
  if (const auto holder = sql::row_holder::parse(text, ours)) {
    fuzz::require(holder->text() == text || holder->verified_text() == text,
                  "a holder that is read is written as it was");
  }
  static_cast<void>(sql::row_holder::describe_foreign(text));
  return 0;
}
