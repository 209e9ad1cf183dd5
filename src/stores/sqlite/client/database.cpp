// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/database.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <random>
#include <stdexcept>
#include <thread>

#include "dlock/store_interface/store_types.hpp"
#include "engine/books/transaction_watch.hpp"

namespace dlock::stores::sqlite {

namespace {

[[noreturn]] void bad(const std::string& problem) { throw std::invalid_argument("dlock: sqlite URL: " + problem); }

bool parse_any_file_system(const std::string& text) {
  if (text != "local" && text != "any") bad(fmt::format("filesystem={} is not local or any", text));
  return text == "any";
}

void check_path(const store_url& url) {
  if (!url.hosts.empty() || !url.user.empty() || !url.password.empty()) {
    // None of it is repeated: it may have been meant as a password.
    bad("what stands between '//' and the next '/' is a user and a host, and a file has no user and no host: write "
        "sqlite:path for a path relative to the working directory, sqlite:/path or sqlite:///path for an absolute one");
  }
  if (url.path.empty()) bad("the path is empty");
  if (url.path.ends_with('/')) bad(fmt::format("the path '{}' is a folder, the file has no name", url.path));
  if (url.path.find('\0') != std::string::npos) bad("the path contains a zero byte");
  if (url.path == ":memory:" || url.path.starts_with("file:")) {
    bad(fmt::format("'{}' is no file that processes can share: for locks within one process use memory:", url.path));
  }
}

}  // namespace

sqlite_settings sqlite_settings::take(store_url& url) {
  sqlite_settings settings;
  settings.name = url.redacted();
  check_path(url);
  // Absolute from now on: the process may change its working directory.
  const auto slashes = url.path.find_first_not_of('/');  // one is enough
  settings.path = std::filesystem::absolute(url.path.substr(slashes > 1 ? slashes - 1 : 0)).string();
  settings.busy_timeout = std::chrono::milliseconds{url.take_number("busy_timeout", 5'000, 1, 3'600'000, "ms")};
  settings.any_file_system = parse_any_file_system(url.take_param("filesystem", "local"));
  return settings;
}

namespace {

/// How long one wait of a connection has lasted. A connection is used by one thread at a time, and waits for one thing.
thread_local std::chrono::steady_clock::time_point began_to_wait{};

/// What SQLite calls while others write to the file: whether to try again. SQLite's own handler pauses longer and
/// longer, up to 100 ms, so a process that has waited long comes to a free file last: of four processes that write all
/// the time, one did nearly all. Short pauses of chance length give each its share. A process that has waited for a
/// second waits for one long transaction, and need not be quick.
int wait_while_busy(void* timeout, int tries) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) began_to_wait = now;
  const auto waited = now - began_to_wait;
  if (waited >= *static_cast<const microseconds*>(timeout)) return 0;
  thread_local std::minstd_rand chance{static_cast<unsigned>(now.time_since_epoch().count())};
  const microseconds least = waited < 1s ? 100us : 500us;
  std::uniform_int_distribution<microseconds::rep> pause(least.count(), least.count() * 3);
  std::this_thread::sleep_for(microseconds{pause(chance)});
  return 1;
}

/// Its connections wait while others write to the file.
class patient_connections final : public odb::sqlite::connection_pool_factory {
 public:
  explicit patient_connections(microseconds timeout) : timeout_(timeout) {}

 protected:
  pooled_connection_ptr create() override {
    auto connection = odb::sqlite::connection_pool_factory::create();
    ::sqlite3_busy_handler(connection->handle(), &wait_while_busy, &timeout_);
    return connection;
  }

 private:
  microseconds timeout_;  // outlives the connections, which are the pool's
};

odb::transaction_impl* begin_immediate(odb::database& db) {
  return static_cast<odb::sqlite::database&>(db).begin_immediate();
}

[[maybe_unused]] const bool begins_known = (dlock::engine::set_write_begin(odb::id_sqlite, &begin_immediate), true);

}  // namespace

std::unique_ptr<odb::database> open_application_database(const sqlite_settings& settings) {
  // A cache that all connections shared would make writers wait for readers of this process.
  constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE;
  const auto timeout = std::max<microseconds>(settings.busy_timeout, std::chrono::seconds{20});
  return std::make_unique<odb::sqlite::database>(settings.path, flags, true, "",
                                                 std::make_unique<patient_connections>(timeout));
}

}  // namespace dlock::stores::sqlite
