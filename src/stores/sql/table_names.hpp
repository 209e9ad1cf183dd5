// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Table and column names of the lock tables, as ODB generated them, with the table prefix of this store.

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/query.hxx>
#include <odb/traits.hxx>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "floor_entity.hpp"
#include "lock_entity.hpp"
#include "session_entity.hpp"

namespace dlock::stores::sql {

/// Immutable after it is filled.
class table_names {
 public:
  static constexpr std::string_view default_prefix = "dlock_";
  /// What ODB calls the set of our tables: the program may have mapped other classes.
  static constexpr const char* schema = "dlock";

  /// Throws std::invalid_argument unless the prefix is 1 to 40 letters, digits or underscores. `quote` is the
  /// database's quotation mark.
  table_names(std::string prefix, char quote);

  void add_table(const std::string& placeholder, std::string_view generated);
  void add_column(const std::string& placeholder, const char* generated);
  void add_text(const std::string& placeholder, std::string text);

  const std::string& prefix() const noexcept { return prefix_; }
  /// A table's name without quotation marks, e.g. for information_schema.
  std::string table(std::string_view name) const { return prefix_ + std::string(name); }
  std::string quoted_table(std::string_view name) const;

  /// Replaces {lock}, {lock.fence}, ... Throws std::logic_error for one that is not known.
  std::string expand(std::string_view sql) const;
  /// Null if it is not known.
  const std::string* find(std::string_view placeholder) const;
  /// Puts the prefix in place of the default one in a statement of ODB's, and makes the creation of a table
  /// harmless where it is there already.
  std::string adapt(std::string_view generated) const;

 private:
  std::string prefix_;
  char quote_;
  std::map<std::string, std::string, std::less<>> texts_{};
};

/// {lock}, {session}, {floor}, {version} and {lock.<column>}, {session.<column>}, {floor.<column>}. Needs the
/// generated headers of database `Id`.
template <odb::database_id Id>
table_names make_table_names(std::string prefix, char quote) {
  using lock_traits = odb::access::object_traits_impl<entities::lock_entity, Id>;
  using session_traits = odb::access::object_traits_impl<entities::session_entity, Id>;
  using floor_traits = odb::access::object_traits_impl<entities::floor_entity, Id>;
  using lock = odb::query_columns<entities::lock_entity, Id, lock_traits>;
  using session = odb::query_columns<entities::session_entity, Id, session_traits>;
  using floor = odb::query_columns<entities::floor_entity, Id, floor_traits>;
  table_names names(std::move(prefix), quote);
  names.add_table("lock", lock_traits::table_name);
  names.add_column("lock.lock_key", lock::lock_key.column());
  names.add_column("lock.session_id", lock::session_id.column());
  names.add_column("lock.nonce", lock::nonce.column());
  names.add_column("lock.fence", lock::fence.column());
  names.add_column("lock.acquired_at_us", lock::acquired_at_us.column());
  names.add_column("lock.expires_at_us", lock::expires_at_us.column());
  names.add_column("lock.verified_by", lock::verified_by.column());
  names.add_column("lock.verifies", lock::verifies.column());
  names.add_table("session", session_traits::table_name);
  names.add_column("session.id", session::id.column());
  names.add_column("session.expires_at_us", session::expires_at_us.column());
  names.add_column("session.ttl_us", session::ttl_us.column());
  names.add_column("session.beat", session::beat.column());
  names.add_column("session.revoked", session::revoked.column());
  names.add_column("session.host", session::host.column());
  names.add_column("session.pid", session::pid.column());
  names.add_column("session.label", session::label.column());
  names.add_column("session.started_at_us", session::started_at_us.column());
  names.add_column("session.boot", session::boot.column());
  names.add_table("floor", floor_traits::table_name);
  names.add_column("floor.id", floor::id.column());
  names.add_column("floor.fence", floor::fence.column());
  names.add_text("version", names.quoted_table("schema_version"));
  return names;
}

}  // namespace dlock::stores::sql
