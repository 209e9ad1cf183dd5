// SPDX-License-Identifier: BSL-1.0

/// Where an SQLite lock file is, who may write to it, and what it is: what is said where that is wrong.

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

#include "contract/store/store_contract.hpp"
#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/stores/sqlite.hpp"
#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/client/file.hpp"
#include "stores/sqlite/sqlite_machine.hpp"
#include "stores/sqlite/without_rights.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scratch_folder.hpp"

using namespace dlock;
using namespace dlock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// What prepare() threw; its code is in `code`.
std::string refusal(store& store, errc expected = errc::store_failed) {
  try {
    store.prepare();
  } catch (const store_error& e) {
    CHECK(e.code() == make_error_code(expected));
    CHECK_THAT(e.what(), ContainsSubstring("SQLite file '"));
    return e.what();
  }
  FAIL("it was not refused");
  return {};
}

std::string refusal(const std::string& url) { return refusal(*open_store(url)); }

unsigned mode_of(const std::string& path) {
  struct ::stat found {};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 0777U : 0;
}

}  // namespace

TEST_CASE("sqlite location: a file system that machines may share is refused before the file is made",
          "[unit][sqlite]") {
  scratch_folder folder;
  const auto path = folder / "locks.db";
  const auto [type, name] = GENERATE(table<std::uint32_t, const char*>({{0x6969, "NFS"},
                                                                        {0xFF534D42, "CIFS"},
                                                                        {0xFE534D42, "SMB"},
                                                                        {0x01021997, "9p"},
                                                                        {0x65735546, "FUSE"},
                                                                        {0x0BD00BD0, "Lustre"},
                                                                        {0x00C36400, "Ceph"},
                                                                        {0x01161970, "GFS2"}}));
  const auto machine = std::make_shared<sqlite_machine>("this");
  machine->files = type;
  const auto text = refusal(*open_on("sqlite:" + path, machine));
  CHECK_THAT(text, ContainsSubstring(path));
  CHECK_THAT(text, ContainsSubstring(std::string("(") + name + ")"));
  CHECK_THAT(text, ContainsSubstring("filesystem=any"));
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_NOTHROW(open_on("sqlite:" + path + "?filesystem=any", machine)->prepare());
  // Of a file that is there it is asked too: it may be a link to elsewhere.
  CHECK_THAT(refusal(*open_on("sqlite:" + path, machine)), ContainsSubstring(name));
}

TEST_CASE("sqlite location: file systems of one host are not refused", "[unit][sqlite]") {
  // ext4, xfs, btrfs, tmpfs, overlayfs, zfs, f2fs, bcachefs, none that could be asked.
  for (const std::uint32_t type :
       {0xEF53U, 0x58465342U, 0x9123683EU, 0x01021994U, 0x794C7630U, 0x2FC12FC1U, 0xF2F52010U, 0xCA451A4EU, 0U}) {
    CHECK(stores::sqlite::network_file_system(type) == nullptr);
  }
}

TEST_CASE("sqlite location: the machine itself is asked", "[unit][sqlite]") {
  const auto& machine = *stores::sqlite::sqlite_host::here();
  scratch_folder folder;
  const auto path = folder / "file";
  std::ofstream(path) << "x";
  CHECK(machine.file_system("/proc") == 0x9FA0);
  CHECK(machine.file_system(path + "/nowhere") == 0);
  CHECK(machine.mounted_alone("/proc"));
  CHECK_FALSE(machine.mounted_alone(path));
  CHECK_FALSE(machine.mounted_alone(path + "/nowhere"));
  CHECK(machine.names(path) == 1);
  std::filesystem::create_hard_link(path, folder / "other");
  CHECK(machine.names(path) == 2);
  CHECK_FALSE(machine.boot_id().empty());
  CHECK_FALSE(machine.shifted_clock());
}

TEST_CASE("sqlite location: a file that is mounted without its folder is refused", "[unit][sqlite]") {
  scratch_folder folder;
  const auto url = "sqlite:" + (folder / "locks.db");
  const auto machine = std::make_shared<sqlite_machine>("this");
  machine->alone = true;
  CHECK_NOTHROW(open_on(url, machine)->prepare());  // it is not there yet
  const auto text = refusal(*open_on(url, machine));
  CHECK_THAT(text, ContainsSubstring("mount the folder that it is in"));
  CHECK_NOTHROW(open_on(url + "?filesystem=any", machine)->prepare());
  machine->alone = false;
  CHECK_NOTHROW(open_on(url, machine)->prepare());
}

TEST_CASE("sqlite location: a file with a second name is refused under either, a symbolic link is not",
          "[unit][sqlite]") {
  scratch_folder folder;
  const auto path = folder / "locks.db", other = folder / "other.db", link = folder / "link.db";
  open_store("sqlite:" + path)->prepare();
  std::filesystem::create_hard_link(path, other);
  for (const auto& name : {path, other}) CHECK_THAT(refusal("sqlite:" + name), ContainsSubstring("2 names"));
  CHECK_NOTHROW(open_store("sqlite:" + path + "?filesystem=any")->prepare());
  std::filesystem::remove(other);
  std::filesystem::create_symlink(path, link);
  lock_service first("sqlite:" + path), second("sqlite:" + link);
  const auto held = first.acquire("k");
  CHECK_FALSE(second.try_acquire("k"));
}

TEST_CASE("sqlite location: what is no SQLite file is said so, and not that it can't be reached", "[unit][sqlite]") {
  scratch_folder folder;
  const auto path = folder / "locks.db";
  std::ofstream(path) << std::string(5000, 'x');
  const auto text = refusal("sqlite:" + path);
  CHECK_THAT(text, ContainsSubstring("file is not a database"));
  CHECK_THAT(text, ContainsSubstring("a file of another kind, or an encrypted one"));
  CHECK_THAT(text, !ContainsSubstring("reached"));

  // Also if it has become so while a service runs: at once, not at the end of the wait.
  std::filesystem::remove(path);
  lock_service service("sqlite:" + path);
  std::filesystem::remove(path);
  std::ofstream(path) << std::string(5000, 'x');
  try {
    (void)service.acquire("k", {.wait = 20s});
    FAIL("it was granted");
  } catch (const store_error& e) {
    CHECK(e.code() == make_error_code(errc::store_failed));
    CHECK_THAT(e.what(), ContainsSubstring("file is not a database"));
  }
}

TEST_CASE("sqlite location: the -wal and -shm get the file's own mode, whatever the umask", "[unit][sqlite]") {
  scratch_folder folder;
  const auto path = folder / "locks.db";
  const auto before = ::umask(GENERATE(0002U, 0022U));
  open_store("sqlite:" + path)->prepare();
  CHECK(mode_of(path) == 0644);  // SQLite never gives more: a group has to be let in by chmod
  REQUIRE(::chmod(path.c_str(), 0660) == 0);
  lock_service service("sqlite:" + path);
  const auto held = service.acquire("k");
  for (const char* part : {"", "-wal", "-shm"}) CHECK(mode_of(path + part) == 0660);
  ::umask(before);
}

TEST_CASE("sqlite location: a right that is missing is told, with whose file it is", "[unit][sqlite]") {
  scratch_folder folder;
  const auto path = folder / "locks.db";
  open_store("sqlite:" + path)->prepare();
  raw_sqlite other(path);  // keeps -wal and -shm there
  other.run("UPDATE dlock_floor SET fence = fence");
  ::chmod((folder / ".").c_str(), 0755);
  const std::string part = GENERATE("", "-wal", "-shm");
  std::filesystem::create_symlink(path, folder / "link");
  for (const char* each : {"", "-wal", "-shm"}) ::chmod((path + each).c_str(), each == part ? 0444 : 0666);
  const as_nobody now;
  CHECK(stores::sqlite::not_writable(path) ==
        "'" + path + part + "' has mode 0444, user " + std::to_string(::getuid()) + " and group " +
            std::to_string(::getgid()) + ", and this process is user " + std::to_string(::geteuid()) + " and group " +
            std::to_string(::getegid()));
  const auto text = refusal("sqlite:" + path);
  CHECK_THAT(text, ContainsSubstring("'" + path + part + "' has mode 0444"));
  CHECK_THAT(refusal("sqlite:" + (folder / "link")), ContainsSubstring("'" + path + part + "' has mode 0444"));
  CHECK_THAT(text, !ContainsSubstring("reached"));
}

TEST_CASE("sqlite location: a folder that may not be written to is told", "[unit][sqlite]") {
  scratch_folder folder;
  const auto inner = folder / "inner";
  std::filesystem::create_directory(inner);
  ::chmod((folder / ".").c_str(), 0755);
  ::chmod(inner.c_str(), 0555);
  {
    const as_nobody now;
    CHECK_THAT(refusal("sqlite:" + inner + "/locks.db"), ContainsSubstring("'" + inner + "' has mode 0555"));
  }
  ::chmod(inner.c_str(), 0755);
}
