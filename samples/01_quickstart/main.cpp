// SPDX-License-Identifier: BSL-1.0
// Four clerks sell the same twenty things. Each reads how many are left, thinks, and writes back one less: without a
// lock two of them would read the same number, and sell one thing twice.

#include <fmt/core.h>
#include <dlock/dlock.hpp>
#include <dlock/store_interface/store_url.hpp>

#include <chrono>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/command_line.hpp"

namespace {

using namespace std::chrono_literals;

// What the lock protects: a number in a file, with nothing of its own against two writers.
class shelf {
 public:
  explicit shelf(std::string path) : path_(std::move(path)) {}

  int left() const {
    std::ifstream in(path_);
    int count = 0;
    if (!(in >> count)) throw std::runtime_error("cannot read " + path_);
    return count;
  }
  void set_left(int count) const {
    std::ofstream out(path_, std::ios::trunc);
    if (!(out << count << '\n')) throw std::runtime_error("cannot write " + path_);
  }

 private:
  std::string path_;
};

// [quickstart]
// One clerk. Any number of them may run, in one process or in many, on any machine that reaches the database.
int sell_until_empty(const std::string& url, const shelf& stock) {
  dlock::lock_service locks{url};  // "sqlite:locks.db", "mysql://app:secret@db.example.com/locks"
  const auto take_one = [&](const dlock::lease& held) {
    const int left = stock.left();
    if (left == 0) return false;
    std::this_thread::sleep_for(2ms);  // real work
    held.ensure_held();                // throws lock_lost if the database may have given the lock away
    stock.set_left(left - 1);
    return true;
  };
  int sold = 0;
  // Waits up to 20 s for its turn. Should this process die, the others go on within 10 s (ttl); while it lives, the
  // lock is renewed in the background, however long the work takes. Throws lock_lost, rather than return a result that
  // can't be trusted.
  while (locks.with_lock("stock:42", {.ttl = 10s, .wait = 20s}, take_one)) {
    ++sold;
    std::this_thread::sleep_for(10ms);  // hands it to the customer: that needs no lock, and others have their turn
  }
  return sold;
}
// [/quickstart]

bool run(const std::string& url) {
  constexpr int things = 20;
  constexpr int clerks = 4;
  const shelf stock("shelf.txt");
  stock.set_left(things);
  fmt::print("{} things on the shelf, {} clerks, one lock in {}\n", things, clerks,
             dlock::store_url::parse(url).redacted());

  std::vector<int> sold(clerks, 0);
  std::vector<std::exception_ptr> failed(clerks);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i != sold.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          sold[i] = sell_until_empty(url, stock);
        } catch (...) {
          failed[i] = std::current_exception();
        }
      });
    }
  }
  for (const auto& each : failed) {
    if (each) std::rethrow_exception(each);
  }

  int total = 0;
  for (std::size_t i = 0; i != sold.size(); ++i) {
    fmt::print("clerk {} sold {}\n", i + 1, sold[i]);
    total += sold[i];
  }
  const bool right = total == things && stock.left() == 0;
  fmt::print("sold {} of {}, {} left: {}\n", total, things, stock.left(), right ? "nothing was sold twice" : "WRONG");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"Four clerks sell twenty things under one lock"};
  std::string url = "sqlite:locks.db";
  options.database(url);
  return options.run(argc, argv, [&] { return run(url) ? 0 : 1; });
}
