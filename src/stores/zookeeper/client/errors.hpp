// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "dlock/store_interface/store_types.hpp"
#include "stores/zookeeper/client/handle.hpp"

namespace dlock::stores::zookeeper {

/// What an error code of the library says.
fault fault_of(int code, const std::string& doing);
/// No server has accepted a connection, which had this code.
fault no_connection(const zookeeper_settings& settings, int code);
/// It was sent, or may have been, if the connection was lost meanwhile; otherwise it was certainly not done.
reply not_done(const answer& response, const char* doing);

}  // namespace dlock::stores::zookeeper
