// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"
#include "stores/sqlite/client/caller.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

struct column {
  std::string name{};
  std::string type{};
  bool not_null = false;
};

/// A table as the application's connection sees it.
struct description {
  std::map<std::string, column> columns{};  // by name in lower case
  std::map<std::int64_t, std::string> key{};

  /// Returns SQLITE_DONE, or an error.
  int read(sqlite3* handle, const std::string& table) {
    sqlite_statement s;
    int code = s.prepare(handle, "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)");
    if (code != SQLITE_OK) return ::sqlite3_extended_errcode(handle);
    s.bind_text(1, table);
    while ((code = s.step()) == SQLITE_ROW) {
      const std::string name(s.text(0));
      columns[base::lower_case(name)] = {name, base::lower_case(s.text(1)), s.integer(2) != 0};
      if (s.integer(3) > 0) key[s.integer(3)] = name;
    }
    return code == SQLITE_DONE ? code : ::sqlite3_extended_errcode(handle);
  }
};

/// Whether SQLite converts values in a column of that declared type to numbers.
bool holds_numbers(const std::string& type) {
  constexpr std::array<std::string_view, 4> kinds{"int", "real", "floa", "doub"};
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](std::string_view kind) { return type.find(kind) != std::string::npos; });
}

/// Returns what is wrong with the lock columns, or an empty text. Sets owner_not_null, and `absent` if one is missing.
std::string check_columns(const description& found, row_table& table, bool& absent) {
  const auto find = [&](const std::string& name) -> const column* {
    const auto at = found.columns.find(base::lower_case(sql::bare_name(name, '"')));
    return at == found.columns.end() ? nullptr : &at->second;
  };
  const auto missing = [&](const std::string& name, const char* purpose) {
    absent = true;
    return fmt::format("has no column {} ({})", name, purpose);
  };
  const column* owner = find(table.owner);
  if (owner == nullptr) return missing(table.owner, "the owner: TEXT");
  if (holds_numbers(owner->type)) return fmt::format("column {} is {}, not TEXT", table.owner, owner->type);
  const column* fence = find(table.fence);
  if (fence == nullptr) return missing(table.fence, "the fence: INTEGER");
  const column* expires = find(table.expires_at);
  const bool column_renewed = table.renewal == row_renewal::column;
  if (expires == nullptr) {
    return missing(table.expires_at, column_renewed ? "the expiry: TIMESTAMP" : "the expiry: INTEGER NULL");
  }
  if (column_renewed && holds_numbers(expires->type)) {
    return fmt::format("column {} is {}: with row_renewal::column it holds text, 'YYYY-MM-DD HH:MM:SS' in UTC",
                       table.expires_at, expires->type);
  }
  if (!column_renewed && expires->not_null) {
    return fmt::format("column {} is NOT NULL, but NULL means that the holder's session keeps the row",
                       table.expires_at);
  }
  if (!table.version.empty() && find(table.version) == nullptr) {
    return missing(table.version, "the version: INTEGER");
  }
  table.owner_not_null = owner->not_null;
  return {};
}

/// Returns null for a connection of another library.
sqlite3* native_of(const sql::application_connection& with) noexcept {
  return with.library == sql::client_library::sqlite ? static_cast<sqlite3*>(with.handle) : nullptr;
}

/// Whether the name leads to another file than the one that the connection opened under it.
bool has_moved(sqlite3* handle) noexcept {
  int moved = 0;
  ::sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0;
}

/// Whether a connection has a write transaction open in the file, be it its main database or an attached one.
bool writes_to(sqlite3* handle, const file_id& file) noexcept {
#if SQLITE_VERSION_NUMBER >= 3039000
  for (int i = 0; const char* schema = ::sqlite3_db_name(handle, i); ++i) {
    if (::sqlite3_txn_state(handle, schema) != SQLITE_TXN_WRITE) continue;
    if (file_id::of(::sqlite3_db_filename(handle, schema)) == file) return true;
  }
  return false;
#else
  return ::sqlite3_txn_state(handle, "main") == SQLITE_TXN_WRITE &&
         file_id::of(::sqlite3_db_filename(handle, "main")) == file;
#endif
}

}  // namespace

// ---- statements for its transactions --------------------------------------------------------------------------------

std::vector<sql::named_value> sqlite_application_database::verifier() const {
  return {{"connection", std::int64_t{::getpid()}}};
}

const char* sqlite_application_database::release_min_hold() const {
  // Holder and fence stay. An end that has passed already frees the key as well.
  return R"(
UPDATE {rows}
SET {lock.expires_at_us} = {lock.acquired_at_us} + :min_hold
WHERE {row}
  AND {ours}
)";
}

bool sqlite_application_database::caller_may_wait(fault& why) const noexcept try {
  auto* const theirs = connection_of_caller();
  if (theirs == nullptr) return true;
  const std::string& path = file_->settings.path;
  const file_id ours = file_id::of(path.c_str());
  if (ours == file_id{} || !writes_to(theirs, ours)) return true;
  why = {
      .native = SQLITE_BUSY,
      .text = fmt::format("SQLite file '{}': this thread's current transaction writes to that file, so waiting for a "
                          "lock in it would wait for itself; take the lock before the transaction begins, or give "
                          "the locks a separate file",
                          path)};
  return false;
} catch (...) {
  why = out_of_memory().why;
  return false;
}

// ---- its connections and tables -------------------------------------------------------------------------------------

outcome sqlite_application_database::shares(const sql::application_connection& with, fault& why) const {
  const std::string& path = file_->settings.path;
  if (native_of(with) != nullptr && file_id::of(path.c_str()) == file_id{}) {
    why = sqlite_fault(SQLITE_CANTOPEN, path, "the file is not there any more");
    return outcome::unknown;
  }
  return glance(with);
}

outcome sqlite_application_database::glance(const sql::application_connection& with) const noexcept {
  auto* const theirs = native_of(with);
  if (theirs == nullptr) return outcome::no;
  const file_id ours = file_id::of(file_->settings.path.c_str());
  if (ours == file_id{} || file_id::of(::sqlite3_db_filename(theirs, "main")) != ours) return outcome::no;
  return has_moved(theirs) ? outcome::no : outcome::yes;
}

std::string sqlite_application_database::why_elsewhere(const sql::application_connection& with) const {
  auto* const theirs = native_of(with);
  if (theirs == nullptr || !has_moved(theirs)) return {};
  return fmt::format(
      "the file '{}' was replaced, moved or deleted since this connection opened it: open the database "
      "and the lock service anew",
      ::sqlite3_db_filename(theirs, "main"));
}

sql::transaction_state sqlite_application_database::transaction_on(
    const sql::application_connection& with) const noexcept {
  return ::sqlite3_get_autocommit(native_of(with)) == 0 ? sql::transaction_state::open : sql::transaction_state::none;
}

outcome sqlite_application_database::describe(const sql::application_connection& with, row_table& table,
                                              fault& why) const {
  return describe_table(native_of(with), *file_, table, why);
}

outcome describe_table(sqlite3* handle, const lease_file& file, row_table& table, fault& why) {
  const auto refuse = [&](std::string_view problem, bool missing = false) {
    why = {.missing = missing,
           .text = fmt::format("SQLite file '{}': table {} {}", file.settings.path, table.table, problem)};
    return outcome::failed;
  };
  if (handle == nullptr) return refuse("is not in it: the connection is to another kind of database");
  description found;
  if (const int code = found.read(handle, sql::bare_name(table.table, '"')); code != SQLITE_DONE) {
    why = sqlite_fault(code, file.settings.path, ::sqlite3_errmsg(handle));
    return outcome::failed;
  }
  if (found.columns.empty()) return refuse("does not exist", true);
  if (found.key.empty()) return refuse("has no primary key, by which its rows could be locked");
  bool absent = false;
  if (const std::string wrong = check_columns(found, table, absent); !wrong.empty()) return refuse(wrong, absent);
  table.id.clear();
  for (const auto& [position, name] : found.key) table.id.push_back(sql::quoted_name(name, '"'));
  if (table.label.empty()) table.label = sql::bare_name(table.table, '"');
  return outcome::yes;
}

sql::application_address sqlite_application_database::address() const {
  return {.database = file_->settings.path, .busy_timeout = file_->settings.busy_timeout};
}

fault sqlite_application_database::fault_of(int native, std::string_view /*sqlstate*/, std::string_view text) const {
  const std::string& path = file_->settings.path;
  if (native == 0) return {.text = fmt::format("SQLite file '{}': {}", path, text)};
  return sqlite_fault(native, path, std::string(text));
}

bool sqlite_application_database::may_be_done(const fault& why) const noexcept { return may_be_committed(why.native); }

}  // namespace dlock::stores::sqlite::lease_table
