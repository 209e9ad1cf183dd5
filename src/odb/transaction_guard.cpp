// SPDX-License-Identifier: BSL-1.0
#include "odb/transaction_guard.hpp"

#include <odb/database.hxx>
#include <odb/statement.hxx>
#include <odb/tracer.hxx>

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "odb/own_transaction.hpp"

namespace dlock::detail {

namespace {

/// Whether `word`, in capitals, is the first word of a statement.
bool begins_with(std::string_view statement, std::string_view word) {
  const auto end = std::find_if_not(statement.begin(), statement.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
  return std::equal(statement.begin(), end, word.begin(), word.end(),
                    [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
}

/// Replaces the tracer of the connection, which ODB calls at COMMIT, and that of the transaction, which takes
/// precedence before. It forwards to the replaced ones.
class transaction_guard final : public odb::tracer {
 public:
  explicit transaction_guard(const odb_application& application) : application_(application) {}

  void install(odb::transaction& in) {
    connection_.reset(odb::details::inc_ref(&in.connection()));
    of_transaction_ = in.tracer();
    of_connection_ = connection_->tracer();
    in.tracer(this);
    connection_->tracer(this);
  }

  void add(const void* about, transaction_check check, std::function<void()> missed) {
    const auto same =
        std::find_if(checks_.begin(), checks_.end(), [&](const auto& each) { return each.about == about; });
    if (same != checks_.end()) return;
    checks_.push_back({about, std::move(check), std::move(missed)});
  }
  void at_commit(transaction_check last) { last_ = std::move(last); }

  /// Called when the transaction has ended.
  void ended(bool committed) {
    const bool missed = committed && !over_;
    let_go();
    if (!missed) return;
    for (const auto& each : checks_) {
      if (each.missed) each.missed();
    }
  }

  void prepare(odb::connection& connection, const odb::statement& statement) override {
    if (auto* const to = theirs(connection)) to->prepare(connection, statement);
  }
  void execute(odb::connection& connection, const odb::statement& statement) override {
    before(statement.text());
    if (auto* const to = theirs(connection)) to->execute(connection, statement);
  }
  void execute(odb::connection& connection, const char* statement) override {
    auto* const to = theirs(connection);  // before the end of the transaction drops them
    before(statement);
    if (to != nullptr) to->execute(connection, statement);
  }
  void deallocate(odb::connection& connection, const odb::statement& statement) override {
    if (auto* const to = theirs(connection)) to->deallocate(connection, statement);
  }

 private:
  struct kept_check {
    const void* about;
    transaction_check check;
    std::function<void()> missed;
  };
  enum class since { nothing, writes, reads };

  odb::tracer* theirs(odb::connection& connection) const {
    if (of_transaction_ != nullptr && connection.transaction_tracer() == this) return of_transaction_;
    return of_connection_ != nullptr ? of_connection_ : connection.database().tracer();
  }

  void before(std::string_view statement) {
    if (over_ || checking_) return;
    const auto first = statement.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos) statement.remove_prefix(first);
    const auto is = [&](std::string_view word) { return begins_with(statement, word); };
    if (is("ROLLBACK") && statement.find_first_of(" \t") == std::string_view::npos) return let_go();
    if (failed_) std::rethrow_exception(failed_);
    if (is("COMMIT")) {
      if (last_) {
        check([this] { last_(*connection_); });
      } else {
        // Even if the guard has seen no statement, because the program may have replaced the transaction's tracer.
        check_all();
      }
      return let_go();
    }
    if (application_.transaction_on(*connection_) != stores::sql::transaction_state::open) check_all();
    if (is("SELECT")) {
      since_ = since::reads;
      return;
    }
    if (since_ == since::reads) check_all();
    constexpr std::array<std::string_view, 4> writes{"INSERT", "UPDATE", "DELETE", "REPLACE"};
    since_ = std::any_of(writes.begin(), writes.end(), is) ? since::writes : since::reads;
  }

  template <class Work>
  void check(Work work) {
    checking_ = true;
    try {
      ensure_open(application_, *connection_);
      work();
      // The reply to the UPDATE is the first one that reliably says whether a transaction is open.
      ensure_open(application_, *connection_);
    } catch (...) {
      failed_ = std::current_exception();
      // Not odb::transaction::rollback(), which returns the connection to the pool while a statement of ODB's uses it.
      try {
        connection_->execute("ROLLBACK");
      } catch (...) {
        application_.break_off(*connection_);
      }
      checking_ = false;
      throw;
    }
    checking_ = false;
    since_ = since::nothing;
  }

  void check_all() {
    check([this] {
      for (const auto& each : checks_) each.check(*connection_);
    });
  }

  /// ODB may give the connection to another thread as soon as it has sent the COMMIT.
  void let_go() noexcept {
    over_ = true;
    if (!connection_) return;
    if (connection_->tracer() == this) connection_->tracer(of_connection_);
    connection_.reset();
  }

  const odb_application application_;
  odb::connection_ptr connection_{};
  odb::tracer* of_transaction_ = nullptr;
  odb::tracer* of_connection_ = nullptr;
  std::vector<kept_check> checks_{};
  transaction_check last_{};
  std::exception_ptr failed_{};
  since since_ = since::nothing;
  bool checking_ = false;
  bool over_ = false;
};

transaction_guard* guard_of(odb::transaction& in) {
  if (auto* const of_transaction = dynamic_cast<transaction_guard*>(in.tracer())) return of_transaction;
  return dynamic_cast<transaction_guard*>(in.connection().tracer());
}

}  // namespace

void guard_transaction(odb::transaction& in, const odb_application& application, const void* about,
                       transaction_check check, std::function<void()> missed) {
  if (!application->ends_unseen()) return;
  auto* guard = guard_of(in);
  if (guard == nullptr) {
    const auto made = std::make_shared<transaction_guard>(application);
    at_outcome(in, [made](unsigned short event) { made->ended(event == odb::transaction::event_commit); });
    made->install(in);  // noexcept
    guard = made.get();
  }
  guard->add(about, std::move(check), std::move(missed));
}

void check_at_commit(odb::transaction& in, transaction_check last) {
  if (auto* const guard = guard_of(in)) guard->at_commit(std::move(last));
}

}  // namespace dlock::detail
