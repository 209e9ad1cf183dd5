// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <vector>

#include "dlock/store_interface/store_overview.hpp"
#include "stores/redis/client/client.hpp"

namespace dlock::stores::redis {

/// What matters to locks of a server and of our user there. `expire`: locks have an expiry in the server.
reply examine_server(redis_connection& with, const redis_settings& settings, bool expire,
                     std::vector<store_finding>& found);

}  // namespace dlock::stores::redis
