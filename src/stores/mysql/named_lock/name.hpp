// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

namespace dlock::stores::mysql::named_lock {

/// What GET_LOCK is given for a key. `prefix` + key as it is, where MariaDB and MySQL alike take that for itself alone:
/// at most 64 printable ASCII characters without capital letters, no blank at the end, no '#' at the beginning.
/// Otherwise '#' and the first 63 hexadecimal digits of its SHA-256, which programs without dlock can make by SHA2(...,
/// 256).
std::string lock_name(std::string_view prefix, std::string_view key);

}  // namespace dlock::stores::mysql::named_lock
