// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/error.hpp"

namespace DLOCK_EXPORT dlock {

/// What store::prepare() throws where the lock tables are missing, or are not as they must be. A start with
/// schema=create makes what is missing.
class unfit_tables : public store_error {
 public:
  using store_error::store_error;
};

}  // namespace dlock
