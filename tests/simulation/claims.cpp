// SPDX-License-Identifier: BSL-1.0
// Free rows that a transaction of the application's takes. What dlock::odb does with SQL is done here with the
// simulated tables.
#include <algorithm>
#include <utility>

#include "dlock/error.hpp"
#include "engine/core/blocking_calls.hpp"
#include "simulation/application.hpp"
#include "simulation/transactions.hpp"

namespace dlock::simulation {

using namespace std::chrono_literals;

namespace {

[[noreturn]] void no_answer() {
  throw store_error(errc::store_unreachable, "rows to be claimed: the connection broke", 2013, "", true);
}

}  // namespace

void application::claim(const lock_options& how) {
  const bool by_column = has(hazard::columns) && often(50);
  auto options = how;
  options.min_hold.reset();
  if (by_column) options.ttl = std::max<std::chrono::milliseconds>(*options.ttl, 5s);
  const auto service = service_;
  auto& core = *detail::access::core_of(*service);
  const auto terms = detail::settled(options);
  const auto most = static_cast<std::size_t>(scene_.in.random.between(1, 4));
  const auto take = [&](engine::row_adoption& about) {
    open_transaction in(scene_.by, process_);
    std::vector<lock_key> keys;
    for (const auto& row : in.lock_free_rows(by_column, most)) {
      keys.push_back(
          *std::find_if(scene_.keys.begin(), scene_.keys.end(), [&](const auto& each) { return each.view() == row; }));
    }
    std::vector<std::uint64_t> fences;
    for (const auto& key : keys) {
      request q{.action = verb::take, .resource = key.view(), .session = about.session(), .nonce = about.nonce()};
      q.ttl = about.own_ttl();
      if (q.ttl > 0us) q.kind = by_column ? lease_kind::column : lease_kind::expiring;
      fences.push_back(in.claim(q));
      if (fences.back() == 0) no_answer();  // and nothing was expected
    }
    about.expect(keys);
    about.commit_sent(true);
    if (!in.commit_claim()) no_answer();
    return fences;
  };
  auto grants = bounded("claim", 0ms, [&] {
    return engine::adopt(core, terms, by_column ? row_renewal::column : row_renewal::session, take);
  });
  std::vector<lease> held;
  for (auto& each : grants) {
    if (each != nullptr) held.push_back(detail::access::make(std::move(each), false, true));
  }
  for (const auto& each : held) took(each);
  for (auto& each : held) {
    hold(each);
    let_go(std::move(each));
  }
}

}  // namespace dlock::simulation
