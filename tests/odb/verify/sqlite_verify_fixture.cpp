// SPDX-License-Identifier: BSL-1.0
#include "odb/verify/verify_scene.hpp"
#include "support/scratch_folder.hpp"

namespace dlock::test {

namespace {

class sqlite_verify_fixture final : public verify_fixture {
 public:
  std::string locks() const override { return "sqlite:" + (folder_ / "app.db"); }
  std::string bank() const override { return locks(); }
  std::string locks_apart() const override { return "sqlite:" + (folder_ / "locks.db"); }
  bool locks_rows() const override { return false; }

 private:
  scratch_folder folder_;
};

}  // namespace

std::unique_ptr<verify_fixture> make_verify_fixture() { return std::make_unique<sqlite_verify_fixture>(); }

}  // namespace dlock::test
