// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <numeric>

#include "report.hpp"
#include "sale.hpp"
#include "support/process.hpp"

namespace flash_sale {
namespace {

using clock = std::chrono::steady_clock;

/// Orders that a worker has at one time: it need not wait for the next one, and has some to leave when it dies.
constexpr std::size_t orders_at_once = 8;
/// No worker says anything for so long: something hangs.
constexpr std::chrono::seconds longest_silence{60};

struct worker_process {
  std::size_t number;
  std::filesystem::path log;
  support::process process;
  std::vector<std::size_t> given{};     ///< orders it has not answered, by index
  std::optional<std::size_t> inside{};  ///< the order that it is serving under the lock
  bool alive = true;

  std::string last_words() const {
    std::ifstream in(log);
    std::string last = "nothing in its log";
    for (std::string line; std::getline(in, line);) last = line;
    return last;
  }
};

/// How far a run is: a bar that is drawn again and again on a terminal, a line a second elsewhere.
class progress {
 public:
  progress(std::string title, std::size_t total) : title_(std::move(title)), total_(total) {}

  void draw(std::size_t done, std::size_t workers, bool last) {
    const auto now = clock::now();
    if (!last && now - drawn_ < std::chrono::milliseconds{terminal_ ? 100 : 1'000}) return;
    drawn_ = now;
    constexpr std::size_t width = 16;  // the whole line fits into 80 columns
    const auto full = done * width / total_;
    const auto speed = static_cast<double>(done) / std::chrono::duration<double>(now - start_).count();
    fmt::print("{}{:<13} [{:#<{}}{:.<{}}] {:>3} %  {}/{}  {}/s  {} workers{}", again_, title_, "", full, "",
               width - full, done * 100 / total_, grouped(done), grouped(total_), grouped(static_cast<long>(speed)),
               workers, terminal_ && !last ? "" : "\n");
    std::fflush(stdout);
  }
  /// A line of its own; the bar goes on below it.
  void note(const std::string& text) { fmt::print("{}  {}\n", again_, text); }

 private:
  const std::string title_;
  const std::size_t total_;
  const bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
  const char* const again_ = terminal_ ? "\r\x1b[2K" : "";
  const clock::time_point start_ = clock::now();
  clock::time_point drawn_{};
};

class coordinator {
 public:
  coordinator(const settings& s, const std::string& title, const std::vector<order>& orders)
      : settings_(s), orders_(orders), waiting_(orders.size()), progress_(title, orders.size()) {
    std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  }

  sale_result run() {
    const auto begin = clock::now();
    last_message_ = begin;
    for (std::size_t number = 1; number <= settings_.workers; ++number) start(number);
    while (done_ < orders_.size() && living() > 0 && clock::now() - last_message_ < longest_silence) {
      hand_out();
      listen();
      progress_.draw(done_, living(), false);
    }
    result_.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begin);
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
    const auto log = settings_.folder / fmt::format("worker-{}.log", number);
    std::vector<std::string> arguments{"worker",
                                       settings_.products,
                                       settings_.orders,
                                       "--number=" + std::to_string(number),
                                       "--shop-url=" + settings_.shop_url,
                                       "--think-us=" + std::to_string(settings_.think_us),
                                       "--ttl-ms=" + std::to_string(settings_.ttl_ms)};
    arguments.push_back(settings_.locked ? "--locks-url=" + settings_.locks_url : "--no-locks");
    workers_.push_back({number, log, support::process(std::move(arguments), log)});
  }

  /// One each in turn, so that orders that stand close together in the file are served at the same time.
  void hand_out() {
    for (std::size_t round = 0; round < orders_at_once; ++round) {
      for (auto& w : workers_) {
        if (waiting_.empty()) return;
        if (!w.alive || w.given.size() > round) continue;
        support::send(w.process.socket(), waiting_.front());
        w.given.push_back(waiting_.front());
        waiting_.pop_front();
      }
    }
  }

  void listen() {
    std::vector<pollfd> sockets;
    for (const auto& w : workers_) sockets.push_back({w.alive ? w.process.socket() : -1, POLLIN, 0});
    ::poll(sockets.data(), sockets.size(), 100);
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if (sockets[i].revents == 0) continue;
      auto& w = workers_[i];
      if (!hear(w)) {
        bury(w, false);
      } else if (settings_.kill_one && result_.killed == 0 && living() > 1 && done_ >= orders_.size() * 2 / 5) {
        kill_if_inside(w);
      }
    }
  }

  /// All that it has said so far. False: it has ended.
  bool hear(worker_process& from) {
    message m;
    auto what = support::received::nothing;
    while ((what = support::receive(from.process.socket(), m, MSG_DONTWAIT)) == support::received::value)
      handle(from, m);
    return what != support::received::closed;
  }

  void handle(worker_process& from, const message& m) {
    last_message_ = clock::now();
    switch (m.what) {
      case message::kind::entered: entered(from, m); break;
      case message::kind::answered:
        ++(m.answer == outcome::sold       ? result_.sold
           : m.answer == outcome::sold_out ? result_.sold_out
                                           : result_.duplicates);
        finish(from, m.index);
        break;
      case message::kind::stale_write: ++result_.stale_writes; break;
      case message::kind::left:
        ++result_.tried_again;
        from.inside.reset();
        break;
      case message::kind::failed:
        result_.problems.push_back(fmt::format("order {} (line {}) failed: {}", orders_[m.index].id,
                                               orders_[m.index].line, from.last_words()));
        finish(from, m.index);
        break;
      case message::kind::lease_lost: ++result_.leases_lost; break;
    }
  }

  void entered(worker_process& from, const message& m) {
    from.inside = m.index;
    if (!settings_.locked) return;
    result_.waits_us.push_back(static_cast<std::uint32_t>(m.waited_us));
    if (!m.taken_over) return;
    ++result_.take_overs;
    if (result_.killed > 0 && !result_.take_over_delay) {
      result_.take_over_delay = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - killed_at_);
      progress_.note(fmt::format("worker {} took over the lock stock:{} {} ms after the kill", from.number,
                                 orders_[m.index].sku, grouped(result_.take_over_delay->count())));
    }
  }

  void finish(worker_process& from, std::size_t index) {
    from.inside.reset();
    std::erase(from.given, index);
    ++done_;
  }

  /// A message that a worker is inside may be old when we read it. So: stop it, read all that it has said, and
  /// only if it is inside still, as a stopped process stays, kill it. Otherwise it goes on, and the next chance is taken.
  void kill_if_inside(worker_process& victim) {
    if (!victim.inside) return;
    victim.process.stop();
    hear(victim);
    if (!victim.inside) {
      victim.process.go_on();
      return;
    }
    const auto pid = victim.process.pid();
    victim.process.kill();
    killed_at_ = clock::now();
    ++result_.killed;
    const auto& o = orders_[*victim.inside];
    progress_.note(fmt::format(
        "worker {} (pid {}) was killed with -9 {} order {}; orders for the others to do: {}", victim.number, pid,
        settings_.locked ? fmt::format("holding the lock stock:{}, serving", o.sku) : "while it served", o.id,
        victim.given.size()));
    result_.done_again += victim.given.size();
    bury(victim, true);
  }

  void bury(worker_process& dead, bool on_purpose) {
    const auto pid = dead.process.pid();
    const int code = dead.process.wait();
    dead.alive = false;
    waiting_.insert(waiting_.begin(), dead.given.begin(), dead.given.end());
    if (on_purpose || (ending_ && code == 0)) return;
    result_.problems.push_back(fmt::format(
        "worker {} (pid {}) {}: {}", dead.number, pid,
        code > 128 ? fmt::format("was ended by signal {}", code - 128) : fmt::format("ended with exit code {}", code),
        dead.last_words()));
  }

  /// Lets the workers end. One that doesn't within ten seconds is a problem, and killed with its object.
  void end() {
    ending_ = true;
    settings_.kill_one = false;
    for (const auto& w : workers_) ::shutdown(w.process.socket(), SHUT_WR);
    for (const auto until = clock::now() + std::chrono::seconds{10}; living() > 0 && clock::now() < until;) listen();
    for (const auto& w : workers_) {
      if (w.alive) result_.problems.push_back(fmt::format("worker {} did not end: {}", w.number, w.last_words()));
    }
  }

  std::size_t living() const {
    return static_cast<std::size_t>(
        std::count_if(workers_.begin(), workers_.end(), [](const auto& w) { return w.alive; }));
  }

  settings settings_;
  const std::vector<order>& orders_;
  std::deque<std::size_t> waiting_;  ///< orders that nobody has
  std::deque<worker_process> workers_{};
  bool ending_ = false;
  std::size_t done_ = 0;
  clock::time_point killed_at_{};
  clock::time_point last_message_{};
  progress progress_;
  sale_result result_{};
};

}  // namespace

sale_result run_workers(const settings& s, const std::string& title, const std::vector<order>& orders) {
  return coordinator(s, title, orders).run();
}

}  // namespace flash_sale
