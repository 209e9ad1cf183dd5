// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "options.hpp"

namespace dlock::command {

/// The URL of the store: that of --url, or of DLOCK_URL, or of the first configuration file that there is: --config,
/// DLOCK_CONFIG, $XDG_CONFIG_HOME/dlock.conf or ~/.config/dlock.conf, /etc/dlock.conf. Empty: none has one.
/// Throws failure: a file that was named can't be read, or a line is wrong.
std::string find_url(const common_options& from);

/// The same. Throws failure if there is none.
std::string need_url(const common_options& from);

/// With schema=verify where the store has lock tables and the URL leaves it open: a program that only reads makes no
/// table.
std::string without_making_tables(const std::string& url);

}  // namespace dlock::command
