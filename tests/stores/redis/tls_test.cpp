// SPDX-License-Identifier: BSL-1.0

/// Servers that speak TLS, with certificates that are made for the test.

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <cstdlib>

#include "dlock/lock_service.hpp"
#include "dlock/stores/redlock.hpp"
#include "stores/redis/redis_fixtures.hpp"

namespace dlock::test {

namespace {

/// An authority, a certificate of it for a host, and one of a client's.
class certificates {
 public:
  explicit certificates(const std::string& host = "IP:127.0.0.1") {
    run("openssl req -x509 {} -keyout ca.key -out ca.pem -subj /CN=authority -days 2");
    for (const char* who : {"server", "client"}) {
      run(fmt::format(
          "openssl req {{}} -keyout {0}.key -out {0}.csr -subj /CN={0} && echo subjectAltName={1} >{0}.ext && "
          "openssl x509 -req -in {0}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile {0}.ext "
          "-out {0}.pem",
          who, host));
    }
  }

  std::string file(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> options(const std::string& clients = "no") const {
    return {"--tls-cert-file",    file("server.pem"), "--tls-key-file",     file("server.key"),
            "--tls-ca-cert-file", file("ca.pem"),     "--tls-auth-clients", clients};
  }

 private:
  void run(const std::string& command) const {
    const auto made = fmt::format(fmt::runtime(command), "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes");
    REQUIRE(std::system(fmt::format("cd {} && ({}) >>log 2>&1", folder_ / "", made).c_str()) == 0);
  }

  scratch_folder folder_{};
};

struct tls_fixture {
  static std::string url(const redis_server& server, const std::string& parameters, const std::string& user = {}) {
    return fmt::format("rediss://{}127.0.0.1:{}/0?{}", user, server.port(), parameters);
  }
  std::string ca() const { return "tls_ca=" + files.file("ca.pem"); }
  static std::string refusal(const std::string& url) {
    return message_of([&] { open_store(url)->prepare(); });
  }

  certificates files{};
  redis_server server{files.options()};
};

}  // namespace

TEST_CASE_METHOD(tls_fixture, "redis tls: locks are taken, renewed, waited for and released over it") {
  lock_service a{url(server, ca()), {.close_limit = 0ms}}, b{url(server, ca()), {.close_limit = 0ms}};
  auto held = a.acquire("k", {.ttl = 5s});
  std::thread waiter([&] { CHECK(granted(b.acquire("k", {.wait = 20s}))); });
  CHECK(renewed(held));
  held.release();
  waiter.join();
  lock_service setnx{url(server, "scheme=setnx&" + ca())};
  CHECK(granted(setnx.try_acquire("k")));
}

TEST_CASE_METHOD(
    tls_fixture,
    "redis tls: a server with a certificate of an unknown authority is refused, unless it may be anybody") {
  const certificates others;
  CHECK(refusal(url(server, "")).find("tls: self-signed certificate") != std::string::npos);
  CHECK(refusal(url(server, "tls_ca=" + others.file("ca.pem"))).find("127.0.0.1") != std::string::npos);
  CHECK(refusal(url(server, "tls=require")).empty());
  CHECK(refusal(url(server, "tls_ca=/no/such/file")).find("tls: tls_ca=/no/such/file: ") != std::string::npos);
}

TEST_CASE("redis tls: the certificate must be that host's") {
  const certificates files("DNS:localhost");
  const redis_server server{files.options()};
  const auto at = [&](const char* host) {
    return fmt::format("rediss://{}:{}/0?tls_ca={}", host, server.port(), files.file("ca.pem"));
  };
  CHECK(tls_fixture::refusal(at("127.0.0.1")).find("tls: IP address mismatch") != std::string::npos);
  CHECK(tls_fixture::refusal(at("localhost")).empty());
}

TEST_CASE_METHOD(tls_fixture, "redis tls: a server may ask for our certificate") {
  const redis_server strict{files.options("yes")};
  CHECK_FALSE(refusal(url(strict, ca())).empty());
  const auto ours = fmt::format("{}&tls_cert={}&tls_key={}", ca(), files.file("client.pem"), files.file("client.key"));
  CHECK(refusal(url(strict, ours)).empty());
}

TEST_CASE_METHOD(tls_fixture, "redis tls: who expects it where it is not, or not where it is, is told so") {
  const redis_server plain;
  CHECK(refusal(url(plain, ca() + "&connect_timeout=500")).find("tls: ") != std::string::npos);
  CHECK_FALSE(refusal(server.tcp_url("&connect_timeout=500")).empty());
  server.stop();
  const auto took = duration_of([&] {
    CHECK(refusal(url(server, ca() + "&connect_timeout=300")).find("no answer in time") != std::string::npos);
  });
  CHECK(took < 5s);
  server.go_on();
}

TEST_CASE_METHOD(tls_fixture, "redis tls: a user of the server's logs in over it, and a dead server kills nobody") {
  server.ask({"ACL", "SETUSER", "locker", "on", ">sesame", "~dlock:*", "+@all"});
  CHECK(refusal(url(server, ca(), "locker:wrong@")).find("WRONGPASS") != std::string::npos);
  lock_service locks{url(server, ca(), "locker:sesame@"), {.close_limit = 0ms}};
  CHECK(granted(locks.try_acquire("k")));
  server.kill();
  CHECK(thrown([&] { return locks.try_acquire("k"); }));
}

TEST_CASE_METHOD(tls_fixture, "redis tls: redlock's masters speak it too") {
  redis_server second{files.options()}, third{files.options()};
  lock_service locks{fmt::format("redlock://127.0.0.1:{},127.0.0.1:{},127.0.0.1:{}/0?tls=verify&master_timeout=5000&{}",
                                 server.port(), second.port(), third.port(), ca()),
                     {.release_limit = 20s, .close_limit = 0ms}};
  auto held = locks.acquire("k");
  for (const auto* each : {&server, &second, &third}) CHECK(each->ask({"EXISTS", "k"}) == "1");
  third.kill();
  held.release();
  CHECK(server.ask({"EXISTS", "k"}) == "0");
  third.start();
  CHECK(eventually([&] {
    const auto again = locks.acquire("k");
    return third.ask({"EXISTS", "k"}) == "1";
  }));
}

TEST_CASE("redis tls: parameters that contradict each other are refused") {
  check_url_refused("redis://a?tls=prefer", "tls=prefer is not off, require or verify");
  check_url_refused("rediss://a?tls=off", "tls=off does not go with rediss:");
  check_url_refused("redis://a?tls_ca=f", "does not go with tls_ca");
  check_url_refused("rediss://a?tls_cert=f", "tls_cert and tls_key need each other");
  check_url_refused("redis:///0?socket=/x&tls=verify", "tls= and socket= exclude each other");
  check_url_refused("rediss:a", "rediss: must be followed by two slashes");
}

TEST_CASE_METHOD(tls_fixture, "redis tls: a signal that comes while an answer is waited for breaks no connection") {
  struct sigaction handler {
  }, before{};
  handler.sa_handler = [](int) {};  // without SA_RESTART, as profilers set theirs
  REQUIRE(::sigaction(SIGUSR1, &handler, &before) == 0);
  url_fixture fixture(url(server, ca() + "&statement_timeout=60000"));
  actor a(fixture);
  server.stop();
  std::thread signals([&, to = ::pthread_self()] {
    for (int i = 0; i < 20; ++i) {
      ::pthread_kill(to, SIGUSR1);
      std::this_thread::sleep_for(10ms);
    }
    server.go_on();
  });
  const auto response = a.insert("k");
  signals.join();
  CHECK(answer(response) == outcome::yes);
  CHECK(a.connection->usable());
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE_METHOD(tls_fixture,
                 "redis tls: what lasts is not called transient, and the text says what the server may want") {
  const certificates others;
  const redis_server plain, strict{files.options("yes")};
  const auto why_of = [](const std::string& url) {
    fault why;
    CHECK(open_store(url)->connect(20s, why) == nullptr);
    return why;
  };
  const auto unknown = why_of(url(server, "tls_ca=" + others.file("ca.pem")));
  CHECK_FALSE(unknown.transient);
  CHECK_FALSE(why_of(url(server, "tls_ca=/no/such/file")).transient);
  const redis_server second{files.options("no")};
  const auto of_three = [&](unsigned other) {
    return fmt::format("redlock://127.0.0.1:{},127.0.0.1:{},127.0.0.1:1/0?tls=verify&tls_ca={}", server.port(), other,
                       others.file("ca.pem"));
  };
  CHECK_FALSE(why_of(of_three(second.port())).transient);
  CHECK(why_of(of_three(2)).transient);  // a majority may still come up
  const auto missing = why_of(url(strict, ca()));
  CHECK_THAT(missing.text, ContainsSubstring("certificate") && !ContainsSubstring("no answer in time"));
  const auto without = why_of(server.tcp_url());
  CHECK_THAT(without.text, ContainsSubstring("TLS") && !ContainsSubstring("no answer in time"));
}

}  // namespace dlock::test
