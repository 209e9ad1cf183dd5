// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/parked/parked_connection.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <optional>
#include <utility>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/server.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql::parked {

namespace {

using namespace std::chrono_literals;

/// How much later than the end of its sleep the parked statement may be answered.
constexpr auto grace = 5s;
/// A sleep that failed earlier than this would fail again.
constexpr auto shortest_sleep = 100ms;
constexpr int most_confirmations = 500;
constexpr int most_releases = 3;
/// The suffix of the lock that the process has as long as it waits.
constexpr std::string_view held_suffix = ".p";

bool fail(fault& why, std::string text) {
  why = make_own_fault(std::move(text));
  return false;
}

/// Returns false where the reason does not matter.
bool broken(fault& why) {
  why = {};
  why.connection = true;
  return false;
}

}  // namespace

std::string parked_connection::wake_id_name(std::string_view suffix) const {
  auto digits = wake_id_.hex();
  std::transform(digits.begin(), digits.end(), digits.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format("'dlock.{}{}'", digits, suffix);
}

bool parked_connection::alive() noexcept {
  return connected() && parked_->usable() && helper_->usable() && (sleeps_ || parked_->alive()) && helper_->alive();
}

bool parked_connection::connect(mysql_client& client, const std::stop_token& stop, fault& why) {
  const auto limit = client.settings().connect_timeout;
  auto helper = client.open<mysql_connection>(limit, stop, why);
  if (helper == nullptr) return broken(why);
  auto parked = client.open<mysql_connection>(limit, stop, why);
  if (parked == nullptr) return broken(why);
  if (is_cluster(client.server())) {
    return fail(why, "the server is a node of a cluster, and a wake-up reaches one node");
  }
  if (helper->behind_proxy() || parked->behind_proxy()) return fail(why, std::string(no_wake_by_proxy));
  const auto &one = helper->identity(), &other = parked->identity();
  // A failover happened between the two.
  if (one.server != other.server || one.incarnation != other.incarnation) return broken(why);
  wake_id_ = id128::random();
  {
    const base::lock_guard lock(replaced_);
    parked_ = std::move(parked);
    helper_ = std::move(helper);
  }
  // This lock shows others that keep the order that the process is there, even between two sleeps.
  return ask(fmt::format("DO GET_LOCK({}, 0)", wake_id_name(held_suffix)), "show that this process waits", nullptr,
             why);
}

void parked_connection::close() noexcept {
  if (sleeps_ && parked_ != nullptr) parked_->interrupt();  // a sleeping server does not read COM_QUIT
  {
    const base::lock_guard lock(replaced_);
    parked_.reset();
    helper_.reset();
  }
  sleeps_ = has_wake_id_ = false;
}

void parked_connection::interrupt() noexcept {
  const base::lock_guard lock(replaced_);
  for (auto* const each : {parked_.get(), helper_.get()}) {
    if (each != nullptr) each->interrupt();
  }
}

void parked_connection::leave_to_parent() noexcept {
  static_cast<void>(parked_.release());
  static_cast<void>(helper_.release());
}

bool parked_connection::free_wake_id(fault& why) {
  // A late KILL may end this statement, too.
  for (int tries = 0; has_wake_id_ && tries != most_releases; ++tries) {
    const auto said =
        parked_->query("DO RELEASE_LOCK(" + wake_id_name() + ")", "release the wake id", nullptr, nullptr, why);
    if (said != outcome::yes && !parked_->usable()) return broken(why);
    has_wake_id_ = said != outcome::yes;
  }
  return !has_wake_id_ || broken(why);
}

/// Sleeps by waiting for the lock that the other connection has. Once another connection sees that the wake id is held,
/// KILL QUERY ends the sleep. SLEEP() would do the same, but all sleeps of a MariaDB server share one mutex: a KILL of
/// one sleeper may delay every KILL and every new connection by 2 s.
///
/// MariaDB executes the rest of the statement after KILL QUERY, and so frees the wake id itself; MySQL does not.
bool parked_connection::sleep(fault& why) {
  if (!free_wake_id(why)) return false;
  const auto sql = fmt::format("SELECT GET_LOCK({0}, 0), GET_LOCK({1}, {2}), RELEASE_LOCK({0})", wake_id_name(),
                               wake_id_name(held_suffix), slice.count());
  if (!send_mysql(parked_->handle(), sql, "wait", why)) return broken(why);
  has_wake_id_ = sleeps_ = true;
  sleeps_until_ = clock::now() + slice;
  return true;
}

bool parked_connection::confirm(fault& why) {
  for (int tries = 0; tries != most_confirmations; ++tries) {
    mysql_rows rows;
    if (!ask(fmt::format("SELECT IS_USED_LOCK({})", wake_id_name()), "find the wake id", &rows, why)) return false;
    if (const auto holder = unsigned_of(rows.at(0).at(0)); holder != 0) {
      if (holder == parked_->identity().id) return true;
      return fail(why,
                  fmt::format("connection {} has the wake id of connection {}: something between here and the server "
                              "shares connections",
                              holder, parked_->identity().id));
    }
    pollfd answer{descriptor(), POLLIN, 0};
    if (::poll(&answer, 1, 1) > 0) return true;  // it is over already; read_end() finds out why
  }
  return broken(why);
}

parked_connection::clock::time_point parked_connection::latest_end() const noexcept { return sleeps_until_ + grace; }

parked_connection::sleep_end parked_connection::read_end() {
  fault why;
  mysql_rows rows;
  const bool said = read_mysql(parked_->handle(), "wait", &rows, why);
  sleeps_ = false;
  if (!said && why.connection) return sleep_end::broken;
  if (said && !rows.empty() && rows.at(0).at(2) == "1") has_wake_id_ = false;
  constexpr int interrupted = 1317;
  const auto waited = said && !rows.empty() ? rows.at(0).at(1) : std::nullopt;
  if (waited == "1") return sleep_end::broken;  // the other connection has ended
  if (said ? !waited : why.native == interrupted) return sleep_end::rung;
  return said || clock::now() - (sleeps_until_ - slice) >= shortest_sleep ? sleep_end::over : sleep_end::broken;
}

}  // namespace dlock::stores::mysql::parked
