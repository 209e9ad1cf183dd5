// SPDX-License-Identifier: BSL-1.0
#include "process/transfer/run.hpp"

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <odb/exceptions.hxx>
#include <random>
#include <string_view>
#include <thread>

#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "odb/verify/bank.hpp"
#include "process/transfer/history.hpp"
#include "process/transfer/teller.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

namespace {

bool stop_requested() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, 0) != 0;
}

/// So that those of one kind can be counted.
std::string without_numbers(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }, '#');
  return text;
}

class clerk {
 public:
  clerk(lock_service& locks, odb::database& bank, const transfer_settings& settings)
      : bank_(bank), settings_(settings), log_(settings.log), random_(settings.seed), hands_(locks, bank) {}

  void once() {
    next();
    from_ = 1 + below(settings_.wallets);
    to_ = 1 + (from_ + below(settings_.wallets - 1)) % settings_.wallets;
    // One grant may serve several transfers.
    while (attempt() && hands_.holds() && below(3) == 0) next();
    hands_.reset();
  }

 private:
  void next() {
    record_ = {.process = ::getpid(), .transfer = fmt::format("{:x}.{}", settings_.seed, ++number_)};
    log(transfer_record::kind::begun);
  }

  /// Whether it was committed.
  bool attempt() {
    stage_ = "lock";
    committed_ = false;
    try {
      transfer();
    } catch (const lock_timeout&) {
      end("timeout");
    } catch (const lock_lost& e) {
      end(fmt::format("{} {} {}", stage_ == "verify" ? "refused" : "lost", stage_, to_string(e.reason())));
    } catch (const refused_by_statement&) {
      end("refused verify by its statement");
    } catch (const store_error& e) {
      end(fmt::format("{} {} {}", e.transient() ? "busy" : "failed", stage_, without_numbers(e.what())));
    } catch (const odb::recoverable& e) {
      end(fmt::format("busy {} {}", stage_, e.what()));
    } catch (const odb::database_exception& e) {
      // Under snapshot isolation, MariaDB's newer default, a row that was changed since the transaction's first read
      // ends it (1020). ODB knows that code as a failure for good.
      const bool again = std::string_view(e.what()).starts_with("1020 ");
      end(fmt::format("{} {} {}", again ? "busy" : "failed", stage_, e.what()));
    } catch (const std::exception& e) {
      end(fmt::format("failed {} {}", stage_, e.what()));
    }
    return committed_;
  }

  void transfer() {
    if (!hands_.holds()) {
      hands_.lock({from_, to_}, {.ttl = settings_.ttl, .wait = below(4) == 0 ? 0ms : 3000ms});
      log(transfer_record::kind::holding);
    }
    const auto amount = 1 + static_cast<std::int64_t>(below(9));
    const bool read_inside = below(4) == 0;
    stage_ = "read";
    if (!read_inside) hands_.read();
    pause(below(25) == 0 ? settings_.ttl * 6 / 5 : small());
    stage_ = "begin";
    hands_.begin();
    if (read_inside) hands_.read();
    stage_ = "verify";
    hands_.verify(settings_.unchecked ? proof::nothing : below(2) == 0 ? proof::leases : proof::statements);
    stage_ = "write";
    hands_.add(from_, -amount, record_.transfer);
    // In SQLite nobody can renew while a transaction is open.
    pause(below(is_sqlite(bank_) ? 100 : 25) == 0 ? settings_.ttl * 6 / 5 : small());
    hands_.add(to_, amount, record_.transfer);
    if (below(4) == 0) hands_.drop();
    stage_ = "commit";
    hands_.commit();
    committed_ = true;
    end("committed");
  }

  std::chrono::milliseconds small() { return std::chrono::milliseconds{below(4)}; }
  static void pause(std::chrono::milliseconds length) { std::this_thread::sleep_for(length); }

  void end(std::string outcome) {
    record_.outcome = std::move(outcome);
    // Rolled back before it is told, or who reads the log could see the transaction still open.
    if (!committed_) hands_.reset();
    log(transfer_record::kind::ended);
  }
  void log(transfer_record::kind kind) {
    record_.what = kind;
    log_.append(record_);
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  odb::database& bank_;
  const transfer_settings& settings_;
  const transfer_log log_;
  std::mt19937_64 random_;
  teller hands_;
  transfer_record record_{};
  std::uint64_t number_ = 0;
  std::uint64_t from_ = 0;
  std::uint64_t to_ = 0;
  std::string stage_{};
  bool committed_ = false;
};

}  // namespace

void run_transfers(lock_service& locks, odb::database& bank, const transfer_settings& settings) {
  clerk clerk(locks, bank, settings);
  while (!stop_requested()) clerk.once();
}

}  // namespace dlock::test
