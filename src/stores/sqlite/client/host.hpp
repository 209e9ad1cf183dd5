// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>

namespace dlock::stores::sqlite {

/// What the store asks of the machine that it runs on. Tests give it another one. Thread safety: any thread.
class sqlite_host {
 public:
  virtual ~sqlite_host() = default;

  /// Which boot this is; empty: the system does not say. Equal ids mean one boot. Different ones prove nothing:
  /// containers of one kernel may each see another id.
  virtual std::string boot_id() const;
  /// Microseconds since the boot, time asleep included. The same for all processes of the kernel.
  virtual std::int64_t now() const noexcept;
  /// Microseconds since 1970, UTC: only for rows whose expiry other programs compare with datetime('now').
  virtual std::int64_t wall_clock() const noexcept;
  /// Whether now() differs from that of the kernel's other processes: this one is in another time namespace.
  virtual bool shifted_clock() const;

  /// What statfs() calls the file system that a file or folder is on; 0: it can't be asked.
  virtual std::uint32_t file_system(const std::string& path) const noexcept;
  /// Whether the file is mounted there by itself, as containers can have it.
  virtual bool mounted_alone(const std::string& path) const noexcept;
  /// How many names the file has; 0: it can't be asked.
  virtual std::uint64_t names(const std::string& path) const noexcept;

  /// The real machine; lives as long as the process.
  static const std::shared_ptr<const sqlite_host>& here();
};

/// Reads /proc/self/timens_offsets: lines such as "boottime  86400  0", in seconds and nanoseconds.
bool has_shifted_boot_clock(std::istream& offsets);

}  // namespace dlock::stores::sqlite
