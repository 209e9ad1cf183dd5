// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/host.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <chrono>
#include <fstream>

#include "dlock/store_interface/clock.hpp"

namespace dlock::stores::sqlite {

std::string sqlite_host::boot_id() const {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, id);
  return id;
}

std::int64_t sqlite_host::now() const noexcept { return boot_clock::now().time_since_epoch().count(); }

std::int64_t sqlite_host::wall_clock() const noexcept {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

bool sqlite_host::shifted_clock() const {
  std::ifstream offsets("/proc/self/timens_offsets");
  return has_shifted_boot_clock(offsets);
}

std::uint32_t sqlite_host::file_system(const std::string& path) const noexcept {
  struct ::statfs found {};
  return ::statfs(path.c_str(), &found) == 0 ? static_cast<std::uint32_t>(found.f_type) : 0;
}

bool sqlite_host::mounted_alone([[maybe_unused]] const std::string& path) const noexcept {
#ifdef STATX_ATTR_MOUNT_ROOT
  struct ::statx found {};
  return ::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &found) == 0 &&
         (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
  return false;
#endif
}

std::uint64_t sqlite_host::names(const std::string& path) const noexcept {
  struct ::stat found {};
  return ::stat(path.c_str(), &found) == 0 ? static_cast<std::uint64_t>(found.st_nlink) : 0;
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

}  // namespace dlock::stores::sqlite
