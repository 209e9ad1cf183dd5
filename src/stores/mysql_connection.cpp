// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql_connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "stores/mysql_errors.hpp"

namespace dlock::detail {
namespace {

constexpr unsigned most_tries = 50;
constexpr std::chrono::seconds longest_retry{2};

int own_descriptor(MYSQL* handle) {
  const int made = ::fcntl(mysql_socket(handle), F_DUPFD_CLOEXEC, 0);
  if (made < 0) throw std::system_error(errno, std::generic_category(), "dlock: a file descriptor for a connection");
  return made;
}

#ifdef POLLRDHUP
constexpr short hang_up = POLLRDHUP;
#else
constexpr short hang_up = 0;  // POLLHUP and POLLERR are always told
#endif

/// Whether one of these has happened on a socket; costs less than half a microsecond.
bool has_happened(int socket, short events) noexcept {
  pollfd about{socket, events, 0};
  return ::poll(&about, 1, 0) > 0;
}

/// Whether the server has closed its side: what we would send then is certainly not done.
bool closed_by_server(int socket) noexcept { return has_happened(socket, hang_up); }

/// The server keeps its connections, and takes no writes on any of them.
bool refuses_all(int code) noexcept {
  constexpr std::array<int, 4> codes{1047, 1290, 1836, 1874};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

mysql_connection::mysql_connection(mysql_opened from, const mysql_sql& sql, mysql_hosts& hosts)
    : native_(std::move(from.link)),
      sql_(sql),
      hosts_(hosts),
      host_(from.host),
      refusals_(from.refusals),
      quick_(can_refuse_to_wait(native_->handle())),
      encrypted_(mysql_get_ssl_cipher(native_->handle()) != nullptr),
      identity_{from.server.id, incarnation_text(from.server), from.server.connection},
      socket_(own_descriptor(native_->handle())) {}

mysql_connection::~mysql_connection() {
  statements_ = {};
  ::close(socket_);
}

void mysql_connection::interrupt() noexcept {
  broken_.store(true, std::memory_order_release);
  ::shutdown(socket_, SHUT_RDWR);
}

bool mysql_connection::alive() noexcept {
  if (!usable() || hosts_.refusals(host_) != refusals_) return false;
  // A server has nothing to say to a client that asked nothing, but why it is about to hang up. TLS has: its session
  // tickets may still lie there unread.
  const auto farewell = static_cast<short>(encrypted_ ? hang_up : hang_up | POLLIN);
  if (!has_happened(socket_, farewell)) return true;
  interrupt();
  return false;
}

void mysql_connection::heed(const fault& why) noexcept {
  if (refuses_all(why.native)) hosts_.refuses(host_, refusals_, mysql_hosts::clock::now());
  // Our descriptor keeps the socket open; the server must see that nobody is there any more.
  if (why.connection) interrupt();
}

bool mysql_connection::may_run(fault& why) {
  // A statement sent on a connection that the server closed while it was idle would have an unknown outcome.
  if (usable() && !closed_by_server(socket_)) return true;
  why = make_own_fault("the connection was closed", true, true);
  heed(why);
  return false;
}

// A deadlock undoes the statement, and the server asks to try it again: once others are through it goes. So does a row
// that changed while a statement with a sub-query waited for it (innodb_snapshot_isolation): the next try sees it.
bool mysql_connection::retry(const fault& why, tries& made) const {
  const auto code = static_cast<unsigned>(why.native);
  if (code != mysql_deadlock && code != mysql_record_changed) return false;
  const auto now = std::chrono::steady_clock::now();
  if (made.count++ == 0) made.first = now;
  if (made.count == most_tries || now - made.first > longest_retry || !usable()) return false;
  // Losers of the same deadlock must not come back in step.
  const auto share = (identity_.id * 7 + made.count * 13) % 32;
  std::this_thread::sleep_for(microseconds{(made.count < 8 ? 20 : 200) * static_cast<int>(share)});
  return true;
}

mysql_statement* mysql_connection::statement(mysql_hot which, fault& why) {
  auto& place = statements_[static_cast<std::size_t>(which)];
  if (!place) place = mysql_statement::prepare(handle(), sql_.hot(which, quick_), values_, why);
  return place.get();
}

outcome mysql_connection::run(mysql_hot which, const mysql_statement*& done, fault& why) {
  for (tries made;;) {
    if (!may_run(why)) return outcome::failed;
    mysql_statement* const prepared = statement(which, why);
    // Not even prepared: nothing of it can run.
    const auto said = prepared != nullptr ? prepared->execute(why) : outcome::failed;
    if (said == outcome::yes) {
      done = prepared;
      if (made.count != 0) why = {};
      return said;
    }
    heed(why);
    if (!retry(why, made)) return said;
  }
}

outcome mysql_connection::fetch(mysql_look_row& row, fault& why) {
  const auto said = statements_[static_cast<std::size_t>(mysql_hot::look)]->fetch(row, why);
  if (said == outcome::failed) heed(why);
  return said;
}

outcome mysql_connection::query(const std::string& sql, const char* doing, mysql_rows* rows, std::uint64_t* affected,
                                fault& why) {
  for (tries made;;) {
    if (!may_run(why)) return outcome::failed;
    if (rows != nullptr) rows->clear();
    if (run_mysql(handle(), sql, doing, rows, why)) {
      if (made.count != 0) why = {};
      if (affected != nullptr) *affected = mysql_affected_rows(handle());
      return outcome::yes;
    }
    heed(why);
    if (!retry(why, made)) return outcome_of_mysql_error(static_cast<unsigned>(why.native));
  }
}

bool mysql_connection::prepare_all(fault& why) {
  for (std::size_t i = 0; i != mysql_hot_count; ++i) {
    if (statement(static_cast<mysql_hot>(i), why) == nullptr) return false;
  }
  return true;
}

}  // namespace dlock::detail
