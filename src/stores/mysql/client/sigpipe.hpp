// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "stores/mysql/client/api.hpp"

namespace dlock::stores::mysql {

/// From now on nothing that the client library does on this connection raises SIGPIPE. TLS
/// libraries write without MSG_NOSIGNAL, also while they read. For connections with TLS, after they were made.
///
/// Client libraries have SIGPIPE ignored by the whole process when they are first used. A program may set it back.
/// With MySQL's own library, and a MariaDB library of another minor version than dlock was built with, it must not.
void keep_sigpipe_from(MYSQL* handle) noexcept;

}  // namespace dlock::stores::mysql
