// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <utility>

#include "support/mysql_fixture.hpp"

namespace dlock::test {

/// Changes a global variable, and back at the end.
class global_setting {
 public:
  global_setting(std::string name, const std::string& value) : name_(std::move(name)) {
    before_ = root_.one("SELECT IF(@@global." + name_ + " REGEXP '^[0-9.]+$', @@global." + name_ + ", QUOTE(@@global." +
                        name_ + "))");
    root_.run("SET GLOBAL " + name_ + "=" + value);
  }
  ~global_setting() { root_.run("SET GLOBAL " + name_ + "=" + before_); }
  global_setting(const global_setting&) = delete;
  global_setting& operator=(const global_setting&) = delete;

 private:
  raw_mysql root_ = raw_mysql::root();
  std::string name_;
  std::string before_;
};

}  // namespace dlock::test
