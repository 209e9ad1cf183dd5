// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "options.hpp"

namespace dlock::command {

struct found_url {
  std::string url{};   ///< empty if there is none
  std::string file{};  ///< the configuration file that it comes from; empty if none
};

/// The URL of the store, from the first of these that exists: --url, the file of --config, DLOCK_URL, the file of
/// DLOCK_CONFIG, $XDG_CONFIG_HOME/dlock.conf or ~/.config/dlock.conf, /etc/dlock.conf.
/// Throws failure if an option is empty, a named file can't be read or has no URL, or a line is wrong.
found_url find_url(const common_options& from);

/// Only the URL. Throws failure if there is none.
std::string need_url(const common_options& from);

/// Adds schema=verify if the store has lock tables and the URL leaves it open, because a program that only reads makes
/// no table.
std::string without_making_tables(const std::string& url);

}  // namespace dlock::command
