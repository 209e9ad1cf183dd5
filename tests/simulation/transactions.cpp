// SPDX-License-Identifier: BSL-1.0
#include "simulation/transactions.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "api/access.hpp"
#include "dlock/error.hpp"
#include "engine/core/blocking_calls.hpp"
#include "engine/core/transaction_calls.hpp"
#include "engine/registry/transaction_watch.hpp"
#include "simulation/application.hpp"

namespace dlock::simulation {

using namespace std::chrono_literals;

namespace {

/// By the fibre that has it open.
std::map<const fibre*, open_transaction*>& all_open() {
  static auto* const all = new std::map<const fibre*, open_transaction*>;
  return *all;
}

}  // namespace

class open_transaction::watch final : public engine::transaction_watch {
 public:
  bool open_here(store& where) noexcept override {
    const auto at = all_open().find(fibre::current());
    const auto* const here = dynamic_cast<const simulated_store*>(&where);
    return at != all_open().end() && here != nullptr;
  }
  bool at_end(store& where, std::function<void()> ended) noexcept override {
    if (!open_here(where)) return false;
    all_open()[fibre::current()]->ended_.push_back(std::move(ended));
    return true;
  }
};

open_transaction::open_transaction(network& by, process& of) : by_(by), process_(of) {
  static watch all;
  engine::watch_transactions(all);
  all_open()[fibre::current()] = this;
  travel();
  inner_.connection = by_.to().connect();
  by_.joined(process_, inner_.connection);
}

open_transaction::~open_transaction() {
  if (!open_) return;
  by_.to().roll_back(inner_);
  end();
}

bool open_transaction::verify(const lease& held) {
  const auto& one = detail::access::grant_of(held);
  if (one->remaining(process_.now()) == microseconds{0}) return false;
  verified_.push_back(one);
  engine::outlive_transaction(*one);
  const auto request = one->ask(verb::poll);
  travel();
  const auto limit = by_.in().now() + lock_wait;
  for (;;) {
    const auto wake = std::make_shared<std::function<void()>>(process_.waker());
    const auto once = [wake] {
      if (const auto call = std::exchange(*wake, nullptr)) call();
    };
    const auto answer = by_.to().verify(inner_, request, once);
    if (answer == outcome::yes) {
      travel();
      return true;
    }
    const auto in_vain = answer || by_.in().now() >= limit || process_.buried();
    if (!in_vain) {
      by_.in().at(limit, once);
      process_.wait_for_waker();
    }
    *wake = nullptr;  // the server may still have it, and would end a later wait of this thread
    if (in_vain) break;
  }
  travel();
  by_.to().roll_back(inner_);
  end();
  return false;
}

void open_transaction::commit() {
  if (!open_) return;
  travel();
  if (!process_.buried()) by_.to().commit(inner_);
  travel();
  end();
}

std::vector<std::string> open_transaction::lock_free_rows(bool by_column, std::size_t most) {
  travel();
  auto found =
      by_.to().alive(inner_.connection) ? by_.to().lock_free_rows(inner_, by_column, most) : std::vector<std::string>{};
  travel();
  return found;
}

std::uint64_t open_transaction::claim(const request& q) {
  travel();
  const auto fence = by_.to().alive(inner_.connection) ? by_.to().claim(inner_, q) : 0;
  travel();
  return fence;
}

bool open_transaction::commit_claim() {
  auto& in = by_.in();
  if (by_.hits(hazard::ghosts, 30'000)) {  // it is on its way when the connection breaks
    in.after(in.random.between(1, 2'000'000), [to = &by_.to(), late = std::make_shared<transaction>(inner_)] {
      to->commit(*late);
      to->close(late->connection);
    });
    inner_ = {};
    end();
    return false;
  }
  travel();
  const bool done = !process_.buried() && by_.to().commit(inner_);
  travel();
  end();
  return done && !by_.hits(hazard::lost_replies, 30'000);
}

void open_transaction::end() {
  open_ = false;
  all_open().erase(fibre::current());
  by_.left(inner_.connection);
  by_.to().close(inner_.connection);
  for (const auto& each : std::exchange(verified_, {})) engine::transaction_ended(each);
  for (const auto& each : std::exchange(ended_, {})) each();
}

// Free rows that a transaction of the application's takes. What dlock::odb does with SQL is done here with the
// simulated tables.

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
