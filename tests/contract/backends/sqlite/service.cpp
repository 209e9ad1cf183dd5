// SPDX-License-Identifier: GPL-2.0-or-later
#include "contract/service/multi_contract.hpp"
#include "contract/service/service_contract.hpp"
#include "dlock/store/store_url.hpp"
#include "dlock/stores/sqlite.hpp"
#include "support/scratch_folder.hpp"

namespace dlock::test {

namespace {

class sqlite_place final : public service_place {
 public:
  std::shared_ptr<store> open() override { return open_store("sqlite:" + (folder_ / "locks.db")); }
  time_source& time() override { return system_time(); }

 private:
  scratch_folder folder_;
};

}  // namespace

std::unique_ptr<service_place> make_service_place() { return std::make_unique<sqlite_place>(); }

}  // namespace dlock::test
