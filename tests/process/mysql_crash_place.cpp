// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/crash_place.hpp"
#include "support/mysql_place.hpp"

namespace dlock::test {

namespace {

class mysql_crash_place final : public crash_place {
 public:
  std::string url() const override { return tables_.url(); }
  std::string url_after_fork() const override { return url(); }

 private:
  mysql_place tables_;
};

}  // namespace

std::unique_ptr<crash_place> make_crash_place() {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));  // skips the test if there is no server
  return std::make_unique<mysql_crash_place>();
}

}  // namespace dlock::test
