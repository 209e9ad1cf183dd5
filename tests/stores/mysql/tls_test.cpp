// SPDX-License-Identifier: BSL-1.0

/// TLS with a server that has a certificate of an authority made for the test.

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "contract/backends/mysql/fixtures.hpp"
#include "dlock/lock_service.hpp"
#include "stores/mysql/broken_connection.hpp"
#include "support/calls.hpp"
#include "support/own_server.hpp"

namespace dlock::test {

namespace {

/// Certificates, in a folder of the build.
class authority {
 public:
  explicit authority(const std::string& name) : folder_(std::string(DLOCK_TEST_SERVER_FOLDER) + "/" + name) {
    std::filesystem::create_directories(folder_);
    run("req -x509 -newkey rsa:2048 -nodes -days 3 -subj /CN={0} -keyout {1}/ca.key -out {1}/ca.pem", name, folder_);
  }
  /// A certificate for whoever is called so: name.pem and name.key.
  void certify(const std::string& name) const {
    run("req -newkey rsa:2048 -nodes -subj /CN={0} -addext subjectAltName=DNS:{0} -keyout {1}/{0}.key -out {1}/{0}.csr",
        name, folder_);
    run("x509 -req -in {1}/{0}.csr -CA {1}/ca.pem -CAkey {1}/ca.key -CAcreateserial -copy_extensions copy -days 2 -out "
        "{1}/{0}.pem",
        name, folder_);
  }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }

 private:
  static void run(const std::string& pattern, const std::string& name, const std::string& folder) {
    const auto command =
        "openssl " + fmt::format(fmt::runtime(pattern), name, folder) + " >" + folder + "/openssl.log 2>&1";
    if (std::system(command.c_str()) != 0) FAIL(command);
  }

  std::string folder_;
};

struct tls_fixture {
  tls_fixture() {
    static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_URL"));  // skips the test where there is no MariaDB
    ours.certify("localhost");
    ours.certify("somebody");
    server.emplace("tls", fmt::format("--ssl --ssl-ca={} --ssl-cert={} --ssl-key={}", ours.file("ca.pem"),
                                      ours.file("localhost.pem"), ours.file("localhost.key")));
    require("SSL");
    open_store(server->url())->prepare();
  }
  /// Nobody comes in without.
  void require(const std::string& requirement) const {
    raw_mysql root(server->root_url());
    for (const char* const host : {"127.0.0.1", "localhost"}) {
      // Over the socket, which the fixture uses, there is no TLS.
      if (requirement == "SSL" && std::string(host) == "localhost") continue;
      root.run(fmt::format("ALTER USER 'dlock_owner'@'{}' REQUIRE {}", host, requirement));
    }
  }
  std::string url(const std::string& parameters, const std::string& host = "localhost") const {
    return fmt::format("mysql://dlock_owner:owner-pw@{}:{}/locks?{}", host, server->port(), parameters);
  }
  bool may_prove_itself() const {
#ifdef MARIADB_PACKAGE_VERSION
    if (mysql_get_client_version() < 30'400) return false;
    return raw_mysql(server->root_url()).one("SELECT 0 /*M!110400 + 1 */") == "1";  // read from that version on
#else
    return false;
#endif
  }
  bool connects(const std::string& to) {
    why = {};
    store = open_store(to);
    connection = store->connect(5s, why);
    INFO(why.text);
    return connection != nullptr;
  }

  authority ours{"ours"};
  std::optional<own_server> server{};
  fault why{};
  std::shared_ptr<dlock::store> store{};
  std::unique_ptr<dlock::connection> connection{};
};

}  // namespace

TEST_CASE_METHOD(tls_fixture, "mysql tls: each mode gets what it asks for, or nothing") {
  const auto ca = "&tls_ca=" + ours.file("ca.pem");
  CHECK_FALSE(connects(url("tls=off")));
  CHECK(why.native == 1045);
  CHECK(connects(url("tls=prefer")));
  CHECK(connects(url("tls=require")));
  CHECK(connects(url("tls=require" + ca)));
  CHECK(connects(url("tls=verify" + ca)));

  // Somebody else's authority, or none, or another name than the certificate's.
  const authority theirs("theirs");
  const auto must_refuse = [&](const std::string& to) {
    CAPTURE(to);
    CHECK_FALSE(connects(to));
    CHECK(why.connection);
    CHECK_FALSE(why.transient);
    CHECK_THAT(why.text, ContainsSubstring("TLS") || ContainsSubstring("SSL") || ContainsSubstring("certificate"));
  };
  must_refuse(url("tls=verify&tls_ca=" + theirs.file("ca.pem")));
  // MariaDB's client 3.4 trusts a server of 11.4 and later also if that proves that it knows the password's hash.
  if (may_prove_itself()) {
    CHECK(connects(url("tls=verify")));
  } else {
    must_refuse(url("tls=verify"));
  }
  // Not 127.0.0.1, for which newer clients compare no names.
  must_refuse(url("tls=verify" + ca, "127.1"));
  CHECK(connects(url("tls=require", "127.1")));

  // A certificate of our own.
  require("X509");
  CHECK_FALSE(connects(url("tls=verify" + ca)));
  CHECK(connects(url(
      fmt::format("tls=verify{}&tls_cert={}&tls_key={}", ca, ours.file("somebody.pem"), ours.file("somebody.key")))));
  require("NONE");
}

TEST_CASE_METHOD(tls_fixture, "mysql tls: locks work, and an idle connection stays as it is") {
  REQUIRE(connects(url("tls=verify&tls_ca=" + ours.file("ca.pem"))));
  CHECK(connection->alive());  // what TLS sends by itself is no farewell
  lock_service locks(url("tls=verify&tls_ca=" + ours.file("ca.pem")));
  raw_mysql root(server->root_url());
  const auto connections = [&] {
    return root.one("SHOW GLOBAL STATUS LIKE 'Connections'") +
           root.rows("SHOW GLOBAL STATUS LIKE 'Connections'").at(0).at(1).value();
  };
  locks.acquire("k", {.ttl = 5s}).release();
  auto held = locks.acquire("k", {.ttl = 5s});
  std::string before;
  for (int i = 0; i < 70; ++i) {
    // The connection of the renewals is made beside the first locks.
    if (i == 20) before = connections();
    locks.acquire("other").release();
    std::this_thread::sleep_for(100ms);
  }
  CHECK(connections() == before);
  CHECK(connection->alive());
  held.release();
  root.run(fmt::format("KILL {}", connection->identity().id));
  CHECK(eventually([&] { return !connection->alive(); }));
}

TEST_CASE_METHOD(tls_fixture,
                 "mysql tls: a connection that broke raises no SIGPIPE in a program that does not ignore it") {
  CHECK(use_broken_connections(url("tls=require")) == 0);
}

}  // namespace dlock::test
