// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/holder_rows.hpp"

#include <fmt/format.h>

namespace dlock::stores::sql {

std::string describe_holder(std::string_view host, std::int64_t pid, std::string_view label) {
  return fmt::format("{}/{}{}{}", host, pid, label.empty() ? "" : " ", label);
}

}  // namespace dlock::stores::sql
