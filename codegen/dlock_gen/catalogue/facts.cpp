// SPDX-License-Identifier: BSL-1.0
#include "catalogue/facts.hpp"

namespace dlock_gen {

listed_place listed_place::of(const location& where) {
  if (where.file == nullptr) return {};
  const auto [line, column] = where.at();
  return {where.file->path(), line, column, std::string(where.file->line(line))};
}

}  // namespace dlock_gen
