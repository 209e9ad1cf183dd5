// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The lock tables of a database, as schema=create makes them and as people damage them.

#include "contract/store/store_contract.hpp"
#include "dlock/error.hpp"
#include "support/test.hpp"
#include "support/url_parameters.hpp"

namespace dlock::test {

/// A place for lock tables, which is empty at first, and a program beside dlock that may do anything to them.
class tables_fixture : public url_fixture {
 public:
  std::string url() const override { return more.empty() ? plain_url() : url(more); }
  /// With more parameters, e.g. "schema=verify".
  std::string url(const std::string& parameters) const { return with_parameters(plain_url(), parameters); }

  /// What the other program runs, and the first column of the first row that it reads.
  virtual void run(const std::string& sql) = 0;
  virtual std::string one(const std::string& sql) = 0;
  /// A lock table's name, as a statement needs it.
  virtual std::string table(const std::string& name) const = 0;
  virtual std::size_t tables() = 0;
  /// Other lock tables in the same database.
  virtual std::unique_ptr<tables_fixture> beside() = 0;
  /// What sql/schema-<database>.sql has for these tables.
  virtual std::vector<std::string> statements_by_hand() const = 0;
  /// All that is there of the tables, a line for each table and each row, with the same names at every place.
  virtual std::vector<std::string> contents() = 0;
  /// How this database keeps what schema=create makes.
  virtual void check_made() = 0;
  /// Whether schema=create makes a table or a row that an interrupted migration lacks. Others say the way out.
  virtual bool finishes_migrations() const = 0;

  std::string more{};  ///< parameters of the stores to come

 protected:
  virtual std::string plain_url() const = 0;
};

/// Defined by each backend.
std::unique_ptr<tables_fixture> make_tables_fixture();

/// What prepare() says; empty: nothing.
inline std::string complaint(const std::string& url) {
  try {
    open_store(url)->prepare();
  } catch (const store_error& e) {
    CHECK_THAT(std::string(e.what()), !ContainsSubstring("owner-pw") && !ContainsSubstring("app-pw"));
    return e.what();
  }
  return {};
}

}  // namespace dlock::test
