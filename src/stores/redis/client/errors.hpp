// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

#include "dlock/store_interface/store_types.hpp"
#include "stores/redis/client/protocol.hpp"

namespace dlock::stores::redis {

/// The script is not there: after SCRIPT FLUSH.
bool is_unknown_script(std::string_view error) noexcept;
/// This server does nothing for us, and another one may.
bool is_elsewhere(std::string_view error) noexcept;
/// What an error that the server answered with says. It was certainly not done: a server refuses a script before its
/// first write, or not at all.
fault fault_of_error(std::string_view error, const char* doing);
/// The connection broke, or there was no answer in time.
fault lost_connection(const std::string& text);
/// Throws store_error, of what went wrong in preparing the store of that name.
[[noreturn]] void fail(const std::string& store, const fault& why);

/// An answer that is no result: an error, or none, so that it was sent, or may have been.
reply failure(const answer& response, const char* doing);
/// yes: it is 1.
reply yes_or_no(const answer& response, const char* doing);

}  // namespace dlock::stores::redis
