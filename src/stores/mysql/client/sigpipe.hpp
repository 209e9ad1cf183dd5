// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "stores/mysql/client/api.hpp"

namespace dlock::stores::mysql {

/// Makes sure that the client library raises no SIGPIPE on this connection. TLS libraries write without MSG_NOSIGNAL,
/// even while they read. It is for connections with TLS, after they were made.
///
/// Client libraries make the whole process ignore SIGPIPE when they are first used. A program may set it back, but not
/// with MySQL's own library or with a MariaDB library of another minor version than dlock was built with.
void keep_sigpipe_from(MYSQL* handle) noexcept;

}  // namespace dlock::stores::mysql
