// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "sale.hpp"
#include "support/console.hpp"
#include "support/process.hpp"

namespace flash_sale {
namespace {

/// Orders that a worker has at one time: it need not wait for the next one, and has some to leave when it dies.
constexpr std::size_t orders_at_once = 8;
/// No worker says anything for so long: something hangs.
constexpr std::chrono::seconds longest_silence{60};

struct worker_process {
  std::size_t number;
  support::process process;
  std::vector<std::size_t> given{};  ///< orders it has not answered, by index
  bool alive = true;
};

class coordinator {
 public:
  coordinator(const settings& s, const std::string& title, const std::vector<order>& orders)
      : settings_(s), orders_(orders), waiting_(orders.size()), progress_(title, orders.size()) {
    std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  }

  sale_result run() {
    const auto begin = last_report_ = clock::now();
    for (std::size_t number = 1; number <= settings_.workers; ++number) start(number);
    while (done_ < orders_.size() && living() > 0 && clock::now() - last_report_ < longest_silence) {
      hand_out();
      listen();
      progress_.draw(done_, living(), false);
    }
    result_.elapsed = clock::now() - begin;
    progress_.draw(done_, living(), true);
    if (done_ < orders_.size()) {
      result_.problems.push_back(fmt::format("orders not answered: {} ({})", orders_.size() - done_,
                                             living() == 0 ? "no worker is left" : "the workers hang"));
    }
    end();
    return std::move(result_);
  }

 private:
  void start(std::size_t number) {
    workers_.push_back({number, support::process({"worker"}, fmt::format("worker-{}.log", number))});
    support::send(workers_.back().process.socket(),
                  worker_settings{number, settings_.locked, settings_.think_us, settings_.ttl_ms});
  }

  /// One each in turn, so that orders that stand close together in the file are served at the same time. Whoever gets
  /// the order at 40 % is told to stop in the middle of it, and is killed then.
  void hand_out() {
    for (std::size_t round = 0; round < orders_at_once; ++round) {
      for (auto& w : workers_) {
        if (waiting_.empty()) return;
        if (!w.alive || w.given.size() > round) continue;
        const task next{waiting_.front(), settings_.kill_one && victim_ == nullptr && living() > 1 &&
                                              waiting_.front() >= orders_.size() * 2 / 5};
        if (next.stop) victim_ = &w;
        support::send(w.process.socket(), next);
        w.given.push_back(next.index);
        waiting_.pop_front();
      }
    }
  }

  void listen() {
    std::vector<pollfd> sockets;
    for (const auto& w : workers_) sockets.push_back({w.alive ? w.process.socket() : -1, POLLIN, 0});
    ::poll(sockets.data(), sockets.size(), 20);
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if (sockets[i].revents != 0 && !hear(workers_[i])) bury(workers_[i], false);
    }
    if (victim_ != nullptr && victim_->alive && victim_->process.has_stopped()) kill(*victim_);
  }

  /// All that it has said so far. False: it has ended.
  bool hear(worker_process& from) {
    for (;;) {
      task_report r;
      const auto received = support::receive(from.process.socket(), r, MSG_DONTWAIT);
      if (received != support::received::value) return received != support::received::closed;
      last_report_ = clock::now();
      std::erase(from.given, r.index);
      ++done_;
      count(from, r);
    }
  }

  void count(const worker_process& from, const task_report& r) {
    const auto& o = orders_[r.index];
    result_.stale_writes += r.stale_writes;
    result_.leases_lost += r.leases_lost;
    result_.tried_again += r.attempts - 1;
    if (!r.served) {
      result_.problems.push_back(fmt::format("order {} (line {}) failed: {}", o.id, o.line, from.process.last_words()));
      return;
    }
    ++(r.answer == outcome::sold       ? result_.sold
       : r.answer == outcome::sold_out ? result_.sold_out
                                       : result_.duplicates);
    if (settings_.locked) result_.waits.push_back(r.waited);
    if (!r.taken_over) return;
    ++result_.take_overs;
    if (result_.killed == 0 || result_.take_over_delay) return;
    result_.take_over_delay = std::chrono::duration_cast<std::chrono::milliseconds>(r.begun - killed_at_);
    progress_.note(fmt::format("worker {} took over the lock stock:{} {} ms after the kill", from.number, o.sku,
                               support::grouped(result_.take_over_delay->count())));
  }

  /// It stands still in the middle of the order that it was given last.
  void kill(worker_process& victim) {
    hear(victim);  // what it said before
    const auto& o = orders_[victim.given.front()];
    const auto pid = victim.process.pid();
    killed_at_ = clock::now();
    victim.process.kill();
    ++result_.killed;
    result_.done_again += victim.given.size();
    progress_.note(fmt::format(
        "worker {} (pid {}) was killed with -9 {} order {}; orders for the others to do: {}", victim.number, pid,
        settings_.locked ? fmt::format("holding the lock stock:{}, serving", o.sku) : "while it served", o.id,
        victim.given.size()));
    bury(victim, true);
  }

  void bury(worker_process& dead, bool on_purpose) {
    const auto pid = dead.process.pid();
    const int code = dead.process.wait();
    dead.alive = false;
    waiting_.insert(waiting_.begin(), dead.given.begin(), dead.given.end());
    if (on_purpose || (ending_ && code == 0)) return;
    result_.problems.push_back(
        fmt::format("worker {} (pid {}) ended with code {}: {}", dead.number, pid, code, dead.process.last_words()));
  }

  /// Lets the workers end. One that doesn't within ten seconds is a problem, and killed with its object.
  void end() {
    ending_ = true;
    for (const auto& w : workers_) ::shutdown(w.process.socket(), SHUT_WR);
    for (const auto until = clock::now() + std::chrono::seconds{10}; living() > 0 && clock::now() < until;) listen();
    if (living() > 0) result_.problems.push_back(fmt::format("workers that did not end: {}", living()));
  }

  std::size_t living() const {
    return static_cast<std::size_t>(std::ranges::count(workers_, true, &worker_process::alive));
  }

  const settings settings_;
  const std::vector<order>& orders_;
  std::deque<std::size_t> waiting_;  ///< orders that nobody has
  std::deque<worker_process> workers_{};
  worker_process* victim_ = nullptr;
  bool ending_ = false;
  std::size_t done_ = 0;
  clock::time_point killed_at_{};
  clock::time_point last_report_{};
  support::progress progress_;
  sale_result result_{};
};

}  // namespace

sale_result run_workers(const settings& s, const std::string& title, const std::vector<order>& orders) {
  return coordinator(s, title, orders).run();
}

}  // namespace flash_sale
