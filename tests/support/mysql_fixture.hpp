// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Tests against the private server that scripts/mariadb.sh starts, or any other that the environment names:
/// DLOCK_TEST_MYSQL_URL (may only lock), DLOCK_TEST_MYSQL_OWNER_URL (may make tables),
/// DLOCK_TEST_MYSQL_ROOT_SOCKET. With DLOCK_TEST_SERVER=mysql9 it is the server of scripts/mysql9.sh, whose variables
/// are called DLOCK_TEST_MYSQL9_...

#include <mysql.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "support/url_parameters.hpp"

namespace dlock::test {

/// The variable's value. Unset: the test is skipped, or fails where a server was promised (CI or
/// DLOCK_TEST_REQUIRE_MYSQL is set).
std::string mysql_setting(const char* name);

/// A plain connection of the client library, for what happens beside dlock. Throws std::runtime_error for any error.
class raw_mysql {
 public:
  using row = std::vector<std::optional<std::string>>;

  /// As the user of a URL like DLOCK_TEST_MYSQL_OWNER_URL.
  explicit raw_mysql(const std::string& url);
  /// As root over DLOCK_TEST_MYSQL_ROOT_SOCKET, in the database of DLOCK_TEST_MYSQL_OWNER_URL.
  static raw_mysql root();
  ~raw_mysql();
  raw_mysql(raw_mysql&&) noexcept;

  /// Rows changed (or matched).
  std::uint64_t run(const std::string& sql);
  std::vector<row> rows(const std::string& sql);
  /// The first column of the first row.
  std::string one(const std::string& sql);
  /// Runs it in a thread of its own; the connection is not to be used until it is done.
  std::future<std::uint64_t> start(std::string sql);
  std::uint64_t id() const;
  /// What the last statement's answer says of LAST_INSERT_ID.
  std::uint64_t insert_id() const;
  bool is_mariadb() const;

 private:
  struct as_root {};
  explicit raw_mysql(as_root);

  MYSQL* handle_ = nullptr;
};

/// Tables of their own (a prefix nobody else has), gone at the end.
class mysql_fixture {
 public:
  mysql_fixture();
  ~mysql_fixture();
  mysql_fixture(const mysql_fixture&) = delete;
  mysql_fixture& operator=(const mysql_fixture&) = delete;

  const std::string& prefix() const noexcept { return prefix_; }
  /// The server's.
  std::uint16_t port() const { return store_url::parse(owner_url_).hosts.at(0).port; }
  /// "`<prefix>lock`"
  std::string table(const std::string& name) const { return "`" + prefix_ + name + "`"; }
  /// The owner's URL with our prefix and more parameters, e.g. "&schema=verify".
  std::string url(const std::string& more = {}) const;
  /// The same at these hosts: "name:port,name:port".
  std::string url_at(const std::string& hosts, const std::string& more = {}) const;
  /// The same by these ports of this host.
  std::string url_by(const std::vector<std::uint16_t>& ports, const std::string& more = {}) const;
  std::string app_url(const std::string& more = {}) const;
  /// Another store object; prepared.
  std::shared_ptr<store> open(const std::string& more = {}) const;

 private:
  std::string owner_url_;
  std::string prefix_;
};

/// Waits until a statement of that connection waits for a row lock; a failure after a while. `client` is root.
void wait_until_blocked(raw_mysql& client, std::uint64_t connection_id);

}  // namespace dlock::test
