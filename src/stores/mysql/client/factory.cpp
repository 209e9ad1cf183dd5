// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/factory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <odb/mysql/exceptions.hxx>
#include <string>
#include <utility>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/io_bound.hpp"

namespace dlock::stores::mysql {

mysql_odb_connection::mysql_odb_connection(odb::mysql::database& database, mysql_handle handle,
                                           const statement_rewrite& rewrite)
    : odb::mysql::connection(database, handle.get()), rewrite_(rewrite) {
  handle.release();  // the base class closes it
}

unsigned long long mysql_odb_connection::execute(const char* statement, std::size_t length) {
  if (!rewrite_) return odb::mysql::connection::execute(statement, length);
  const auto adapted = rewrite_({statement, length});
  return odb::mysql::connection::execute(adapted.data(), adapted.size());
}

mysql_handle mysql_factory::log_in(const store_url::endpoint& to, microseconds share, const std::stop_token& cancel,
                                   mysql_server& server, fault& why) {
  const auto prefix = fmt::format("dlock: {}: {}", settings_.name, settings_.where(to));
  const auto end = mysql_hosts::clock::now() + share;
  // Where there is no other host, there is nothing to go on with.
  const bool named = settings_.hosts.size() > 1 && settings_.socket.empty();
  if (named && !lookup_.answers(to.host, end, cancel)) {
    why = make_own_fault(fmt::format("{}: the look-up of the host's name takes too long", prefix), true, true);
    return nullptr;
  }
  const mysql_io_bound bound(end, cancel);
  auto handle = connect_mysql(settings_, to, share, why);
  if (handle == nullptr) return nullptr;
  if (!read_server(handle.get(), server, why)) {
    why.text = fmt::format("{}: {}", prefix, why.text);
    why.connection = true;
    return nullptr;
  }
  // Our tables are named without their database.
  if (!equal_names(server.database, settings_.database)) {
    why = make_own_fault(
        fmt::format("{}: the connection is in another database than {}: does the server's init_connect choose one?",
                    prefix, settings_.database),
        false, true);
    return nullptr;
  }
  if (!server.refusal.empty()) {
    why = make_own_fault(fmt::format("{}: {}", prefix, server.refusal), true, true);
    return nullptr;
  }
  return handle;
}

mysql_opened mysql_factory::open_host(std::size_t host, microseconds share, const std::stop_token& cancel, fault& why) {
  using clock = mysql_hosts::clock;
  mysql_opened opened{.host = host, .refusals = hosts_.refusals(host)};
  const auto begun = clock::now();
  auto handle = log_in(settings_.hosts[host], share, cancel, opened.server, why);
  const auto took = std::chrono::duration_cast<microseconds>(clock::now() - begun);
  if (handle == nullptr) {
    if (!cancel.stop_requested()) hosts_.failed(host, clock::now(), took >= share ? share : microseconds{0});
    return opened;
  }
  hosts_.succeeded(host, took);
  opened.link = odb::mysql::connection_ptr(new (odb::details::shared)
                                               mysql_odb_connection(*database_, std::move(handle), rewrite_));
  return opened;
}

mysql_opened mysql_factory::open(microseconds limit, const std::stop_token& cancel, fault& why) {
  using clock = mysql_hosts::clock;
  const auto end = clock::now() + limit;
  std::string reasons;
  auto others = settings_.hosts.size();
  for (const auto host : hosts_.order(clock::now())) {
    --others;
    const auto remaining = std::chrono::duration_cast<microseconds>(end - clock::now());
    why = {};
    auto opened = open_host(host, hosts_.share(host, others, std::max(remaining, microseconds{0})), cancel, why);
    if (opened.link) return opened;
    add_reason(reasons, settings_.name, why.text);
    if (cancel.stop_requested()) break;
  }
  why.text = std::move(reasons);
  return {};
}

odb::mysql::connection_ptr mysql_factory::connect() {
  fault why;
  auto opened = open(settings_.connect_timeout, {}, why);
  if (!opened.link) {
    throw odb::mysql::database_exception(static_cast<unsigned>(why.native), why.sqlstate, why.text);
  }
  return opened.link;
}

}  // namespace dlock::stores::mysql
