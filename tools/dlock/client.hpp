// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/lock_key.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "options.hpp"

namespace dlock::command {

/// A store for operators' queries: without a lock service, so it has no threads, no sessions and no clean-up.
/// All functions throw store_error, and std::invalid_argument for a wrong URL. Not thread-safe.
class client {
 public:
  /// Makes no tables. Connects at the first query.
  explicit client(const common_options& options);
  ~client();
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// Reads the URL, and connects to nothing. Throws std::invalid_argument for a wrong one.
  void open();
  /// The store, which has started.
  store& where();
  /// For people: the URL without its password.
  const std::string& name();
  store_admin& admin();
  /// Sends a query, which is interrupted at the time limit, on a connection that stays open; makes another connection
  /// if it broke.
  reply ask(const char* doing, const std::function<reply(connection&)>& question);
  connection& link();

  /// The key that the options name, or with a table the row. Throws failure if there is no such table.
  lock_key key_of(const key_options& named);
  std::shared_ptr<const row_table> table(const std::string& name);
  /// The holders of a key or a row; none if it is free.
  std::vector<holder_info> holders(const lock_key& key);
  /// A service on the same store, for actions that need one. Made at the first call.
  lock_service& locks();

 private:
  [[noreturn]] void fail(const char* doing, const fault& why);

  const common_options& options_;
  std::string name_{};
  std::shared_ptr<store> store_{};
  bool started_ = false;
  std::unique_ptr<connection> link_{};
  std::unique_ptr<lock_service> locks_{};
};

}  // namespace dlock::command
