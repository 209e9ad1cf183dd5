// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fmt/format.h>

#include "support/mysql_fixture.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// A user of the database for one test, gone at the end. May do nothing at first.
class mysql_user {
 public:
  /// `limits`: how CREATE USER ends, e.g. "WITH MAX_USER_CONNECTIONS 1".
  explicit mysql_user(std::string name, const std::string& limits = {}) : name_(std::move(name)) {
    root_.run(fmt::format("DROP USER IF EXISTS '{}'@'%'", name_));  // of a test that was killed
    root_.run(fmt::format("CREATE USER '{}'@'%' IDENTIFIED BY 'pw' {}", name_, limits));
  }
  ~mysql_user() {
    try {
      root_.run(fmt::format("DROP USER '{}'@'%'", name_));
    } catch (const std::exception& e) {
      WARN("a test's user stays behind: " << e.what());
    }
  }
  mysql_user(const mysql_user&) = delete;
  mysql_user& operator=(const mysql_user&) = delete;

  /// `rights`: e.g. "SELECT ON *.*".
  void grant(const std::string& rights) { root_.run(fmt::format("GRANT {} TO '{}'@'%'", rights, name_)); }
  const std::string& name() const noexcept { return name_; }
  /// The same place as `url`, as this user.
  std::string url(std::string url) const {
    const auto begin = url.find("//") + 2;
    return url.replace(begin, url.find('@') - begin, name_ + ":pw");
  }
  raw_mysql& root() noexcept { return root_; }

 private:
  raw_mysql root_ = raw_mysql::root();
  const std::string name_;
};

}  // namespace dlock::test
