// SPDX-License-Identifier: GPL-2.0-or-later
#include "contract/service/multi_contract.hpp"
#include "contract/service/service_contract.hpp"
#include "support/mysql_place.hpp"

namespace dlock::test {

namespace {

class tables_place final : public service_place {
 public:
  std::shared_ptr<store> open() override { return tables_.open(); }
  time_source& time() override { return system_time(); }

 private:
  mysql_place tables_{};
};

}  // namespace

std::unique_ptr<service_place> make_service_place() { return std::make_unique<tables_place>(); }

}  // namespace dlock::test
