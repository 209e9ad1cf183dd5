// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include "dlock/store/store_types.hpp"
#include "stores/zookeeper/client/handle.hpp"

namespace dlock::stores::zookeeper {

/// What an error code of the library says.
fault fault_of(int code, const std::string& doing);
/// It was sent, or may have been, if the connection was lost meanwhile; otherwise it was certainly not done.
reply not_done(const answer& told, const char* doing);

}  // namespace dlock::stores::zookeeper
