// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/file.hpp"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "dlock/store_interface/clock.hpp"
#include "stores/sqlite/client/errors.hpp"

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
  // Never destroyed, because stores of static objects may use it at the end of the program.
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

file_id file_id::of(const char* path) noexcept {
  struct ::stat found {};
  return path == nullptr || ::stat(path, &found) != 0 ? file_id{} : of(found);
}

sqlite_file::sqlite_file(sqlite_settings from, std::shared_ptr<const sqlite_host> machine)
    : settings(std::move(from)), host(std::move(machine)), boot(host->boot_id()) {}

// ---- where it is ----------------------------------------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

struct shared_kind {
  std::uint32_t type;
  const char* name;
};

// FUSE is among them because it hides the real file system: virtiofs and sshfs are FUSE.
constexpr shared_kind shared_kinds[] = {
    {0x00006969, "NFS"},
    {0x0000517B, "SMB"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB"},
    {0x01021997, "9p"},
    {0x65735546, "FUSE"},
    {0x0BD00BD0, "Lustre"},
    {0x00C36400, "Ceph"},
    {0x01161970, "GFS2"},
    {0x7461636F, "OCFS2"},
    {0x5346414F, "AFS"},
    {0x6B414653, "AFS"},
    {0x73757245, "Coda"},
    {0x0000564C, "NCP"},
    {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"},
    {0xAAD7AAEA, "PanFS"},
    {0x786F4256, "VirtualBox shared folder"},
    {0xBACBACBC, "VMware shared folder"},
};

void check_shared(const sqlite_file& file, const std::string& directory, bool exists) {
  constexpr const char* lift = "filesystem=any lifts this check";
  if (const char* const kind = network_file_system(file.host->file_system(directory))) {
    refuse(
        fmt::format("SQLite file '{}' is on a file system that machines may share ({}): SQLite can't keep processes of "
                    "several machines apart there, so two could hold one key. Use a folder on a disk of this host, or "
                    "a database server. {}, for processes of one host only",
                    file.settings.path, kind, lift));
  }
  if (!exists) return;
  if (file.host->mounted_alone(directory)) {
    refuse(fmt::format(
        "SQLite file '{}' is mounted without its folder, so that its -wal and -shm are others than those of "
        "processes that use it elsewhere, and two could hold one key: mount the folder that it is in. {}, where "
        "no other process uses the file",
        file.settings.path, lift));
  }
  if (const auto names = file.host->names(directory); names > 1) {
    refuse(
        fmt::format("SQLite file '{}' has {} names (hard links): under each name it has another -wal and -shm, so two "
                    "could hold one key. Remove the others, or copy the file. {}, where all use the same name",
                    file.settings.path, names, lift));
  }
}

}  // namespace

const char* network_file_system(std::uint32_t type) noexcept {
  const auto* const found = std::find_if(std::begin(shared_kinds), std::end(shared_kinds),
                                         [type](const shared_kind& kind) { return kind.type == type; });
  return found == std::end(shared_kinds) ? nullptr : found->name;
}

void check_location(const sqlite_file& file, bool to_be_made) {
  const auto& settings = file.settings;
  std::error_code ignored;  // SQLite reports what can't be read
  const fs::path path = settings.path, folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (fs::is_directory(path, ignored)) refuse(fmt::format("SQLite file '{}' is a folder", settings.path));
  if (!fs::exists(folder, ignored)) {
    refuse(fmt::format("SQLite file '{}': the folder '{}' does not exist", settings.path, folder.string()));
  }
  const bool exists = fs::exists(path, ignored);
  if (!to_be_made && !exists) {
    refuse_unfit(fmt::format("SQLite file '{}' does not exist; schema=create makes it", settings.path));
  }
  if (!settings.any_file_system) check_shared(file, exists ? settings.path : folder.string(), exists);
}

// ---- who has it open ------------------------------------------------------------------------------------------------

namespace {

struct opened_file {
  file_id file{};
  ::pid_t pid = 0;
  std::atomic<unsigned> connections{0};
  opened_file* next = nullptr;
};

// Grows by one entry for each file and process, and never shrinks. It has no mutex, which another thread might hold at
// a fork.
std::atomic<opened_file*> newest{nullptr};

opened_file& entry_of(const file_id& file) {
  const auto self = ::getpid();
  for (auto* each = newest.load(); each != nullptr; each = each->next) {
    if (each->pid == self && each->file == file) return *each;
  }
  auto* const entry = new opened_file{.file = file, .pid = self};
  entry->next = newest.load();
  while (!newest.compare_exchange_weak(entry->next, entry)) continue;
  return *entry;
}

}  // namespace

sqlite_open_mark::sqlite_open_mark(const file_id& file) : connections_(entry_of(file).connections) {
  connections_.fetch_add(1);
}

bool carried_over_fork(const file_id& file) noexcept {
  const auto self = ::getpid();
  for (const auto* each = newest.load(); each != nullptr; each = each->next) {
    if (each->pid != self && each->file == file && each->connections.load() > 0) return true;
  }
  return false;
}

}  // namespace dlock::stores::sqlite
