// SPDX-License-Identifier: BSL-1.0
#include "support/mysql_fixture.hpp"

#include <unistd.h>

#include <cstdlib>

#include "dlock/stores/mysql.hpp"
#include "support/test.hpp"

namespace dlock::test {

std::string mysql_setting(const char* name) {
  std::string variable = name;
  if (const char* const kind = std::getenv("DLOCK_TEST_SERVER"); kind != nullptr && kind == std::string("mysql9")) {
    variable.insert(std::string_view("DLOCK_TEST_MYSQL").size(), "9");
  }
  if (const char* const value = std::getenv(variable.c_str()); value != nullptr && *value != '\0') return value;
  if (std::getenv("CI") != nullptr || std::getenv("DLOCK_TEST_REQUIRE_MYSQL") != nullptr) {
    FAIL(variable << " is not set although a server was promised");
  }
  SKIP(variable << " is not set: there is no server to test with");
  return {};
}

namespace {

MYSQL* connected(const char* host, unsigned port, const char* socket, const std::string& user,
                 const std::string& password, const std::string& database) {
  MYSQL* const handle = mysql_init(nullptr);
  const unsigned timeout = 20;
  mysql_options(handle, MYSQL_OPT_CONNECT_TIMEOUT, &timeout);
  mysql_options(handle, MYSQL_OPT_READ_TIMEOUT, &timeout);
  const unsigned protocol = socket == nullptr ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
  mysql_options(handle, MYSQL_OPT_PROTOCOL, &protocol);
  if (mysql_real_connect(handle, host, user.c_str(), password.c_str(), database.c_str(), port, socket,
                         CLIENT_FOUND_ROWS) == nullptr) {
    const std::string why = mysql_error(handle);
    mysql_close(handle);
    throw std::runtime_error("connecting beside dlock: " + why);
  }
  return handle;
}

std::uint64_t run_on(MYSQL* handle, const std::string& sql) {
  if (mysql_real_query(handle, sql.data(), sql.size()) != 0) {
    throw std::runtime_error(sql + ": " + std::to_string(mysql_errno(handle)) + " " + mysql_error(handle));
  }
  const auto changed = mysql_affected_rows(handle);
  if (MYSQL_RES* const result = mysql_store_result(handle)) mysql_free_result(result);
  return changed;
}

}  // namespace

raw_mysql::raw_mysql(const std::string& url) {
  const auto parts = store_url::parse(url);
  const auto socket = parts.params.find("socket");
  handle_ = socket != parts.params.end()
                ? connected(nullptr, 0, socket->second.c_str(), parts.user, parts.password, parts.path)
                : connected(parts.hosts.at(0).host.c_str(), parts.hosts.at(0).port, nullptr, parts.user, parts.password,
                            parts.path);
}

raw_mysql::raw_mysql(as_root)
    : handle_(connected(nullptr, 0, mysql_setting("DLOCK_TEST_MYSQL_ROOT_SOCKET").c_str(), "root", "",
                        store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")).path)) {}

raw_mysql raw_mysql::root() { return raw_mysql(as_root{}); }

raw_mysql::raw_mysql(raw_mysql&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}

raw_mysql::~raw_mysql() {
  if (handle_ != nullptr) mysql_close(handle_);
}

std::uint64_t raw_mysql::run(const std::string& sql) { return run_on(handle_, sql); }

std::vector<raw_mysql::row> raw_mysql::rows(const std::string& sql) {
  if (mysql_real_query(handle_, sql.data(), sql.size()) != 0)
    throw std::runtime_error(sql + ": " + mysql_error(handle_));
  MYSQL_RES* const result = mysql_store_result(handle_);
  std::vector<row> rows;
  if (result == nullptr) return rows;  // of a statement that has none
  while (MYSQL_ROW from = mysql_fetch_row(result)) {
    const unsigned long* const lengths = mysql_fetch_lengths(result);
    auto& to = rows.emplace_back(mysql_num_fields(result));
    for (std::size_t i = 0; i != to.size(); ++i) {
      if (from[i] != nullptr) to[i] = std::string(from[i], lengths[i]);
    }
  }
  mysql_free_result(result);
  return rows;
}

std::string raw_mysql::one(const std::string& sql) { return rows(sql).at(0).at(0).value_or("NULL"); }

std::future<std::uint64_t> raw_mysql::start(std::string sql) {
  return std::async(std::launch::async, [handle = handle_, sql = std::move(sql)] { return run_on(handle, sql); });
}

std::uint64_t raw_mysql::id() const { return mysql_thread_id(handle_); }

std::uint64_t raw_mysql::insert_id() const { return mysql_insert_id(handle_); }

bool raw_mysql::is_mariadb() const {
  return std::string_view(mysql_get_server_info(handle_)).find("MariaDB") != std::string_view::npos;
}

mysql_fixture::mysql_fixture() : owner_url_(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")) {
  static std::atomic<unsigned> count{0};
  prefix_ = "t" + std::to_string(::getpid()) + "_" + std::to_string(++count) + "_";
}

mysql_fixture::~mysql_fixture() {
  try {
    raw_mysql owner(owner_url_);
    for (const char* const name : {"lock", "session", "floor", "waiter", "done", "schema_version"}) {
      owner.run("DROP TABLE IF EXISTS " + table(name));
    }
  } catch (const std::exception& e) {
    WARN("tables of a test stay behind: " << e.what());
  }
}

std::string mysql_fixture::url(const std::string& more) const {
  return with_parameters(owner_url_, "prefix=" + prefix_ + more);
}

std::string mysql_fixture::url_at(const std::string& hosts, const std::string& more) const {
  auto there = url(more);
  const auto begin = there.find('@') + 1;
  return there.replace(begin, there.find('/', begin) - begin, hosts);
}

std::string mysql_fixture::url_by(const std::vector<std::uint16_t>& ports, const std::string& more) const {
  std::string hosts;
  for (const auto port : ports) hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  return url_at(hosts, more);
}

std::string mysql_fixture::app_url(const std::string& more) const {
  return with_parameters(mysql_setting("DLOCK_TEST_MYSQL_URL"), "prefix=" + prefix_ + more);
}

std::shared_ptr<store> mysql_fixture::open(const std::string& more) const {
  auto store = open_store(url(more));
  store->prepare();
  return store;
}

namespace {

bool waits_in_mysql(raw_mysql& client, std::uint64_t connection_id) {
  return client.one(
             "SELECT COUNT(*) FROM performance_schema.data_lock_waits w JOIN performance_schema.threads t ON "
             "t.thread_id=w.requesting_thread_id WHERE t.processlist_id=" +
             std::to_string(connection_id)) != "0";
}

bool waits_in_mariadb(raw_mysql& client, std::uint64_t connection_id) {
  // Not information_schema.innodb_trx: it shows an old state to whoever asks often.
  const auto status = client.rows("SHOW ENGINE INNODB STATUS").at(0).at(2).value_or("");
  const auto thread = "thread id " + std::to_string(connection_id) + ",";
  for (auto at = status.find("---TRANSACTION"); at != std::string::npos;) {
    const auto next = status.find("---TRANSACTION", at + 1);
    const auto section = status.substr(at, next == std::string::npos ? next : next - at);
    if (section.find(thread) != std::string::npos && section.find("LOCK WAIT") != std::string::npos) return true;
    at = next;
  }
  return false;
}

}  // namespace

void wait_until_blocked(raw_mysql& client, std::uint64_t connection_id) {
  for (int i = 0; i != 2000; ++i) {
    if (client.is_mariadb() ? waits_in_mariadb(client, connection_id) : waits_in_mysql(client, connection_id)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  FAIL("connection " << connection_id << " does not wait for a lock");
}

}  // namespace dlock::test
