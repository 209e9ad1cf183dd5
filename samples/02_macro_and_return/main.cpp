// SPDX-License-Identifier: BSL-1.0
// The macros are statements: a return in the body leaves the function with its value, break and continue leave the loop
// around it, and in each case the lock is released.

#include <fmt/core.h>
#include <dlock/dlock.hpp>

#include <chrono>
#include <exception>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/command_line.hpp"

namespace {

using namespace std::chrono_literals;

struct order {
  int id;
  int pieces;
};

// What the locks protect; two threads work on it without any other protection.
struct warehouse {
  int pieces = 0;
  std::set<int> shipped{};
  int reports = 0;
};

enum class answer { shipped, shipped_before, too_few };

// An early return in the body is a return of the function. Nothing has to follow the statement.
answer ship(warehouse& house, const order& o) {
  DISTRIBUTED_LOCKED_AS(held, dlock::key<"warehouse:{house}", "house">("north"), {.ttl = 10s, .wait = 20s}) {
    if (house.shipped.contains(o.id)) return answer::shipped_before;
    if (house.pieces < o.pieces) return answer::too_few;
    held.ensure_held();  // the closing brace can't report that the lock was lost: ask before it matters
    house.pieces -= o.pieces;
    house.shipped.insert(o.id);
    return answer::shipped;
  }
}

// break and continue belong to the loop, though each turn of it has a lock of its own.
std::vector<int> shipped_until_empty(warehouse& house, const std::vector<order>& orders) {
  std::vector<int> done;
  for (const order& o : orders) {
    DISTRIBUTED_LOCKED(dlock::key<"order:{o.id}">(o), {.ttl = 10s, .wait = 20s}) {
      const answer got = ship(house, o);
      if (got == answer::shipped_before) continue;
      if (got == answer::too_few) break;
      done.push_back(o.id);
    }
  }
  return done;
}

// One attempt; the else branch is for those who come while somebody holds the key.
bool report_or_skip(warehouse& house) {
  DISTRIBUTED_TRY_LOCKED_AS(held, "report:daily", {.ttl = 10s}) {
    ++house.reports;
    fmt::print("report {} built under fencing token {}\n", house.reports, held.fencing_token());
    return true;
  }
  else {
    fmt::print("somebody else is building the report: skipped\n");
    return false;
  }
}

// Both desks go through all orders; every order must be shipped by exactly one of them.
bool two_desks(warehouse& house) {
  std::vector<order> orders;
  for (int id = 1; id <= 20; ++id) orders.push_back({id, 1});
  house.pieces = 15;
  std::vector<int> first;
  std::vector<int> second;
  std::exception_ptr failed;
  {
    std::jthread other([&] {
      try {
        second = shipped_until_empty(house, {orders.rbegin(), orders.rend()});
      } catch (...) {
        failed = std::current_exception();
      }
    });
    first = shipped_until_empty(house, orders);
  }
  if (failed) std::rethrow_exception(failed);
  fmt::print("two desks, 20 orders, 15 pieces: {} + {} shipped, {} pieces left\n", first.size(), second.size(),
             house.pieces);
  return first.size() + second.size() == 15 && house.shipped.size() == 15 && house.pieces == 0;
}

bool one_report(warehouse& house) {
  const dlock::owner colleague;
  bool built = false;
  bool skipped = false;
  DISTRIBUTED_LOCKED("report:daily", {.ttl = 10s}) {
    const dlock::owner_scope as{colleague};  // somebody else, who comes in between
    skipped = !report_or_skip(house);
  }
  built = report_or_skip(house);
  return built && skipped && house.reports == 1;
}

bool run(const std::string& url) {
  dlock::lock_service locks{url};
  dlock::set_default_service(locks);  // the one that macros use
  warehouse house;
  const bool right = two_desks(house) && one_report(house) && locks.held_keys().empty();
  fmt::print("{}\n", right ? "every order was shipped once, every lock is free again" : "WRONG");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"Locks around statements that return, break and continue"};
  std::string url = "sqlite:locks.db";
  options.database(url);
  return options.run(argc, argv, [&] { return run(url) ? 0 : 1; });
}
