// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/sqlite_host.hpp"

#include <fstream>

#include "dlock/clock.hpp"

namespace dlock::stores {

std::string sqlite_host::boot_id() const {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, id);
  return id;
}

std::int64_t sqlite_host::now() const noexcept { return boot_clock::now().time_since_epoch().count(); }

bool sqlite_host::shifted_clock() const {
  std::ifstream offsets("/proc/self/timens_offsets");
  return has_shifted_boot_clock(offsets);
}

const std::shared_ptr<const sqlite_host>& sqlite_host::here() {
  // Never destroyed: stores of static objects may ask it at the end of the program.
  static const auto* const instance = new std::shared_ptr<const sqlite_host>(std::make_shared<sqlite_host>());
  return *instance;
}

bool has_shifted_boot_clock(std::istream& offsets) {
  std::string rest;
  for (std::string clock, seconds, nanoseconds; offsets >> clock >> seconds >> nanoseconds;) {
    if (clock == "boottime" && (seconds != "0" || nanoseconds != "0")) return true;
    std::getline(offsets, rest);
  }
  return false;
}

}  // namespace dlock::stores
