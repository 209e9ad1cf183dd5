// SPDX-License-Identifier: BSL-1.0
#include "dlock/error.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <system_error>
#include <type_traits>

#include "dlock/observer.hpp"
#include "engine/books/service_context.hpp"

using namespace dlock;

static_assert(std::is_base_of_v<error, lock_timeout> && std::is_base_of_v<error, lock_refused> &&
              std::is_base_of_v<error, lock_lost> && std::is_base_of_v<error, store_error> &&
              std::is_base_of_v<std::system_error, error>);

TEST_CASE("error: each code has a text of its own in the category", "[error]") {
  CHECK(std::string(error_category().name()) == "dlock");
  std::set<std::string> texts;
  for (int code = 1; code <= static_cast<int>(errc::outcome_unknown); ++code) {
    texts.insert(error_category().message(code));
  }
  CHECK(texts.size() == static_cast<std::size_t>(errc::outcome_unknown));
  CHECK_FALSE(error_category().message(12345).empty());
  const std::error_code code = errc::closed;
  CHECK(code.category() == error_category());
  CHECK(code == errc::closed);
}

TEST_CASE("error: what() is dlock, once, and the facts, without the category's sentence", "[error]") {
  const lock_timeout e("key 'order:42': still busy after 2000 ms");
  CHECK(std::string(e.what()) == "dlock: key 'order:42': still busy after 2000 ms");
  const error copy = e;
  CHECK(std::string(copy.what()) == e.what());
  static_assert(std::is_nothrow_copy_constructible_v<lock_timeout>);
  CHECK(e.code() == errc::timed_out);
  CHECK(std::string(lock_timeout("dlock: key 'k': busy").what()).starts_with("dlock: key 'k'"));
}

TEST_CASE("error: what will not pass by itself is no store that can't be reached", "[error]") {
  const store_error denied(errc::store_unreachable, "access denied", 1045, "28000", false);
  CHECK(denied.code() == errc::store_failed);
  CHECK(std::string(denied.what()).find("reached") == std::string::npos);
  CHECK(store_error(errc::store_unreachable, "nobody there", 2003, "", true).code() == errc::store_unreachable);
  CHECK(store_error(errc::outcome_unknown, "gone", 2013, "", false).code() == errc::outcome_unknown);
}

TEST_CASE("error: which store it was is told once", "[error]") {
  const std::string server = "mysql://app:***@[::1],h2/d?prefix=x_";
  const std::string file = "sqlite:run/locks.db?schema=none";
  CHECK(engine::with_store_name(server, "[::1]:3306: take: no") == server + ": [::1]:3306: take: no");
  CHECK(engine::with_store_name(server, "dlock: " + server + ": connecting: no") == server + ": connecting: no");
  CHECK(engine::with_store_name(file, "SQLite file '/a/run/locks.db': full") == "SQLite file '/a/run/locks.db': full");
  CHECK(engine::with_store_name(file, "SQLite file '/a/run/other.db': full") ==
        file + ": SQLite file '/a/run/other.db': full");
  CHECK(engine::with_store_name("memory:", "no answer") == "memory:: no answer");
  CHECK(engine::with_store_name("sqlite:a", "all lock connections are busy") ==
        "sqlite:a: all lock connections are busy");
}

TEST_CASE("error: each type carries what callers ask", "[error]") {
  CHECK(lock_lost(loss_reason::max_hold, "x").reason() == loss_reason::max_hold);
  CHECK(lock_lost(loss_reason::max_hold, "x").code() == errc::lost);
  CHECK(lock_refused(errc::cancelled, "x").code() == errc::cancelled);
  const store_error e(errc::store_failed, "x", 1205, "HY000", true);
  CHECK(e.native_code() == 1205);
  CHECK(e.sqlstate() == "HY000");
  CHECK(e.transient());
}

TEST_CASE("error: every loss reason and every event has a name of its own", "[error]") {
  std::set<std::string_view> reasons;
  for (int i = 0; i <= static_cast<int>(loss_reason::abandoned); ++i) {
    reasons.insert(to_string(static_cast<loss_reason>(i)));
  }
  CHECK(reasons.size() == static_cast<std::size_t>(loss_reason::abandoned) + 1);
  std::set<std::string_view> events;
  for (int i = 0; i <= static_cast<int>(event::kind::observer_failed); ++i) {
    events.insert(to_string(static_cast<event::kind>(i)));
  }
  CHECK(events.size() == static_cast<std::size_t>(event::kind::observer_failed) + 1);
}
