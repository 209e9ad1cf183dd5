// SPDX-License-Identifier: BSL-1.0
#include "odb/verify/verify_scene.hpp"
#include "support/mysql_fixture.hpp"

namespace dlock::test {

namespace {

/// The application's user has no rights but those that the documentation asks for.
class mysql_verify_fixture final : public verify_fixture {
 public:
  mysql_verify_fixture() { tables_.open(); }
  std::string locks() const override { return tables_.app_url("&schema=verify"); }
  std::string bank() const override { return mysql_setting("DLOCK_TEST_MYSQL_APP_URL"); }
  std::string locks_apart() const override { return locks(); }
  bool locks_rows() const override { return true; }

 private:
  mysql_fixture tables_;
};

}  // namespace

std::unique_ptr<verify_fixture> make_verify_fixture() {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));  // skips the test if there is no server
  return std::make_unique<mysql_verify_fixture>();
}

}  // namespace dlock::test
