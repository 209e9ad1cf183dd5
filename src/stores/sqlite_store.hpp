// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "dlock/store.hpp"
#include "stores/sqlite_connection.hpp"
#include "stores/sqlite_file.hpp"

namespace dlock::stores {

/// Locks in an SQLite file; see dlock/stores/sqlite.hpp.
class sqlite_store final : public store {
 public:
  explicit sqlite_store(sqlite_settings settings) : file_(std::make_shared<sqlite_file>(std::move(settings))) {}

  const std::string& name() const noexcept override { return file_->settings.name; }
  capabilities caps() const noexcept override { return {}; }
  void prepare() override;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override;
  bool caller_may_wait(fault& why) const noexcept override;
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override;
  reply session(connection& on, session_verb what, const session_record& of) noexcept override;
  /// A statement runs within the call that made it: when a connection is lost, nothing of it is left.
  bool settle(connection&, const connection_identity&) noexcept override { return true; }
  reply inspect(connection& on, std::string_view resource, std::vector<holder_info>& out) noexcept override;
  reply list(connection& on, std::string_view after, std::size_t limit,
             std::vector<holder_info>& out) noexcept override;
  reply doom(connection& on, std::string_view resource) noexcept override;
  reply sweep(connection& on, microseconds idle, std::size_t limit) noexcept override;

 private:
  std::shared_ptr<sqlite_file> file_;
};

/// For verbs, which never throw: what is left to say when there is no memory for the text.
reply out_of_memory() noexcept;

}  // namespace dlock::stores
