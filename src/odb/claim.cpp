// SPDX-License-Identifier: BSL-1.0
#include "dlock/odb/claim.hpp"

#include <fmt/format.h>

#include <map>
#include <span>
#include <stdexcept>

#include "api/access.hpp"
#include "odb/claim_query.hpp"
#include "odb/column_name.hpp"
#include "odb/own_transaction.hpp"

namespace dlock::detail {

namespace {

constexpr std::size_t most_rows = 500;

/// A claim in progress.
class claiming {
 public:
  claiming(lock_service& service, odb::database& db, const row_class& entity, const odb::query_base& query,
           const lock_settings& options, const row_reader& read)
      : home_(*access::core_of(service)),
        application_(application_of(home_)),
        db_(db),
        table_(table_of(service, db, entity)),
        query_(query),
        options_(options),
        read_(read) {
    if (application_->locks_joined_rows()) refuse_joins(entity, query);
  }

  std::vector<claimed_row> free_rows(std::size_t most) {
    auto grants = engine::adopt(home_, options_, table_->renewal, [&](engine::row_adoption& about) {
      std::vector<std::uint64_t> fences;
      try {
        with_retries(application_, home_.shared().options.release_limit, [&] { fences = take(about, most); });
      } catch (const odb::exception& error) {
        if (!about.unsure()) about.expect_none();  // rolled back
        failed(error);
      }
      return fences;
    });
    // Without the rows that came too late.
    std::vector<claimed_row> claimed;
    for (std::size_t i = 0; i < grants.size(); ++i) {
      if (grants[i] == nullptr) continue;
      rows_[i].held = access::make(std::move(grants[i]), false, true);
      claimed.push_back(std::move(rows_[i]));
    }
    return claimed;
  }

  /// Adds rows whose holders seem to be dead, one by one.
  void add_abandoned(std::vector<claimed_row>& to, std::size_t most) {
    const auto condition = application_->abandoned_rows(*table_);
    if (condition == "FALSE") return;
    const auto reading = [&](const std::function<void()>& read) {
      own_transaction in(home_, db_, own_transaction::use::reads);
      try {
        read();
      } catch (const odb::exception& error) {
        failed(error);
      }
      in.commit(application_);
    };
    std::vector<std::vector<row_value>> ids;
    reading([&] { ids = read_.ids(query_.narrowed(condition) + fmt::format("LIMIT {}", most - to.size())); });
    auto one_by_one = options_;
    one_by_one.reentry = reentry::busy;
    for (const auto& id : ids) {
      const auto key = lock_key::of_row(table_, id);
      lease held;
      try {
        auto got = engine::acquire(home_, key, one_by_one, {.once = true});
        if (got.held != nullptr) held = access::make(std::move(got.held), got.entered_again, got.first);
      } catch (const lock_refused& error) {
        if (error.code() != errc::no_such_row) throw;
      }
      if (!held) continue;
      // Another process may have been faster, done the work and freed the row, so the query must still match it.
      std::vector<claimed_row> loaded;
      reading([&] { loaded = read_.rows(query_.narrowed(by_ids({&key, 1}))); });
      if (loaded.empty()) continue;
      loaded.front().held = std::move(held);
      to.push_back(std::move(loaded.front()));
    }
  }

 private:
  /// Returns the fences of the rows that it took.
  std::vector<std::uint64_t> take(engine::row_adoption& about, std::size_t most) {
    own_transaction in(home_, db_, own_transaction::use::writes);
    rows_.clear();
    about.expect_none();
    about.commit_sent(false);
    const auto lock = fmt::format("LIMIT {}{}", most, application_->lock_and_skip(*table_));
    const auto ids = read_.ids(query_.narrowed(application_->free_rows(*table_)) + lock);
    std::vector<lock_key> keys;
    for (const auto& id : ids) {
      check_values(*table_, id);
      keys.push_back(lock_key::of_row(table_, id));
    }
    if (!keys.empty()) {
      std::vector<const row_id*> rows;
      for (const auto& key : keys) rows.push_back(key.row());
      const auto changed =
          execute_there(application_, in.connection(),
                        application_->claim({*table_, rows, about.session(), about.nonce(), about.own_ttl()}),
                        keys.size(), [&] { leads_elsewhere_now(home_.where()); });
      if (changed != keys.size()) {
        throw store_error(
            errc::store_failed,
            fmt::format("rows of {} to be claimed: {} of {} could be", table_->table, changed, keys.size()), 0, "",
            true);
      }
      load_taken(keys);
      if (application_->ends_unseen()) check_taken(in.connection(), about, keys.front());
      about.expect(keys);
    }
    std::vector<std::uint64_t> fences;
    for (const auto& row : rows_) fences.push_back(row.fence);
    in.commit(application_, [&] { about.commit_sent(true); });
    return fences;
  }

  /// Throws if the transaction lost the rows that it took, which one row shows: the cluster may have rolled it back
  /// while it loaded the rows.
  void check_taken(odb::connection& connection, const engine::row_adoption& about, const lock_key& one) const {
    const auto check = application_->verification_of({.action = verb::poll,
                                                      .resource = one.view(),
                                                      .session = about.session(),
                                                      .row = one.row(),
                                                      .nonce = about.nonce(),
                                                      .fence = rows_.front().fence});
    if (connection.execute(check.text) == check.expected_rows) return;
    throw store_error(errc::store_failed,
                      fmt::format("rows of {} to be claimed: the cluster has rolled the transaction back for a write "
                                  "of another node",
                                  table_->table),
                      1213, "40001", true);
  }

  void load_taken(const std::vector<lock_key>& keys) {
    std::map<lock_key, std::size_t> position;
    for (const auto& key : keys) position.emplace(key, position.size());
    rows_ = read_.rows(odb::query_base(by_ids(keys)));
    std::map<std::size_t, claimed_row> sorted;
    for (auto& row : rows_) sorted.emplace(position.at(lock_key::of_row(table_, row.id)), std::move(row));
    if (sorted.size() != keys.size()) {
      throw store_error(errc::store_failed,
                        fmt::format("rows of {} to be claimed: they can't be read by their ids", table_->table), 0, "",
                        false);
    }
    rows_.clear();
    for (auto& [at, row] : sorted) rows_.push_back(std::move(row));
  }

  void refuse_joins(const row_class& entity, const odb::query_base& query) const {
    if (!joins_tables(query, entity.columns(db_.id()), name_of(entity.owner, db_.id()).table, db_.id())) return;
    throw std::invalid_argument(fmt::format(
        "dlock: claim: the query about {} reads several tables, whose rows would be locked and passed over as well "
        "(MariaDB has no FOR UPDATE OF). If it follows a pointer, say it by a sub-query, \"pointer IN (SELECT id FROM "
        "other WHERE ...)\". If the class is derived from another mapped class, claim that one, and its discriminator "
        "in the query",
        table_->table));
  }

  std::string by_ids(std::span<const lock_key> keys) const {
    std::vector<const row_id*> ids;
    for (const auto& key : keys) ids.push_back(key.row());
    return application_->rows_by_id(*table_, ids);
  }

  [[noreturn]] void failed(const odb::exception& error) const {
    const auto why = application_.fault_of(error);
    std::throw_with_nested(store_error(why.connection ? errc::store_unreachable : errc::store_failed,
                                       fmt::format("rows of {} to be claimed: {}", table_->table, why.text), why.native,
                                       why.sqlstate, why.transient));
  }

  engine::service_core& home_;
  const odb_application application_;
  odb::database& db_;
  const std::shared_ptr<const row_table> table_;
  const claim_query query_;
  const lock_settings& options_;
  const row_reader& read_;
  std::vector<claimed_row> rows_;
};

}  // namespace

std::vector<claimed_row> claim_rows(lock_service& service, odb::database& db, const row_class& entity,
                                    const odb::query_base& query, std::size_t most, const lock_options& options,
                                    const row_reader& read) {
  if (most == 0 || most > most_rows) {
    throw std::invalid_argument(fmt::format("dlock: claim: most = {}: 1 to {} rows at a time", most, most_rows));
  }
  const auto terms = settled(options, access::core_of(service)->shared().defaults);
  if (terms.min_hold.count() > 0) {
    throw std::invalid_argument(
        fmt::format("dlock: claim: min_hold = {} ms: a row keeps no time of its grant", terms.min_hold.count()));
  }
  if (terms.mode != exclusive) throw std::invalid_argument("dlock: claim: mode: a row has one holder: exclusive");
  validate(terms);
  claiming claim(service, db, entity, query, terms, read);
  auto claimed = claim.free_rows(most);
  if (claimed.size() < most) claim.add_abandoned(claimed, most);
  return claimed;
}

}  // namespace dlock::detail
