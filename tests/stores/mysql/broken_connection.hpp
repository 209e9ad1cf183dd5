// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/socket.h>

#include <csignal>
#include <string>

#include "stores/mysql/client/client.hpp"
#include "support/forked_child.hpp"

namespace dlock::test {

/// Breaks a connection of the store's and one of the application's, and uses them, in a process that does not ignore
/// SIGPIPE. Returns 0 if neither raised it; 1: there was no connection.
inline int use_broken_connections(const std::string& url) {
  return in_child([&] {
    auto here = open_store(url);
    fault reason;
    auto link = here->connect(std::chrono::seconds{5}, reason);
    auto parsed = store_url::parse(url);
    stores::mysql::application_connections application(stores::mysql::mysql_settings::take(parsed));
    auto used = application.open(reason);
    if (link == nullptr || used == nullptr) return 1;
    std::signal(SIGPIPE, SIG_DFL);  // the client library had it ignored
    link->interrupt();
    link.reset();  // says farewell
    ::shutdown(stores::mysql::mysql_socket(used.get()), SHUT_RDWR);
    // The connection is gone, and the process is not.
    if (stores::mysql::run_mysql(used.get(), "SELECT 1", "", nullptr, reason)) return 2;
    used.reset();
    sigset_t pending;
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGPIPE) == 1 ? 3 : 0;
  });
}

}  // namespace dlock::test
