// SPDX-License-Identifier: BSL-1.0
// The file by which processes on SQLite wake each other. Whoever may write the database may write it.

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "fuzz/fuzz.hpp"
#include "stores/sqlite/client/wake_file.hpp"

namespace {

/// A database and its wake file in a folder of this process, which goes with it.
struct folder {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("dlock-fuzz-" + std::to_string(::getpid()));
  folder() {
    std::filesystem::create_directories(path);
    std::ofstream(database()) << "database";
  }
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  std::string database() const { return (path / "db").string(); }
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using dlock::stores::sqlite::wake_file;
  static const folder place;
  static wake_file files(place.database());
  static const auto opened = [] {
    std::string why;
    auto file = files.open(true, why);
    fuzz::require(file != nullptr, why.c_str());
    file->claim_slot();
    return file;
  }();
  {
    // Over what is there, because a file that is cut short or replaced would be another one.
    std::fstream file(place.database() + "-wake", std::ios::in | std::ios::out | std::ios::binary);
    file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  const wake_file::hash key = 0x0123456789abcdefU;
  static_cast<void>(opened->ring(key));
  opened->pass_over(key, opened->first_other(key, true, false));
  static_cast<void>(opened->ahead(key));
  static_cast<void>(opened->waiters());
  static_cast<void>(opened->nested_waiters());
  const int entry = opened->enter(key, dlock::id128{});
  if (entry >= 0) {
    static_cast<void>(opened->was_rung(entry));
    static_cast<void>(opened->stands(entry, key));
    static_cast<void>(opened->leave(entry));
  }
  opened->ring_all();
  return 0;
}
