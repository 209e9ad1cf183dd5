// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "service/engine_fixture.hpp"
#include "support/test.hpp"

namespace dlock::test {

struct broken : std::runtime_error {
  broken() : std::runtime_error("broken") {}
};

/// An engine, and transactions beside it that take rows.
struct adopt_fixture : row_fixture {
  const std::shared_ptr<const row_table> table = table_named("t", row_renewal::session);
  const inside home = core(options());

  struct taken {
    lock_key key;
    std::uint64_t fence = 0;
  };
  /// What a transaction takes, and under which names.
  struct ticket {
    id128 session{};
    std::uint64_t nonce = 0;
    microseconds own_ttl{0};
    std::vector<lock_key> maybe{};
    bool unsure = false;  ///< a commit was sent: it may still be done if there is no answer
  };
  using claimed = std::vector<taken>;
  using claim = std::function<claimed(ticket&)>;

  ~adopt_fixture() {
    static_cast<void>(home.close(0ms));
    home.finish();
  }

  lock_key row(std::int64_t id) { return existing(lock_key::of_row(table, {id})); }

  /// As statements of a transaction would: beside the engine. 0: it is not free.
  std::uint64_t take(const ticket& asked, const lock_key& key) {
    const auto answer = answer_to({.action = verb::take,
                                   .resource = key.view(),
                                   .session = asked.session,
                                   .nonce = asked.nonce,
                                   .kind = asked.own_ttl > 0us ? lease_kind::column : lease_kind::session,
                                   .ttl = asked.own_ttl});
    return answer.result == outcome::yes ? answer.fence : 0;
  }
  claim take_all(std::vector<lock_key> keys) {
    return [this, keys = std::move(keys)](ticket& asked) {
      claimed done;
      for (const auto& each : keys) {
        asked.maybe.push_back(each);
        if (const auto fence = take(asked, each); fence > 0) done.push_back({each, fence});
      }
      return done;
    };
  }
  std::vector<lease> adopt(const claim& claimer, const detail::lock_settings& wanted = {.ttl = 30s}) {
    return adopt(wanted, table->renewal, claimer);
  }
  std::vector<lease> adopt(const detail::lock_settings& wanted, row_renewal renewed, const claim& claimer) {
    const auto take = [&](engine::row_adoption& about) {
      ticket asked{about.session(), about.nonce(), about.own_ttl(), {}, false};
      claimed done;
      try {
        done = claimer(asked);
      } catch (...) {
        about.commit_sent(asked.unsure);
        about.expect(asked.maybe);
        throw;
      }
      std::vector<lock_key> keys;
      std::vector<std::uint64_t> fences;
      for (const auto& each : done) {
        keys.push_back(each.key);
        fences.push_back(each.fence);
      }
      about.expect(keys);
      return fences;
    };
    std::vector<lease> leases;
    for (auto& each : engine::adopt(*home.core(), wanted, renewed, take)) {
      if (each != nullptr) leases.push_back(detail::access::make(std::move(each), false, true));
    }
    return leases;
  }
  lease adopt_one(const lock_key& key, const detail::lock_settings& wanted = {.ttl = 30s}) {
    auto all = adopt(take_all({key}), wanted);
    REQUIRE(all.size() == 1);
    return std::move(all.front());
  }
  /// Lets the background do what it waits to do.
  bool freed(const lock_key& key) {
    return as_time_passes([&] { return is_free(key); }, 50ms);
  }
};

}  // namespace dlock::test
