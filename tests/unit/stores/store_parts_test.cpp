// SPDX-License-Identifier: BSL-1.0

#include <new>

#include "dlock/lock_service.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/memory.hpp"
#include "stores/key_listeners.hpp"
#include "stores/reply_or_in_doubt.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

using namespace dlock::test;
using namespace dlock;
using stores::virtual_clock;
using worker = environment::worker;

namespace {

class plain_connection final : public connection {
 public:
  void interrupt() noexcept override { usable_ = false; }
  bool usable() const noexcept override { return usable_; }
  const connection_identity& identity() const noexcept override { return identity_; }

 private:
  bool usable_ = true;
  connection_identity identity_{};
};

}  // namespace

TEST_CASE("reply_or_in_doubt: without memory a verb is in doubt, and nobody goes on with its connection") {
  plain_connection on;
  std::array<reply, 2> replies{};
  stores::reply_or_in_doubt(on, replies, [&] {
    replies[0].result = outcome::yes;
    throw std::bad_alloc();
  });
  for (const auto& each : replies) {
    CHECK(each.result == outcome::unknown);
    CHECK(each.why.transient);
    CHECK(each.why.connection);
  }
  CHECK_FALSE(on.usable());
}

TEST_CASE("reply_or_in_doubt: what a verb answers stays, and so does its connection") {
  plain_connection on;
  CHECK(stores::reply_or_in_doubt(on, [] { return reply{.result = outcome::no}; }).result == outcome::no);
  CHECK(on.usable());
}

namespace {

std::string complaint(const std::string& url) {
  return refusal([&] { return store_url::parse(url); });
}

}  // namespace

TEST_CASE("store_url: all its parts") {
  const auto u = store_url::parse("mysql://me:pw@db1:3307,db2/locks?schema=verify&prefix=x_");
  CHECK(u.scheme == "mysql");
  CHECK(u.user == "me");
  CHECK(u.password == "pw");
  REQUIRE(u.hosts.size() == 2);
  CHECK(u.hosts[0].host == "db1");
  CHECK(u.hosts[0].port == 3307);
  CHECK(u.hosts[1].host == "db2");
  CHECK(u.hosts[1].port == 0);
  CHECK(u.path == "locks");
  CHECK(u.params == std::map<std::string, std::string>{{"schema", "verify"}, {"prefix", "x_"}});
}

TEST_CASE("store_url: without hosts the path is as written") {
  CHECK(store_url::parse("sqlite:a/b.db").path == "a/b.db");
  CHECK(store_url::parse("sqlite:/a/b.db?schema=none").path == "/a/b.db");
  CHECK(store_url::parse("memory:").path.empty());
  CHECK(store_url::parse("sqlite:a%20b").path == "a b");
}

TEST_CASE("store_url: a file's path keeps its slash, and may hold an '@'") {
  CHECK(store_url::parse("sqlite:///var/a.db").path == "/var/a.db");
  CHECK(store_url::parse("sqlite:///var/a.db").redacted() == "sqlite:/var/a.db");
  CHECK(store_url::parse("sqlite:///a%20b?schema=none").path == "/a b");
  CHECK(store_url::parse("sqlite:///var/app@1/a.db").path == "/var/app@1/a.db");
  CHECK(store_url::parse("mysql://u@/d").path == "d");
  CHECK(store_url::parse("mysql:///d").path == "d");
  CHECK(store_url::parse("mysql://h/d").path == "d");
  CHECK(store_url::parse("sqlite://").path.empty());
}

TEST_CASE("store_url: an IPv6 host and its port") {
  const auto u = store_url::parse("mysql://[::1]:3306,[fe80::2]/d");
  REQUIRE(u.hosts.size() == 2);
  CHECK(u.hosts[0].host == "::1");
  CHECK(u.hosts[0].port == 3306);
  CHECK(u.hosts[1].host == "fe80::2");
}

TEST_CASE("store_url: a password may hold what separates elsewhere") {
  CHECK(store_url::parse("mysql://u:p%40%3A%2F%3F@h/d").password == "p@:/?");
  CHECK(store_url::parse("mysql://u:p@q@h/d").password == "p@q");
  CHECK(store_url::parse("mysql://u:p/q@h/d").password == "p/q");
  CHECK(store_url::parse("mysql://u:p/q@h/d").path == "d");
}

TEST_CASE("store_url: what is wrong is said") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "no scheme"},
      {"locks.db", "no scheme"},
      {":x", "no scheme"},
      {"./locks.db", "sqlite:./locks.db"},
      {"locks.db", "sqlite:locks.db"},
      {"1x:y", "no scheme"},
      {"mysql:h/d", "two slashes"},
      {"mysql://h:0/d", "a port is not 1 to 65535"},
      {"mysql://h:65536/d", "a port is not 1 to 65535"},
      {"mysql://h:33x/d", "a port is not 1 to 65535"},
      {"mysql://u/p@h/d", "%2F"},
      {"mysql://u@v@h/d", "%40"},
      {"mysql://u:p?x@h/d", "%3F"},
      {"mysql://u:p@h?tls=off", "%3F"},
      {"mysql://u@h/d?tls_ca=a@b", "%40"},
      {"mysql://u:p@h#/d", "host"},
      {"mysql://u:p@h=1,h2/d", "host"},
      {"mysql://[::1/d", "without ']'"},
      {"mysql://[::1]x/d", "may follow ']'"},
      {"mysql://h/d?x", "no '='"},
      {"mysql://h/d?=x", "no name"},
      {"mysql://u@h/d?a=1&a=2", "'a' is given twice"},
      {"mysql://h/d%zz", "%-escape"},
      {"mysql://h/d%4", "%-escape"},
  };
  for (const auto& [url, text] : table) {
    INFO(url);
    CHECK(complaint(url).find(text) != std::string::npos);
  }
}

TEST_CASE("store_url: no text shows the password") {
  const auto shown = store_url::parse("mysql://me:geheim@h:3306/d?tls_key_password=geheim&prefix=p").redacted();
  CHECK(shown == "mysql://me:***@h:3306/d?prefix=p&tls_key_password=***");
  CHECK(store_url::parse("sqlite:a.db?schema=none").redacted() == "sqlite:a.db?schema=none");
  for (const auto* bad : {"mysql://u:geheim@h:xx/d", "mysql://u:geheim%zz@h/d", "nowhere://u:geheim@h/d"}) {
    const auto text = refusal([&] { return open_store(bad); });
    CHECK_FALSE(text.empty());
    CHECK(text.find("geheim") == std::string::npos);
  }
}

TEST_CASE("store_url: shown again, its parts are where they were") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"mysql://u:p@h/d", "mysql://u:***@h/d"},
      {"mysql://:p@h/d", "mysql://:***@h/d"},
      {"mysql://u@h/d", "mysql://u@h/d"},
      {"mysql://h/d", "mysql://h/d"},
      {"mysql://u:p@[::1]:3307,[fe80::2],h:1/d", "mysql://u:***@[::1]:3307,[fe80::2],h:1/d"},
      {"mariadb://u:p@h/d?prefix=x_", "mysql://u:***@h/d?prefix=x_"},
      {"mysql://u:p@/d?socket=/s", "mysql://u:***@/d?socket=/s"},
      {"sqlite:/a@b/c.db", "sqlite:/a@b/c.db"},
  };
  for (const auto& [url, text] : table) CHECK(store_url::parse(url).redacted() == text);
}

namespace {

/// Everything that can be read about a URL: what is wrong with it, or what it looks like.
std::string text_of(const std::string& url) {
  std::string text;
  try {
    const auto parsed = store_url::parse(url);
    text = parsed.redacted();
    parsed.expect_no_more_params();
    static_cast<void>(open_store(url));
  } catch (const std::invalid_argument& e) {
    text += e.what();
  }
  return text;
}

}  // namespace

// Whatever of it stands in the place of something else: the mark is in each piece that a separator could cut off.
TEST_CASE("store_url: no text shows any piece of a password, whatever is in it or forgotten behind it") {
  const std::string mark = "gEhEim";
  const std::vector<std::string> between{"",  ":", "/", "?",  "@",  "#",  "&",   "=",   "%",   "[",  "]", ",", "//",
                                         "+", " ", ".", "?=", "?a", "=@", "%zz", "%40", "://", "\n", "1", ";"};
  const std::vector<std::string> forms{"mysql://app:{}@db/locks",
                                       "mysql://app:{}@db:3306/locks?tls=off",
                                       "mysql://:{}@db/locks",
                                       "mysql://app:{}@/locks?x=1",
                                       "mysql://app:{}@[::1]/locks",
                                       "mysql://app:{}@db1,db2/locks",
                                       "mysql://app:{}",
                                       "mysql://app:{}/locks",
                                       "mysql://app:{}/locks?schema=none",
                                       "mysql://app:{}@",
                                       "mysql://app:{}@db",
                                       "mysql://app:{}@db?schema=none",
                                       "mysql:app:{}@db/locks",
                                       "mysql:/app:{}@db/locks",
                                       "app:{}@db/locks",
                                       "//app:{}@db/locks",
                                       "mysql//app:{}@db/locks",
                                       "app:{}",
                                       "other://app:{}@db/locks",
                                       "mysql://app:{}@db/locks?a=1&a=2",
                                       "mariadb://app:{}@db:port/locks"};
  std::size_t tried = 0;
  for (const auto& form : forms) {
    for (const auto& first : between) {
      for (const auto& second : between) {
        const auto secret = mark + first + mark + second + mark;
        // With an '@' in it and the host forgotten, its end can't be told from a host.
        const bool has_host = form.find("{}@") != std::string::npos && !form.ends_with("{}@");
        if (!has_host && secret.find('@') != std::string::npos) continue;
        auto url = form;
        url.replace(url.find("{}"), 2, secret);
        const auto text = text_of(url);
        ++tried;
        if (text.find(mark) != std::string::npos) FAIL_CHECK(url << " is shown as " << text);
      }
    }
  }
  CHECK(tried > 10'000);
}

TEST_CASE("store_url: a parameter that nobody takes is an error") {
  auto u = store_url::parse("memory:x?schema=none&typo=1");
  CHECK(u.take_param("schema") == "none");
  CHECK(u.take_param("absent", "fallback") == "fallback");
  CHECK_THROWS_AS(u.expect_no_more_params(), std::invalid_argument);
  CHECK(u.take_param("typo") == "1");
  CHECK_NOTHROW(u.expect_no_more_params());
  CHECK_THROWS_AS(open_store("memory:x?typo=1"), std::invalid_argument);
}

TEST_CASE("open_store: memory stores are one by name, without one each is new") {
  CHECK(open_store("memory:unit") == open_store("memory:unit"));
  const auto store = open_store("memory:unit");
  CHECK(store == open_store("memory:unit"));
  CHECK(store != open_store("memory:other"));
  CHECK(open_store("memory:") != open_store("memory:"));
  // A name that is read as a host would give each caller a store of its own.
  for (const char* url : {"memory://unit", "memory://unit/x", "memory://u@/x"}) {
    CHECK_THROWS_AS(open_store(url), std::invalid_argument);
  }
}

TEST_CASE("open_store: an unknown scheme names the stores that are there") {
  const auto text = refusal([] { return open_store("postgres://h/d"); });
  CHECK(text.find("postgres") != std::string::npos);
  CHECK(text.find("stores for: memory") != std::string::npos);
}

TEST_CASE("register_store: a scheme can be added once") {
  const auto store = std::make_shared<dlock::stores::memory_store>();
  std::string path;
  const auto maker = [&](store_url u) {
    path = u.path;
    return store;
  };
  REQUIRE(dlock::register_store("unit-test", maker));
  CHECK_FALSE(dlock::register_store("unit-test", maker));
  CHECK_FALSE(dlock::register_store("memory", maker));
  CHECK(open_store("unit-test:here") == store);
  CHECK(path == "here");
}

namespace {

/// A thread that waits on a clock until a time, or until it is told to end; counts how often it came out of its
/// waiting.
class sleeper {
 public:
  sleeper(virtual_clock& clock, instant until, bool works = false) : clock_(clock) {
    if (works) clock_.on_thread_event(worker::hired);
    thread_ = std::thread([this, until, works] {
      if (works) clock_.on_thread_event(worker::begins);
      {
        std::unique_lock lock(mutex_);
        while (!end_ && clock_.now() < until) {
          clock_.wait_until(wake_, lock, until);
          ++woken_;
        }
      }
      over_ = true;
      if (works) clock_.on_thread_event(worker::ends);
    });
  }
  ~sleeper() {
    end();
    thread_.join();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    end_ = true;
    clock_.notify(wake_);
  }
  /// Calls it. It can't run before the result goes.
  [[nodiscard]] std::unique_lock<std::mutex> call() {
    std::unique_lock lock(mutex_);
    clock_.notify(wake_);
    return lock;
  }
  bool over() const { return over_; }
  int woken() const { return woken_; }

 private:
  virtual_clock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool end_ = false;
  std::atomic<bool> over_{false};
  std::atomic<int> woken_{0};
  std::thread thread_;
};

}  // namespace

TEST_CASE("virtual clock: moves only when told, and never back") {
  virtual_clock clock;
  const auto begun = clock.now();
  CHECK(clock.now() == begun);
  clock.advance(3s);
  CHECK(clock.now() == begun + 3s);
  CHECK_THROWS_AS(clock.advance(-1us), std::invalid_argument);
  CHECK(clock.now() == begun + 3s);
}

TEST_CASE("virtual clock: who waits wakes when the time has come, not before") {
  virtual_clock clock;
  sleeper early(clock, clock.now() + 1s);
  sleeper late(clock, clock.now() + 2s);
  REQUIRE(clock.at_rest({.callers = 2}));
  clock.advance(1s - 1us);
  REQUIRE(clock.at_rest({.callers = 2}));
  clock.advance(1us);
  CHECK(eventually([&] { return early.over(); }));
  REQUIRE(clock.at_rest({.callers = 1}));
  CHECK(late.woken() == 0);
  clock.advance(1s);
  CHECK(eventually([&] { return late.over(); }));
}

TEST_CASE("virtual clock: a time that has come before the waiting begins is not waited for") {
  virtual_clock clock;
  sleeper now(clock, clock.now());
  CHECK(eventually([&] { return now.over(); }));
}

TEST_CASE("virtual clock: a time that comes while somebody goes to sleep wakes him") {
  for (int round = 0; round < 2'000; ++round) {
    virtual_clock clock;
    sleeper asleep(clock, clock.now() + 1s);
    clock.advance(1s);
    REQUIRE(eventually([&] { return asleep.over(); }));
  }
}

TEST_CASE("virtual clock: not at rest while somebody has been called and did not run") {
  virtual_clock clock;
  sleeper asleep(clock, clock.now() + 1s);
  REQUIRE(clock.at_rest({.callers = 1}));
  {
    const auto kept = asleep.call();
    CHECK_FALSE(clock.at_rest({}, 0ms));
  }
  CHECK(clock.at_rest({.callers = 1}));
  CHECK(asleep.woken() == 1);
}

TEST_CASE("virtual clock: at rest when all who work for a service wait") {
  virtual_clock clock;
  clock.on_thread_event(worker::hired);
  CHECK_FALSE(clock.at_rest({}, 0ms));  // it is about to begin
  CHECK(clock.at_rest({.busy = 1}, 0ms));
  {
    sleeper asleep(clock, clock.now() + 1s, true);
    sleeper caller(clock, clock.now() + 1s);  // does not make up for the one that works
    CHECK(clock.at_rest({.callers = 1, .busy = 1}));
    CHECK_FALSE(clock.at_rest({.callers = 1}, 0ms));
    CHECK_FALSE(clock.at_rest({.callers = 2, .busy = 1}, 0ms));
    clock.on_thread_event(worker::ends);
    CHECK(clock.at_rest({.callers = 1}));
  }
  CHECK(clock.at_rest());  // who has ended does not count
}

TEST_CASE("virtual clock: a wait that the test forgot ends by itself") {
  stores::virtual_clock clock{20ms};
  const auto store = std::make_shared<stores::memory_store>(clock);
  lock_service locks{store, {.time = &clock}};
  lock_service others{store, {.time = &clock}};
  const auto theirs = others.acquire("k");
  CHECK_THROWS_AS(locks.acquire("k", {.wait = 30s}), lock_timeout);
  CHECK(theirs.loss() == loss_reason::none);  // it was renewed while the clock moved
}

TEST_CASE("virtual clock: wait_forever that the test forgot ends by itself, too") {
  stores::virtual_clock clock{20ms};
  const auto store = std::make_shared<stores::memory_store>(clock);
  lock_service locks{store, {.time = &clock}};
  lock_service others{store, {.time = &clock}};
  const auto theirs = others.acquire("k");
  const auto mine = locks.try_acquire("k", {.wait = wait_forever});
  CHECK(theirs.loss() != loss_reason::none);  // it ends by a leap that no lease outlives
}

namespace {

class recorder final : public key_listener {
 public:
  void may_be_free(bool works) noexcept override { calls.push_back(works); }
  std::vector<bool> calls{};
};

}  // namespace

TEST_CASE("key listeners: one that relies on notifications is to learn of their end, though another one has just come",
          "[unit]") {
  stores::key_listeners key;
  recorder first, second;
  key.add(first);
  CHECK_FALSE(key.informed);
  CHECK_FALSE(key.relied_on);
  key.notify(true);
  key.add(second);
  CHECK_FALSE(key.informed);
  CHECK(key.relied_on);
  key.notify(false);
  CHECK_FALSE(key.relied_on);
  CHECK(first.calls == std::vector{true, false});
  CHECK(second.calls == std::vector{false});
}

TEST_CASE("key listeners: the first of a new wait relies on nothing that an earlier one was notified of", "[unit]") {
  stores::key_listeners key;
  recorder first, second;
  key.add(first);
  key.notify(true);
  key.all.clear();
  key.add(second);
  CHECK_FALSE(key.relied_on);
}

TEST_CASE("key notes: only what was done with a watched key since its watch began is known", "[unit]") {
  stores::key_notes notes;
  notes.set_taken("a", true);
  CHECK(notes.empty());
  CHECK_FALSE(notes.begin("a"));
  CHECK_FALSE(notes.empty());
  CHECK_FALSE(notes.set_released("b"));
  CHECK(notes.set_released("a"));
  CHECK(notes.released("a"));
  CHECK_FALSE(notes.released("a"));
  notes.set_taken("a", true);
  CHECK(notes.begin("a"));  // another watch, and the note is gone
  CHECK_FALSE(notes.end("a"));
  CHECK(notes.empty());
  notes.begin("a");
  notes.set_taken("a", true);
  CHECK(notes.end("a"));
}
