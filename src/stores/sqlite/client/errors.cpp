// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/errors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "dlock/error.hpp"
#include "dlock/store_interface/unfit_tables.hpp"

namespace dlock::stores::sqlite {

namespace {

struct rule {
  int code;
  bool transient;
  bool connection;
  bool contended;
  const char* advice;
};

// Extended codes come before their plain codes, because the first match counts.
constexpr rule rules[] = {
    {SQLITE_BUSY_SNAPSHOT, true, false, true, busy_snapshot_advice},
    {SQLITE_BUSY, true, false, true, "other connections kept writing to it"},
    {SQLITE_LOCKED, true, false, true, ""},
    {SQLITE_PROTOCOL, true, false, true, "too many connections opened it at one time"},
    {SQLITE_INTERRUPT, true, true, false, ""},
    {SQLITE_READONLY_DBMOVED, false, true, false, "the file was moved or deleted"},
    {SQLITE_READONLY, false, true, false, "the file, its -wal, its -shm and its folder must be writable"},
    {SQLITE_FULL, true, false, false, "no space left"},
    {SQLITE_IOERR, true, true, false, ""},
    {SQLITE_NOMEM, true, false, false, ""},
    {SQLITE_SCHEMA, true, false, false, ""},
    {SQLITE_CANTOPEN, false, true, false, "does the folder exist, and may this user write to it?"},
    {SQLITE_PERM, false, true, false, ""},
    {SQLITE_CORRUPT, false, true, false, "the file is damaged"},
    {SQLITE_NOTADB, false, true, false, "it is a file of another kind, or an encrypted one"},
};

bool asks_for_rights(int code) noexcept {
  const int plain = code & 0xff;
  return code != SQLITE_READONLY_DBMOVED &&
         (plain == SQLITE_READONLY || plain == SQLITE_CANTOPEN || plain == SQLITE_PERM);
}

/// Also empty if there is no such file, or it can't be checked.
std::string why_not(const std::string& path) {
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return {};
  if (errno == EROFS) return fmt::format("'{}' is on a file system that is mounted read-only", path);
  struct ::stat found {};
  if (errno != EACCES || ::stat(path.c_str(), &found) != 0) return {};
  return fmt::format("'{}' has mode {:04o}, user {} and group {}, and this process is user {} and group {}", path,
                     found.st_mode & 07777U, found.st_uid, found.st_gid, ::geteuid(), ::getegid());
}

}  // namespace

std::string behind_links(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path found = std::filesystem::canonical(path, failed);
  return failed ? path : found.string();
}

std::string not_writable(const std::string& path) {
  const std::string file = behind_links(path);
  for (const char* part : {"", "-wal", "-shm"}) {
    if (std::string missing = why_not(file + part); !missing.empty()) return missing;
  }
  return {};
}

std::string folder_not_writable(const std::string& path) {
  const auto folder = std::filesystem::path(behind_links(path)).parent_path();
  return why_not(folder.empty() ? "." : folder.string());
}

fault sqlite_fault(int code, const std::string& path, std::string detail) {
  if (detail.empty()) detail = ::sqlite3_errstr(code);
  fault why{.native = code};
  const auto found = std::find_if(std::begin(rules), std::end(rules),
                                  [code](const rule& r) { return r.code == code || r.code == (code & 0xff); });
  const char* advice = "";
  if (found != std::end(rules)) {
    why.transient = found->transient;
    why.connection = found->connection;
    why.contended = found->contended;
    advice = found->advice;
  }
  why.text = fmt::format("SQLite file '{}': {} (code {}){}{}", path, detail, code, *advice ? ": " : "", advice);
  if (asks_for_rights(code)) {
    std::string missing = not_writable(path);
    if (missing.empty()) missing = folder_not_writable(path);
    if (!missing.empty()) why.text += "; " + missing;
  }
  return why;
}

bool may_open_later(int code) noexcept {
  switch (code & 0xff) {
    case SQLITE_READONLY: return code == SQLITE_READONLY_DBMOVED;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_PERM:
    case SQLITE_AUTH: return false;
    default: return true;
  }
}

bool may_be_committed(int code) noexcept { return (code & 0xff) == SQLITE_IOERR; }

void refuse(const fault& why) {
  throw store_error(why.connection ? errc::store_unreachable : errc::store_failed, "dlock: " + why.text, why.native, "",
                    why.transient);
}

void refuse(std::string text) { refuse(fault{.text = std::move(text)}); }

void refuse_unfit(const std::string& text) { throw unfit_tables(errc::store_failed, "dlock: " + text, 0, "", false); }

reply out_of_memory() noexcept {
  // Unknown, because memory may have run out at any point.
  reply answer{.result = outcome::unknown};
  answer.why.native = SQLITE_NOMEM;
  answer.why.transient = true;
  return answer;
}

}  // namespace dlock::stores::sqlite
