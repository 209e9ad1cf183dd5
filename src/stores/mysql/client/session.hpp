// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stores/mysql/client/native.hpp"

namespace dlock::stores::mysql {

/// A variable of the server's that has another value for each connection, and the value that our statements need.
struct session_variable {
  const char* name;
  const char* value;
};

/// Those that this server knows.
std::vector<session_variable> session_variables(MYSQL* handle);

/// Rule 9, in one round trip: puts the connection into the state that the protocol needs, whatever the server's
/// defaults and its init_connect say. A variable that the server does not know is left out, which costs one more.
/// False, and the reason.
bool set_session(MYSQL* handle, std::vector<session_variable> variables, std::string_view doing, fault& why);

/// Whether the next statement is committed by itself, as the server's last answer says.
bool in_autocommit(MYSQL* handle) noexcept;

}  // namespace dlock::stores::mysql
