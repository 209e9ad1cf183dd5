// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contract/backends/sqlite/file_fixture.hpp"
#include "stores/sqlite/lease_table/store.hpp"

namespace dlock::test {

/// A machine that the SQLite store is told of, in place of the real one: a kernel's clock, and what one container on it
/// is told. Its clock is the real one until a test sets it.
class sqlite_machine final : public stores::sqlite::sqlite_host {
 public:
  explicit sqlite_machine(std::string boot) : boot_(std::move(boot)) {}

  std::string boot_id() const override { return boot_; }
  std::int64_t now() const noexcept override {
    if (before_now) before_now();
    return set_ ? time_.load() : sqlite_host::now();
  }
  std::int64_t wall_clock() const noexcept override { return wall_set_ ? wall_.load() : sqlite_host::wall_clock(); }
  bool shifted_clock() const override { return shifted; }
  std::uint32_t file_system(const std::string& path) const noexcept override {
    return files != 0 ? files : sqlite_host::file_system(path);
  }
  bool mounted_alone(const std::string& path) const noexcept override {
    return alone || sqlite_host::mounted_alone(path);
  }

  /// From now on it goes by hand only.
  void set(std::int64_t time) {
    time_ = time;
    set_ = true;
  }
  void pass(std::chrono::microseconds time) {
    time_ += time.count();
    wall_ += time.count();
  }

  /// An operator, or NTP: the time of day from now on.
  void set_wall_clock(std::int64_t time) {
    wall_ = time;
    wall_set_ = true;
  }

  bool shifted = false;
  std::uint32_t files = 0;  ///< a type of file system
  bool alone = false;
  std::function<void()> before_now{};  ///< called by the thread that asks

 private:
  const std::string boot_;
  std::atomic<bool> set_{false};
  std::atomic<std::int64_t> time_{0};
  std::atomic<bool> wall_set_{false};
  std::atomic<std::int64_t> wall_{0};
};

/// A store on `url` that takes `machine` for the one it runs on. Not prepared.
inline std::shared_ptr<store> open_on(const std::string& url, std::shared_ptr<const sqlite_machine> machine) {
  return std::make_shared<stores::sqlite::lease_table::sqlite_store>(
      stores::sqlite::lease_table::lease_settings::parse(store_url::parse(url)), std::move(machine));
}

/// The clocks of the machine, as some stores are told of them.
class machine_clock {
 public:
  /// They stand still for stores that are opened from now on.
  void stop() {
    stopped_ = std::make_shared<sqlite_machine>("this");
    stopped_->set(3'600'000'000);
    stopped_->set_wall_clock(1'700'000'000'000'000);
  }
  void pass(microseconds time) { stopped_ == nullptr ? std::this_thread::sleep_for(time) : stopped_->pass(time); }
  /// Prepared.
  std::shared_ptr<store> open(const std::string& url) const {
    auto opened = stopped_ == nullptr ? open_store(url) : open_on(url, stopped_);
    opened->prepare();
    return opened;
  }

 private:
  std::shared_ptr<sqlite_machine> stopped_{};
};

/// A lock file whose stores take `machine` for theirs. Time passes on it by hand, if a test has set it.
class sqlite_machine_fixture : public sqlite_file_fixture {
 public:
  explicit sqlite_machine_fixture(const std::string& boot = "this") : machine(std::make_shared<sqlite_machine>(boot)) {}

  std::shared_ptr<store> open() override { return open_by(machine); }
  std::shared_ptr<store> open_by(std::shared_ptr<const sqlite_machine> visitor) {
    auto opened = open_on(url(), std::move(visitor));
    opened->prepare();
    return opened;
  }
  void pass(microseconds time) override { machine->pass(time); }

  std::shared_ptr<sqlite_machine> machine;
};

}  // namespace dlock::test
