// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/file.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "dlock/stores/sqlite.hpp"

using namespace dlock;
using stores::sqlite::lease_table::lease_settings;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

lease_settings parsed(std::string_view url) { return lease_settings::parse(store_url::parse(url)); }

}  // namespace

TEST_CASE("sqlite URL: a path alone gives the defaults", "[unit][sqlite]") {
  const auto relative = parsed("sqlite:locks.db");
  CHECK(relative.path == std::filesystem::current_path() / "locks.db");
  CHECK(relative.prefix == "dlock_");
  CHECK(relative.schema == stores::sql::schema_mode::create);
  CHECK(relative.busy_timeout == 5s);
  CHECK(relative.name == "sqlite:locks.db");
  CHECK(parsed("sqlite:/var/lib/locks.db").path == "/var/lib/locks.db");
}

TEST_CASE("sqlite URL: three slashes begin an absolute path, as in other URLs of files", "[unit][sqlite]") {
  const auto settings = parsed("sqlite:///var/lib/locks.db?prefix=x_");
  CHECK(settings.path == "/var/lib/locks.db");
  CHECK(settings.name == "sqlite:/var/lib/locks.db?prefix=x_");
  CHECK(parsed("sqlite:///var/app@1/locks.db").path == "/var/app@1/locks.db");
  CHECK(parsed("sqlite:////var/lib/locks.db").path == "/var/lib/locks.db");  // a path with its slash, behind three
}

TEST_CASE("sqlite URL: parameters change what they name", "[unit][sqlite]") {
  const auto settings = parsed("sqlite:a%20b.db?schema=verify&prefix=x_&busy_timeout=250");
  CHECK(settings.path == std::filesystem::current_path() / "a b.db");
  CHECK(settings.schema == stores::sql::schema_mode::verify);
  CHECK(settings.prefix == "x_");
  CHECK(settings.busy_timeout == 250ms);
  CHECK(parsed("sqlite:a?schema=none").schema == stores::sql::schema_mode::none);
}

TEST_CASE("sqlite URL: what can't work is refused by name and value, before any file is touched", "[unit][sqlite]") {
  const auto refused = [](const char* url, const char* text) {
    INFO(url);
    CHECK_THROWS_MATCHES(open_store(url), std::invalid_argument, MessageMatches(ContainsSubstring(text)));
  };
  refused("sqlite:", "path is empty");
  refused("sqlite::memory:", "memory:");
  refused("sqlite:file:x?mode=memory", "memory:");
  refused("sqlite:a%00b", "zero byte");
  refused("sqlite://host/a.db", "no host");
  // Two slashes: read as a relative path by some, as a host by others.
  for (const char* url : {"sqlite://a.db", "sqlite://folder/a.db", "sqlite://./a.db", "sqlite://localhost/a.db"}) {
    refused(url, "write sqlite:path for a path relative to the working directory");
    refused(url, "sqlite:/path or sqlite:///path for an absolute one");
  }
  refused("sqlite://u:geheim@h/a.db", "no host");
  refused("sqlite://", "path is empty");
  refused("sqlite:///", "is a folder");
  refused("sqlite:folder/", "is a folder");
  refused("sqlite:a.db?shema=verify", "shema");
  refused("sqlite:a.db?schema=drop", "schema=drop");
  refused("sqlite:a.db?prefix=", "prefix");
  refused("sqlite:a.db?prefix=a-b", "a-b");
  refused("sqlite:a.db?filesystem=nfs", "filesystem=nfs");
  refused("sqlite:a.db?busy_timeout=0", "busy_timeout=0");
  refused("sqlite:a.db?busy_timeout=-5", "busy_timeout=-5");
  refused("sqlite:a.db?busy_timeout=5s", "busy_timeout=5s");
  refused("sqlite:a.db?busy_timeout=99999999999", "busy_timeout=99999999999");
}
