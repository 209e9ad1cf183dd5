// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql_connection.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "stores/mysql_errors.hpp"

namespace dlock::detail {
namespace {

constexpr unsigned deadlock_tries = 50;

int own_descriptor(MYSQL* handle) {
  const int made = ::fcntl(mysql_socket(handle), F_DUPFD_CLOEXEC, 0);
  if (made < 0)
    throw std::system_error(errno, std::generic_category(), "dlock: a file descriptor for a connection");
  return made;
}

}  // namespace

mysql_connection::mysql_connection(odb::mysql::connection_ptr native, const mysql_server& server,
                                   const mysql_sql& sql)
    : native_(std::move(native)),
      sql_(sql),
      identity_{server.id, incarnation_text(server), server.connection},
      socket_(own_descriptor(native_->handle())) {}

mysql_connection::~mysql_connection() {
  statements_ = {};
  ::close(socket_);
}

void mysql_connection::interrupt() noexcept {
  broken_.store(true, std::memory_order_release);
  ::shutdown(socket_, SHUT_RDWR);
}

void mysql_connection::heed(const fault& why) noexcept {
  // Our descriptor keeps the socket open; the server must see that nobody is there any more.
  if (why.connection) interrupt();
}

bool mysql_connection::may_run(fault& why) const {
  if (usable()) return true;
  why = make_own_fault("the connection was closed", true, true);
  return false;
}

// A deadlock undoes the statement, and the server asks to try it again: once others are through it goes.
bool mysql_connection::retry(const fault& why, unsigned& tries) const {
  if (why.native != static_cast<int>(mysql_deadlock) || ++tries >= deadlock_tries || !usable()) return false;
  // Losers of the same deadlock must not come back in step.
  const auto share = (identity_.id * 7 + tries * 13) % 32;
  std::this_thread::sleep_for(microseconds{(tries < 8 ? 20 : 200) * static_cast<int>(share)});
  return true;
}

mysql_statement* mysql_connection::statement(mysql_hot which, fault& why) {
  auto& place = statements_[static_cast<std::size_t>(which)];
  if (!place) place = mysql_statement::prepare(handle(), sql_.hot(which), values_, why);
  return place.get();
}

outcome mysql_connection::run(mysql_hot which, const mysql_statement*& done, fault& why) {
  for (unsigned tries = 0;;) {
    if (!may_run(why)) return outcome::failed;
    mysql_statement* const prepared = statement(which, why);
    // Not even prepared: nothing of it can run.
    const auto said = prepared != nullptr ? prepared->execute(why) : outcome::failed;
    if (said == outcome::yes) {
      done = prepared;
      if (tries != 0) why = {};
      return said;
    }
    heed(why);
    if (!retry(why, tries)) return said;
  }
}

outcome mysql_connection::fetch(mysql_look_row& row, fault& why) {
  const auto said = statements_[static_cast<std::size_t>(mysql_hot::look)]->fetch(row, why);
  if (said == outcome::failed) heed(why);
  return said;
}

outcome mysql_connection::query(const std::string& sql, const char* doing, mysql_rows* rows,
                                std::uint64_t* affected, fault& why) {
  for (unsigned tries = 0;;) {
    if (!may_run(why)) return outcome::failed;
    if (rows != nullptr) rows->clear();
    if (run_mysql(handle(), sql, doing, rows, why)) {
      if (tries != 0) why = {};
      if (affected != nullptr) *affected = mysql_affected_rows(handle());
      return outcome::yes;
    }
    heed(why);
    if (!retry(why, tries)) return outcome_of_mysql_error(static_cast<unsigned>(why.native));
  }
}

bool mysql_connection::prepare_all(fault& why) {
  for (std::size_t i = 0; i != mysql_hot_count; ++i) {
    if (statement(static_cast<mysql_hot>(i), why) == nullptr) return false;
  }
  return true;
}

}  // namespace dlock::detail
