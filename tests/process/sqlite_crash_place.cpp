// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/stores/linked.hpp"
#include "process/crash_place.hpp"
#include "support/scratch_folder.hpp"

namespace dlock::test {

namespace {

class sqlite_crash_place final : public crash_place {
 public:
  std::string url() const override { return "sqlite:" + (folder_ / "locks.db"); }
  std::string url_after_fork() const override { return "sqlite:" + (folder_ / "childs.db"); }

 private:
  scratch_folder folder_;
};

}  // namespace

std::unique_ptr<crash_place> make_crash_place() { return std::make_unique<sqlite_crash_place>(); }

}  // namespace dlock::test
