// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/client.hpp"

namespace dlock::stores::mysql {

// The database object never connects by itself: the factory does, with all settings.
mysql_client::mysql_client(mysql_settings settings, statement_rewrite rewrite)
    : settings_(std::move(settings)),
      rewrite_(std::move(rewrite)),
      factory_(new mysql_factory(settings_, rewrite_)),
      database_("", "", settings_.database, "", 0, nullptr, "", 0,
                std::unique_ptr<odb::mysql::connection_factory>(factory_)) {}

mysql_opened mysql_client::open(microseconds limit, const std::stop_token& cancel, fault& why) {
  auto opened = factory_->open(limit, cancel, why);
  if (!opened.link) return opened;
  auto* const handle = opened.link->handle();
  can_refuse_to_wait_.store(mysql::can_refuse_to_wait(handle), std::memory_order_relaxed);
  can_skip_locked_.store(mysql::can_skip_locked(handle), std::memory_order_relaxed);
  is_mariadb_.store(mysql::is_mariadb(handle), std::memory_order_relaxed);
  const base::lock_guard lock(mutex_);
  server_ = opened.server;
  return opened;
}

void mysql_client::note(const std::exception& error, fault& why) noexcept {
  why.transient = why.connection = true;
  try {
    why.text = error.what();
  } catch (...) {
    why.text.clear();
  }
}

mysql_server mysql_client::server() const {
  const base::lock_guard lock(mutex_);
  return server_;
}

}  // namespace dlock::stores::mysql
