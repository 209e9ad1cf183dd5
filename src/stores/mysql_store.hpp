// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "dlock/store.hpp"
#include "stores/mysql_connection.hpp"
#include "stores/mysql_factory.hpp"
#include "stores/mysql_settings.hpp"
#include "stores/mysql_sql.hpp"

namespace dlock::stores {

/// Locks in tables of MySQL or MariaDB. The rules that the comments name are those of docs/protocol.md.
class mysql_store final : public store {
 public:
  explicit mysql_store(dlock::detail::mysql_settings settings);

  const std::string& name() const noexcept override { return settings_.name; }
  capabilities caps() const noexcept override { return {}; }
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override;
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override;
  reply session(connection& on, session_verb what, const session_record& of) noexcept override;
  bool settle(connection& on, const connection_identity& lost) noexcept override;
  reply inspect(connection& on, std::string_view resource, std::vector<holder_info>& out) noexcept override;
  reply list(connection& on, std::string_view after, std::size_t limit,
             std::vector<holder_info>& out) noexcept override;
  reply doom(connection& on, std::string_view resource) noexcept override;
  reply sweep(connection& on, microseconds idle, std::size_t limit) noexcept override;

 private:
  using native = dlock::detail::mysql_connection;

  std::unique_ptr<native> open(microseconds limit, fault& why);
  reply query_holders(native& on, const std::string& condition, std::string_view value, std::size_t limit,
                      std::vector<holder_info>& out);

  dlock::detail::mysql_settings settings_;
  dlock::detail::mysql_sql sql_;
  dlock::detail::mysql_factory* factory_;  // the database owns it
  odb::mysql::database database_;
  std::mutex sweep_mutex_;
  std::string sweep_after_{};  // guarded by sweep_mutex_: where the next sweep goes on
};

}  // namespace dlock::stores
