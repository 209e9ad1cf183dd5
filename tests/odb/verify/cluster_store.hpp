// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A store on an SQLite file that takes it for a cluster, whose nodes may roll a transaction back unseen: so the guard
/// of transactions runs where there is no cluster.

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dlock/store_interface/store_url.hpp"
#include "stores/sql/application_database.hpp"
#include "support/forwarding_store.hpp"

namespace dlock::test {

class cluster_database final : public stores::sql::application_database {
 public:
  explicit cluster_database(application_database& of) : of_(of) {}

  bool ends_unseen() const noexcept override { return true; }
  std::string catch_up() const override { return "SELECT 1"; }
  void break_off(const stores::sql::application_connection& with) const noexcept override {
    ++broken_off;
    of_.break_off(with);
  }

  verification verification_of(const request& grant) const override { return of_.verification_of(grant); }
  verification release_of(const request& grant) const override { return of_.release_of(grant); }
  reply blocker(connection& on, const request& key, connection_identity& out) noexcept override {
    return of_.blocker(on, key, out);
  }
  bool caller_may_wait(fault& why) const noexcept override { return of_.caller_may_wait(why); }
  stores::sql::client_library library() const noexcept override { return of_.library(); }
  outcome shares(const stores::sql::application_connection& with, fault& why) const override {
    return of_.shares(with, why);
  }
  outcome glance(const stores::sql::application_connection& with) const noexcept override { return of_.glance(with); }
  std::string why_elsewhere(const stores::sql::application_connection& with) const override {
    return of_.why_elsewhere(with);
  }
  stores::sql::transaction_state transaction_on(
      const stores::sql::application_connection& with) const noexcept override {
    return of_.transaction_on(with);
  }
  outcome describe(const stores::sql::application_connection& with, row_table& table, fault& why) const override {
    return of_.describe(with, table, why);
  }
  stores::sql::application_address address() const override { return of_.address(); }
  fault fault_of(int native, std::string_view sqlstate, std::string_view text) const override {
    return of_.fault_of(native, sqlstate, text);
  }
  bool may_be_done(const fault& why) const noexcept override { return of_.may_be_done(why); }
  std::string free_rows(const row_table& table) const override { return of_.free_rows(table); }
  std::string abandoned_rows(const row_table& table) const override { return of_.abandoned_rows(table); }
  std::string lock_and_skip(const row_table& table) const override { return of_.lock_and_skip(table); }
  std::string claim(const stores::sql::claim_request& request) const override { return of_.claim(request); }
  std::string rows_by_id(const row_table& table, std::span<const row_id* const> rows) const override {
    return of_.rows_by_id(table, rows);
  }
  std::string add_columns(const row_table& table) const override { return of_.add_columns(table); }
  stores::sql::done_statements mark_as_done(std::string_view key, std::optional<microseconds> valid,
                                            std::string_view by) const override {
    return of_.mark_as_done(key, valid, by);
  }

  mutable std::atomic<int> broken_off{0};  ///< connections that it was to end

 private:
  application_database& of_;
};

class cluster_store final : public forwarding_store {
 public:
  explicit cluster_store(const std::string& url) : forwarding_store(open_store(url)) {}

  transactional_store* transactions() noexcept override { return &database; }
  mark_store* marks() noexcept override { return inner().marks(); }

  cluster_database database{*stores::sql::application_database_of(inner())};
};

}  // namespace dlock::test
