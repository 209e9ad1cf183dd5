// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/tls.hpp"

#ifdef DLOCK_REDIS_TLS

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "stores/name_lookup.hpp"

namespace dlock::stores::redis {

namespace {

/// The oldest error that OpenSSL has noted for this thread, or an empty text.
std::string error_text() {
  std::array<char, 256> text{};
  const auto code = ::ERR_get_error();
  if (code == 0) return {};
  ::ERR_error_string_n(code, text.data(), text.size());
  ::ERR_clear_error();
  return text.data();
}

[[noreturn]] void fail(const std::string& doing) { throw lasting_problem("tls: " + doing + ": " + error_text()); }

int descriptor_of(BIO* bio) noexcept { return static_cast<int>(reinterpret_cast<std::intptr_t>(::BIO_get_data(bio))); }

// OpenSSL's own write function would raise SIGPIPE on a socket that the other side has closed. A signal must not cause
// a retry, which would mean that the socket is not ready.
int write_some(BIO* bio, const char* text, int size) {
  ::BIO_clear_retry_flags(bio);
  ssize_t sent = 0;
  do {
    sent = ::send(descriptor_of(bio), text, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno == EAGAIN) ::BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}
int read_some(BIO* bio, char* into, int room) {
  ::BIO_clear_retry_flags(bio);
  ssize_t got = 0;
  do {
    got = ::recv(descriptor_of(bio), into, static_cast<std::size_t>(room), 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) ::BIO_set_retry_read(bio);
  return static_cast<int>(got);
}
long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const method = [] {
    auto* const made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "dlock");
    if (made == nullptr) fail("out of memory");
    ::BIO_meth_set_write(made, write_some);
    ::BIO_meth_set_read(made, read_some);
    ::BIO_meth_set_ctrl(made, control);
    return made;
  }();
  return method;
}

using context_ptr = std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)>;

/// Makes one context for each connection, so that replaced files are read again.
context_ptr make_context(const tls_settings& settings) {
  ::ERR_clear_error();
  context_ptr context(::SSL_CTX_new(::TLS_client_method()), ::SSL_CTX_free);
  if (context == nullptr) fail("out of memory");
  ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (settings.mode == tls_mode::verify) ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (settings.ca.empty()) {
    ::SSL_CTX_set_default_verify_paths(context.get());
  } else if (::SSL_CTX_load_verify_locations(context.get(), settings.ca.c_str(), nullptr) != 1) {
    fail("tls_ca=" + settings.ca);
  }
  if (!settings.cert.empty()) {
    if (::SSL_CTX_use_certificate_chain_file(context.get(), settings.cert.c_str()) != 1) {
      fail("tls_cert=" + settings.cert);
    }
    if (::SSL_CTX_use_PrivateKey_file(context.get(), settings.key.c_str(), SSL_FILETYPE_PEM) != 1) {
      fail("tls_key=" + settings.key);
    }
  }
  return context;
}

}  // namespace

bool tls_session::available() noexcept { return true; }

void tls_session::deleter::operator()(SSL* session) const noexcept { ::SSL_free(session); }

tls_session::tls_session(const tls_settings& settings, const std::string& host, int descriptor) {
  const auto context = make_context(settings);
  session_.reset(::SSL_new(context.get()));
  auto* const bio = ::BIO_new(socket_method());
  if (session_ == nullptr || bio == nullptr) {
    ::BIO_free(bio);
    fail("out of memory");
  }
  ::BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(session_.get(), bio, bio);
  if (is_address(host)) {
    if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session_.get()), host.c_str()) != 1) fail("address " + host);
  } else {
    ::SSL_set_tlsext_host_name(session_.get(), host.c_str());
    // Otherwise any certificate of the authority would do.
    if (::SSL_set1_host(session_.get(), host.c_str()) != 1) fail("host " + host);
  }
}

tls_session::result tls_session::judge(int returned) noexcept {
  switch (::SSL_get_error(session_.get(), returned)) {
    case SSL_ERROR_NONE: return result::done;
    case SSL_ERROR_WANT_READ: return result::more_to_read;
    case SSL_ERROR_WANT_WRITE: return result::more_to_write;
    default: return result::broken;
  }
}

/// An error about a peer that breaks off does not last.
void tls_session::note_problem() noexcept {
  try {
    const auto code = ::ERR_peek_error();
    const bool broke_off =
        code == 0 || ERR_GET_LIB(code) == ERR_LIB_SYS ||
        (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
    const auto verified = ::SSL_get_verify_result(session_.get());
    const bool refused = verified != X509_V_OK && !::SSL_is_init_finished(session_.get());
    auto text = error_text();
    if (refused) text = ::X509_verify_cert_error_string(verified);
    problem_.lasts = refused || !broke_off;
    problem_.text =
        "tls: " +
        (problem_.lasts
             ? text
             : "the server closed the connection; does it speak TLS on this port, or want a client certificate?");
  } catch (const std::exception&) {
    problem_.lasts = false;
  }
}

tls_session::result tls_session::shake_hands() {
  ::ERR_clear_error();
  const auto found = judge(::SSL_connect(session_.get()));
  if (found != result::broken) return found;
  note_problem();
  return found;
}

// A server that misses our certificate reports that after the handshake, instead of its first reply.
tls_session::result tls_session::read(char* into, std::size_t room, std::size_t& got) noexcept {
  ::ERR_clear_error();
  const auto found = judge(::SSL_read_ex(session_.get(), into, room, &got));
  if (found == result::broken) note_problem();
  return found;
}

tls_session::result tls_session::write(const char* text, std::size_t size, std::size_t& sent) noexcept {
  ::ERR_clear_error();
  return judge(::SSL_write_ex(session_.get(), text, size, &sent));
}

bool tls_session::pending() const noexcept { return ::SSL_pending(session_.get()) > 0; }

}  // namespace dlock::stores::redis

#else

namespace dlock::stores::redis {

// Without OpenSSL URLs that ask for TLS are refused, so that only available() is called.
bool tls_session::available() noexcept { return false; }
void tls_session::deleter::operator()(SSL*) const noexcept {}
tls_session::tls_session(const tls_settings&, const std::string&, int) { throw std::runtime_error("tls: not built"); }
tls_session::result tls_session::shake_hands() { return result::broken; }
tls_session::result tls_session::read(char*, std::size_t, std::size_t&) noexcept { return result::broken; }
tls_session::result tls_session::write(const char*, std::size_t, std::size_t&) noexcept { return result::broken; }
bool tls_session::pending() const noexcept { return false; }

}  // namespace dlock::stores::redis

#endif
