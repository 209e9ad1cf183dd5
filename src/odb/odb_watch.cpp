// SPDX-License-Identifier: BSL-1.0
#include <memory>
#include <utility>

#include "dlock/odb/verify.hpp"
#include "engine/books/transaction_watch.hpp"
#include "stores/sql/application_database.hpp"

namespace dlock::detail {

namespace {

/// The calling thread's current transaction, as ODB knows it.
class odb_watch final : public engine::transaction_watch {
 public:
  /// Nothing is sent on the caller's connection, which may be in the middle of an uncached result: where only the
  /// server could tell whether it is that of the locks, it is taken for it. A release waits for the transaction then.
  bool open_here(const store& store) noexcept override try {
    if (!odb::transaction::has_current()) return false;
    const auto* const application = dynamic_cast<const stores::sql::application_database*>(&store);
    return application != nullptr && application->glance(odb::transaction::current().connection()) != outcome::no;
  } catch (...) {
    return false;
  }

  bool at_end(const store& store, std::function<void()> ended) noexcept override try {
    if (!open_here(store)) return false;
    auto mine = std::make_unique<std::function<void()>>(std::move(ended));
    odb::transaction::current().callback_register(&call, mine.get(), odb::transaction::event_all, 0, nullptr);
    mine.release();
    return true;
  } catch (...) {
    return false;
  }

 private:
  static void call(unsigned short /*event*/, void* key, unsigned long long /*data*/) {
    const std::unique_ptr<std::function<void()>> mine(static_cast<std::function<void()>*>(key));
    (*mine)();
  }
};

}  // namespace

bool watch_odb_transactions() noexcept {
  static odb_watch* const watch = new (std::nothrow) odb_watch;  // never destroyed: threads may outlive main()
  if (watch != nullptr) watch_transactions(*watch);
  return watch != nullptr;
}

}  // namespace dlock::detail
