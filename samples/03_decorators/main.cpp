// SPDX-License-Identifier: BSL-1.0
// Decorators: functions that lock what their arguments name, without a word about locks in their bodies.

#include <fmt/core.h>
#include <dlock/dlock.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/command_line.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int workers = 4;
constexpr int rounds = 15;

struct account {
  int number;
  long balance;
};

// Private members: its keys come from a getter.
class depot {
 public:
  depot(int id, int stock) : id_(id), stock_(stock) {}
  int id() const { return id_; }
  int stock() const { return stock_; }
  bool take(int pieces) {
    const int before = stock_;
    std::this_thread::yield();  // invites others to come in between
    if (before < pieces) return false;
    stock_ = before - pieces;
    return true;
  }

 private:
  int id_;
  int stock_;
};

// Unprotected, as any function.
long pay(account& a, long amount) {
  const long before = a.balance;
  std::this_thread::yield();
  return a.balance = before + amount;
}

// A leading lease is supplied by the decorator.
std::optional<std::uint64_t> sell(const dlock::lease& held, depot& from, account& to, long price) {
  if (!from.take(1)) return std::nullopt;
  to.balance += price;
  return held.fencing_token();
}

const dlock::lock_options patient{.ttl = 10s, .wait = 20s};

// The listed names are those of all arguments in their order; "_" is one that the key leaves out.
auto pay_locked(dlock::lock_service& locks) { return locks.locked<"account:{a.number}", "a", "_">(pay, patient); }

// A class with private members, a member function: its object is the first argument.
auto take_locked(dlock::lock_service& locks) {
  return locks.locked(dlock::key_of("depot", dlock::arg<1>(&depot::id)), &depot::take, patient);
}

// Decorators stack: first the depot's lock, then the account's. Same order everywhere, so no deadlock.
auto sell_locked(dlock::lock_service& locks) {
  return locks.locked(dlock::key_of("depot", dlock::arg<1>(&depot::id)),
                      locks.locked<"account:{to.number}", "_", "to", "_">(sell, patient), patient);
}

// Busy is no error here: the result is empty instead.
auto close_the_day(dlock::lock_service& locks) {
  return locks.locked_or_skip<"day:{date}">([](const std::string& date) { return "closed " + date; }, {.ttl = 10s});
}

// Runs the work in several threads; the first failure is that of all.
void in_parallel(const std::function<void()>& work) {
  std::exception_ptr failed;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i != workers; ++i) {
      threads.emplace_back([&] {
        try {
          work();
        } catch (...) {
          const std::lock_guard guard(mutex);
          failed = std::current_exception();
        }
      });
    }
  }
  if (failed) std::rethrow_exception(failed);
}

bool payments(dlock::lock_service& locks) {
  account shared{4711, 0};
  const auto pay_in = pay_locked(locks);
  in_parallel([&] {
    for (int i = 0; i != rounds; ++i) pay_in(shared, 10);
  });
  const long expected = 10L * workers * rounds;
  fmt::print("{} threads paid 10 into account {}, {} times each: balance {} of {}\n", workers, shared.number, rounds,
             shared.balance, expected);
  return shared.balance == expected;
}

bool sales(dlock::lock_service& locks) {
  const auto sell_one = sell_locked(locks);
  depot north(1, workers * rounds);
  account till{1, 0};
  in_parallel([&] {
    while (sell_one(north, till, 5L)) {
    }
  });
  const long expected = 5L * workers * rounds;
  fmt::print("depot {} sold out: stock {}, till {} of {}\n", north.id(), north.stock(), till.balance, expected);
  return north.stock() == 0 && till.balance == expected && !take_locked(locks)(north, 1);
}

bool days(dlock::lock_service& locks) {
  const auto close_day = close_the_day(locks);
  std::optional<std::string> meanwhile;
  locks.with_lock(dlock::key<"day:{date}">("2026-11-21"), patient, [&] {
    const dlock::owner_scope colleague;  // somebody else, who comes while we hold it
    meanwhile = close_day("2026-11-21");
  });
  const std::optional<std::string> afterwards = close_day("2026-11-21");
  fmt::print("closing the day while it is locked: {}; afterwards: {}\n", meanwhile.value_or("skipped"),
             afterwards.value_or("skipped"));
  return !meanwhile.has_value() && afterwards == "closed 2026-11-21";
}

bool run(const std::string& url) {
  dlock::lock_service locks{url};
  const bool right = payments(locks) && sales(locks) && days(locks) && locks.held_keys().empty();
  fmt::print("{}\n", right ? "all books balance, every lock is free again" : "WRONG");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"Functions that lock what their arguments name"};
  std::string url = "sqlite:locks.db";
  options.database(url);
  return options.run(argc, argv, [&] { return run(url) ? 0 : 1; });
}
