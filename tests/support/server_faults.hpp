// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/store_interface/store_types.hpp"

namespace dlock::test {

/// As MariaDB tells them.
inline const fault deadlock{.native = 1213, .transient = true, .text = "deadlock"};
inline const fault row_lock{.native = 1205, .transient = true, .contended = true, .text = "row lock"};
inline const fault denied{.native = 1142, .text = "denied"};
inline const fault gone{.native = 2006, .transient = true, .connection = true, .text = "gone"};
inline const fault away{.native = 2002, .transient = true, .connection = true, .text = "away"};

}  // namespace dlock::test
