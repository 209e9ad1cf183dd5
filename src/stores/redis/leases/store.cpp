// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/leases/store.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "stores/redis/client/errors.hpp"
#include "stores/redis/leases/answers.hpp"

namespace dlock::stores::redis::leases {

namespace {

bool parse_by_clock(const std::string& text) {
  if (text != "clock" && text != "count") {
    throw std::invalid_argument(fmt::format("dlock: redis URL: fences={} is not clock or count", text));
  }
  return text == "clock";
}

}  // namespace

lease_settings lease_settings::parse(store_url url) {
  lease_settings settings{redis_settings::take(url)};
  settings.prefix = redis_settings::checked_prefix(url.take_param("prefix", "dlock:"));
  settings.by_clock = parse_by_clock(url.take_param("fences", "clock"));
  url.expect_no_more_params();
  return settings;
}

redis_store::redis_store(const lease_settings& settings)
    : client_(settings, scripts()),
      by_clock_(settings.by_clock),
      locks_(settings.prefix + "lock:"),
      sessions_(settings.prefix + "session:"),
      index_(settings.prefix + "locks"),
      ends_(settings.prefix + "sessions"),
      meta_(settings.prefix + "meta"),
      channels_(client_, locks_) {}

void redis_store::prepare() {
  fault why;
  const auto connection = client_.open<lease_connection>(client_.settings().connect_timeout, {}, why);
  if (connection != nullptr) connection->server.must_do(client_.settings(), false);
  if (connection == nullptr || !introduce(*connection, why)) client_.fail(why);
}

std::unique_ptr<lease_connection> redis_store::open(microseconds limit, const std::stop_token& cancel,
                                                    fault& why) noexcept {
  const auto until = redis_client::clock::now() + limit;
  auto made = client_.open<lease_connection>(limit, cancel, why);
  try {
    if (made != nullptr && may_hold_locks(made->server, client_.settings(), false, why)) {
      made->set_patience(redis_client::left(until));
      const std::stop_callback ends(cancel, [&on = *made] { on.interrupt(); });
      if (!introduce(*made, why)) return nullptr;
      made->set_patience(client_.settings().statement_timeout);
      made->watch_hang_up(hang_ups_);
      return made;
    }
  } catch (const std::exception&) {
    why.transient = why.connection = true;
  }
  return nullptr;
}

/// Each start of the server is made known to the data, once: grants that it has lost must not get their tokens again.
bool redis_store::introduce(lease_connection& to, fault& why) const {
  const auto& server = to.server;
  script_calls hello(to);
  hello.add(script::hello, 1, {meta_, server.run, id128::random().hex(), by_clock_ ? "1" : "0", server.promotion});
  const auto told = std::move(hello.run().front());
  if (!told || told.is_error()) {
    why = told ? fault_of_error(told.text(), "hello") : lost_connection("hello: no answer in time");
    why.connection = true;
    return false;
  }
  to.name_server(told[0].text());
  to.epoch = told[1].text();
  return true;
}

std::string redis_store::session_name(const id128& id) const { return sessions_ + std::string(name_of(id)); }

}  // namespace dlock::stores::redis::leases
