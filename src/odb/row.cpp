// SPDX-License-Identifier: BSL-1.0
#include "dlock/odb/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "api/access.hpp"
#include "base/mutex.hpp"
#include "base/text.hpp"
#include "odb/column_name.hpp"
#include "odb/database_part.hpp"
#include "odb/own_transaction.hpp"

namespace dlock::detail {

column_name name_of(const odb::native_column_info* info, odb::database_id database) {
  const void* const column = info[database].column;
  if (column == nullptr) {
    throw std::invalid_argument(
        "dlock: the mapped class was not generated for this kind of database, or its generated code is not linked (a "
        "static library of it must be linked whole)");
  }
  if (const auto* const part = find_database_part(database)) return part->name_of(column);
  throw std::invalid_argument("dlock: rows in this kind of database can't be locked: no part of dlock::odb is for it");
}

namespace {

/// Cached facts about tables, each for one store, one of the application's databases and one class. Only entries of
/// destroyed stores are removed, because a program has few classes.
class known_tables {
 public:
  using address = std::tuple<const store*, std::string, std::type_index>;

  std::shared_ptr<const row_table> find(const address& key) {
    const base::lock_guard lock(mutex_);
    const auto found = tables_.find(key);
    return found == tables_.end() || found->second.store.expired() ? nullptr : found->second.table;
  }
  void add(const address& key, const std::shared_ptr<store>& store, std::shared_ptr<const row_table> table) {
    const base::lock_guard lock(mutex_);
    std::erase_if(tables_, [](const auto& each) { return each.second.store.expired(); });
    tables_.insert_or_assign(key, entry{store, std::move(table)});
  }

 private:
  struct entry {
    std::weak_ptr<dlock::store> store;
    std::shared_ptr<const row_table> table;
  };
  base::mutex mutex_;
  std::map<address, entry> tables_ DLOCK_GUARDED_BY(mutex_);
};

known_tables& known() {
  static known_tables* const all = new known_tables;  // never destroyed: threads may outlive main()
  return *all;
}

/// Returns "order" for "`shop`.`order`".
std::string label_of(const std::string& quoted) {
  std::string bare;
  for (const char each : quoted) {
    if (each != '`' && each != '"') bare.push_back(each);
  }
  return bare.substr(bare.rfind('.') + 1);
}

row_table named_table(const odb::database& db, const row_class& entity) {
  row_table table;
  const auto owner = name_of(entity.owner, db.id());
  table.table = owner.table;
  table.owner = owner.column;
  table.label = label_of(table.table);
  table.expires_at = name_of(entity.expires_at, db.id()).column;
  table.fence = name_of(entity.fence, db.id()).column;
  table.version = name_of(entity.version, db.id()).column;
  table.renewal = entity.renewal;
  table.owner_not_null = entity.renewal == row_renewal::column;
  return table;
}

[[noreturn]] void refuse(const store& store, const row_table& table, const fault& why) {
  const auto text = fmt::format("rows of {} can't be locked in place: {}", table.table,
                                engine::with_store_name(store.name(), why.text));
  if (why.connection || why.native != 0) {
    throw store_error(why.connection ? errc::store_unreachable : errc::store_failed, text, why.native, why.sqlstate,
                      why.transient);
  }
  throw std::invalid_argument("dlock: " + text +
                              (why.missing ? "; ODB's schema of the class makes the table, and "
                                             "dlock::add_lock_columns_sql() tells how to add the lock columns to one"
                                           : ""));
}

/// Databases compare the names of columns without regard to case.
bool same_column(const std::string& a, const std::string& b) {
  const auto bare = [](const std::string& name) {
    const bool quoted = name.size() > 1 && (name.front() == '`' || name.front() == '"');
    return base::lower_case(quoted ? name.substr(1, name.size() - 2) : name);
  };
  return bare(a) == bare(b);
}

/// Sorts the columns of the primary key in the order of the id's members. The table may have them in another order, and
/// a value at another's position would identify another row.
void order_id(row_table& table, const std::vector<std::string>& members) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("dlock: rows of {} can't be locked in place: {}", table.table, why));
  };
  if (members.empty()) refuse("ODB compares the columns of its id with more than their values");
  const auto unfit = [&] {
    refuse(fmt::format("its class has the id ({}), and its primary key is ({})", fmt::join(members, ", "),
                       fmt::join(table.id, ", ")));
  };
  if (members.size() != table.id.size()) unfit();
  std::vector<std::string> ordered;
  std::vector<text_column> texts;
  for (const auto& member : members) {
    const auto found =
        std::find_if(table.id.begin(), table.id.end(), [&](const auto& each) { return same_column(each, member); });
    if (found == table.id.end()) unfit();
    ordered.push_back(*found);
    if (!table.id_text.empty()) texts.push_back(table.id_text.at(static_cast<std::size_t>(found - table.id.begin())));
  }
  table.id = std::move(ordered);
  table.id_text = std::move(texts);
}

std::shared_ptr<const row_table> described(engine::service_core& home, const odb_application& application,
                                           odb::database& db, const row_class& entity) {
  const auto& store = home.where();
  auto table = named_table(db, entity);
  auto connection = db.connection();
  fault why;
  switch (application.shares(*connection, why)) {
    case outcome::yes: break;
    case outcome::no: {
      if (const auto reason = application.why_elsewhere(*connection); !reason.empty()) {
        throw std::invalid_argument(fmt::format("dlock: rows of {} can't be locked in place: {}", table.table, reason));
      }
      auto address = application.address_of(db);
      // SQLite's address begins with the numbers of its file, which mean nothing to a reader.
      if (db.id() == odb::id_sqlite) address = address.substr(std::min(address.find('/'), address.size()));
      throw std::invalid_argument(
          fmt::format("dlock: table {} is in {}, but the locks live in {}: rows can be locked in place only where both "
                      "are one server (SQLite: one file)",
                      table.table, address.empty() ? "another database" : address, store.name()));
    }
    default: refuse(store, table, why);
  }
  if (application.describe(*connection, table, why) != outcome::yes) refuse(store, table, why);
  order_id(table, entity.columns(db.id()).id);
  return std::make_shared<const row_table>(std::move(table));
}

}  // namespace

std::shared_ptr<const row_table> table_of(lock_service& service, odb::database& db, const row_class& entity) {
  auto& home = *access::core_of(service);
  home.refuse_if_forked();
  const auto& store = home.all().statements.shared_store();
  const auto application = application_of(home);
  const known_tables::address address{store.get(), application.address_of(db), entity.type};
  const bool lasting = !std::get<1>(address).empty();
  if (lasting) {
    if (auto found = known().find(address)) return found;
  }
  auto table = described(home, application, db, entity);
  if (lasting) known().add(address, store, table);
  return table;
}

void check_values(const row_table& table, std::span<const row_value> id) {
  if (id.size() == table.id.size()) return;
  throw std::invalid_argument(fmt::format(
      "dlock: rows of {} can't be locked in place: its id has {} values, but its primary key {} columns ({}): "
      "no member of the id may be transient",
      table.table, id.size(), table.id.size(), fmt::join(table.id, ", ")));
}

lock_key row_key(lock_service& service, odb::database& db, const row_class& entity, std::vector<row_value> id) {
  for (const auto& each : id) {
    if (const auto* const text = std::get_if<std::string>(&each); text != nullptr && text->empty()) {
      throw std::invalid_argument(
          fmt::format("dlock: id of a row of {}: '' is empty", name_of(entity.owner, db.id()).table));
    }
  }
  auto table = table_of(service, db, entity);
  check_values(*table, id);
  if (const auto why = application_of(*access::core_of(service))->unfit_id(*table, id); !why.empty()) {
    throw std::invalid_argument(fmt::format("dlock: id of a row of {}: {}", table->table, why));
  }
  return lock_key::of_row(std::move(table), std::move(id));
}

std::string add_lock_columns(lock_service& service, odb::database& db, const row_class& entity) {
  return application_of(*access::core_of(service))->add_columns(named_table(db, entity));
}

}  // namespace dlock::detail
