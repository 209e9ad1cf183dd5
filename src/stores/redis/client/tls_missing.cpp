// SPDX-License-Identifier: BSL-1.0

/// In the place of tls.cpp, in builds without OpenSSL: URLs that ask for TLS are refused before any of this is called.

#include <stdexcept>

#include "stores/redis/client/tls.hpp"

namespace dlock::stores::redis {

bool tls_session::available() noexcept { return false; }
void tls_session::deleter::operator()(SSL*) const noexcept {}
tls_session::tls_session(const tls_settings&, const std::string&, int) { throw std::runtime_error("tls: not built"); }
tls_session::result tls_session::shake_hands() { return result::broken; }
tls_session::result tls_session::read(char*, std::size_t, std::size_t&) noexcept { return result::broken; }
tls_session::result tls_session::write(const char*, std::size_t, std::size_t&) noexcept { return result::broken; }
bool tls_session::pending() const noexcept { return false; }

}  // namespace dlock::stores::redis
