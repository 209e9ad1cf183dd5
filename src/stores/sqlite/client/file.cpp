// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/file.hpp"

#include <sys/stat.h>

#include <memory>
#include <utility>

namespace dlock::stores::sqlite {

namespace {

std::unique_ptr<sqlite_link_factory> make_links(statement_rewrite rewrite, sqlite_link_factory*& seen) {
  auto links = std::make_unique<sqlite_link_factory>(std::move(rewrite));
  seen = links.get();
  return links;
}

}  // namespace

file_id file_id::of(const char* path) noexcept {
  struct ::stat found {};
  if (path == nullptr || ::stat(path, &found) != 0) return {};
  return {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino)};
}

sqlite_file::sqlite_file(sqlite_settings from, std::shared_ptr<const sqlite_host> machine, statement_rewrite rewrite)
    : settings(std::move(from)),
      host(std::move(machine)),
      boot(host->boot_id()),
      database_(settings.path, SQLITE_OPEN_READWRITE, false, "", make_links(std::move(rewrite), links_)) {}

}  // namespace dlock::stores::sqlite
