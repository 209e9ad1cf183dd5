// SPDX-License-Identifier: BSL-1.0
#include "odb/verify/verify_place.hpp"
#include "support/mysql_place.hpp"

namespace dlock::test {

namespace {

/// The application's user has no rights but those that the documentation asks for.
class mysql_verify_place final : public verify_place {
 public:
  mysql_verify_place() { tables_.open(); }
  std::string locks() const override { return tables_.app_url("&schema=verify"); }
  std::string bank() const override { return mysql_setting("DLOCK_TEST_MYSQL_APP_URL"); }
  std::string locks_apart() const override { return locks(); }
  bool locks_rows() const override { return true; }

 private:
  mysql_place tables_;
};

}  // namespace

std::unique_ptr<verify_place> make_verify_place() {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));  // skips the test if there is no server
  return std::make_unique<mysql_verify_place>();
}

}  // namespace dlock::test
