// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <utility>

#include "contract/store_fixture.hpp"
#include "dlock/stores/redis.hpp"
#include "dlock/stores/redlock.hpp"
#include "support/redis_server.hpp"

namespace dlock::test {

/// A server of its own.
class redis_fixture : public url_fixture {
 public:
  /// `with`: parameters of the URL. The contract counts tokens from 1.
  explicit redis_fixture(std::string with = "&fences=count") : parameters_(std::move(with)) {}
  std::string url() const override { return server_.url(parameters_); }

 private:
  redis_server server_{};
  const std::string parameters_;
};

/// As URLs are by default: tokens come from the server's clock.
class redis_clock_fixture final : public redis_fixture {
 public:
  redis_clock_fixture() : redis_fixture(std::string()) {}
};

class redis_setnx_fixture final : public redis_fixture {
 public:
  redis_setnx_fixture() : redis_fixture("&scheme=setnx") {}
  bool deletes_free_rows() const override { return true; }
  bool forgets_expired() const override { return true; }
};

/// Five masters, which are started once for all test cases of a program.
class redlock_fixture final : public url_fixture {
 public:
  ~redlock_fixture() override {
    for (auto& each : masters()) each.ask({"FLUSHALL"});
  }
  // The masters are new, and a busy machine is no slow master.
  std::string url() const override { return masters().url("&restart_delay=0&master_timeout=5000"); }
  // Masters are waited for no longer than half of the ttl.
  std::chrono::microseconds moments() const override { return std::chrono::seconds{1}; }
  bool deletes_free_rows() const override { return true; }
  bool forgets_expired() const override { return true; }
  bool votes_may_split() const override { return true; }

 private:
  static redis_masters& masters() {
    static redis_masters five;
    return five;
  }
};

}  // namespace dlock::test
