// SPDX-License-Identifier: BSL-1.0
// Acquire and release on tables that other programs share, beside dlock's own two statements by hand, and beside those
// by which such a program does it, which say less: prepared, same table, same unix socket, durable commits.
#include <mysql.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "by_hand.hpp"
#include "dlock/dlock.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/mysql.hpp"
#include "placement.hpp"
#include "sql_tables.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/client/native.hpp"
#include "stores/mysql/shared_table/row_schemes.hpp"
#include "stores/mysql/t_lock/store.hpp"

namespace {

using dlock::verb;
using dlock::bench::by_hand;
using dlock::bench::figures;
using dlock::bench::need_env;
using dlock::bench::placed;
using dlock::bench::placement;
using dlock::bench::raw_database;
namespace stores = dlock::stores::mysql;
using dlock::stores::shedlock_options;
using dlock::stores::state_row_options;
using dlock::stores::t_lock_options;
using dlock::stores::unique_insert_options;
using stores::shared_table::scheme_sql;

template <auto Scheme, class Options>
scheme_sql ours_of(const dlock::store_url& at) {
  const auto scheme = Scheme(at, Options{});
  stores::mysql_client client(scheme.settings);
  dlock::fault why;
  const auto with = client.open<stores::mysql_connection>(scheme.settings.connect_timeout, {}, why);
  if (!with) throw std::runtime_error(why.text);
  return scheme.make_sql(stores::shared_table::layout::read(*with, scheme.settings));
}

struct scheme {
  const char* name;
  verb first;          ///< what takes a free key
  bool counts_grants;  ///< and names a grant by its number
  scheme_sql (*ours)(const dlock::store_url& at);
  const char* take;
  const char* free;
  const char* make_row;  ///< beforehand; empty: none
};

constexpr scheme schemes[] = {
    {"unique_insert", verb::insert, false, ours_of<stores::shared_table::unique_insert, unique_insert_options>,
     "insert into bench_locks (resource, lock_owner, lock_expire_time) values (?, 'by-hand-1', date_add(now(), "
     "interval 30 second))",
     "delete from bench_locks where resource = ? and lock_owner = 'by-hand-1'", ""},
    {"state_row", verb::take, false, ours_of<stores::shared_table::state_row, state_row_options>,
     "update bench_locks set lock_state = 1, lock_info = 'by-hand-1', expiration_time = (now() + interval 1 minute) "
     "where lock_name = ? and lock_state = 0",
     "update bench_locks set lock_state = 0 where lock_name = ? and lock_state = 1",
     "insert into bench_locks (lock_name, lock_state, lock_info) values ('raw:4711', 0, '')"},
    {"shedlock", verb::take, false, ours_of<stores::shared_table::shedlock, shedlock_options>,
     "update bench_locks set lock_until = timestampadd(microsecond, 60000000, utc_timestamp(3)), locked_at = "
     "utc_timestamp(3), locked_by = 'by-hand-1' where name = ? and lock_until <= utc_timestamp(3)",
     "update bench_locks set lock_until = utc_timestamp(3) where name = ? and locked_by = 'by-hand-1'",
     "insert into bench_locks (name, locked_by) values ('raw:4711', '')"},
    {"t_lock", verb::take, true, ours_of<stores::t_lock::t_lock_scheme, t_lock_options>,
     "UPDATE bench_locks SET request_id = 'by-hand-1',lock_count = 1,timeout = 4102444800000,version = version + 1 "
     "WHERE lock_key = ? AND request_id = ''",
     "UPDATE bench_locks SET request_id = '',lock_count = 0,timeout = 0,version = version + 1 WHERE lock_key = ? AND "
     "request_id = 'by-hand-1'",
     "insert into bench_locks (lock_key) values ('raw:4711')"},
};

/// dlock's own statements by hand.
class same_by_hand : raw_database {
 public:
  same_by_hand(const dlock::store_url& at, const scheme& of, const scheme_sql& sql)
      : raw_database(at), counts_grants_(of.counts_grants) {
    for (const auto& each : sql.at_start) run(each);
    const auto quick = of.first == verb::take;
    take_ = prepared(quick ? stores::quick_prefix : "", sql.verbs[static_cast<std::size_t>(of.first)]);
    free_ = prepared("", sql.verbs[static_cast<std::size_t>(verb::release)]);
  }

  void pair() {
    name_owner(attempt);
    change(take_.get());
    if (counts_grants_) name_owner(any_attempt + std::to_string(mysql_stmt_insert_id(take_.get())));
    change(free_.get());
  }

 private:
  struct closing {
    void operator()(MYSQL_STMT* statement) const noexcept { mysql_stmt_close(statement); }
  };
  using statement = std::unique_ptr<MYSQL_STMT, closing>;

  statement prepared(std::string_view prefix, const dlock::stores::sql::statement_text& from) {
    statement made(mysql_stmt_init(my_));
    const auto sql = std::string(prefix) + from.sql;
    check(mysql_stmt_prepare(made.get(), sql.data(), static_cast<unsigned long>(sql.size())) == 0);
    std::vector<MYSQL_BIND> binds;
    for (const auto parameter : from.parameters) {
      MYSQL_BIND bind{};
      const auto name = stores::shared_table::parameter_names.at(parameter);
      if (name == "ttl") {
        bind.buffer_type = MYSQL_TYPE_LONGLONG;
        bind.buffer = &ttl_;
      } else if (name == "key" || name == "owner") {
        bind.buffer_type = MYSQL_TYPE_STRING;
        bind.buffer = name == "key" ? key_.data() : owner_.data();
        bind.length = name == "key" ? &key_size_ : &owner_size_;
      } else {
        throw std::logic_error("parameter " + std::string(name));
      }
      binds.push_back(bind);
    }
    check(mysql_stmt_bind_param(made.get(), binds.data()) == 0);
    return made;
  }
  void name_owner(std::string_view text) {
    owner_size_ = static_cast<unsigned long>(text.copy(owner_.data(), owner_.size()));
  }
  void change(MYSQL_STMT* by) {
    check(mysql_stmt_execute(by) == 0);
    if (mysql_stmt_affected_rows(by) != 1) throw std::runtime_error("nothing was changed");
  }

  static constexpr const char* attempt = "0123456789abcdef0123456789abcdef/0123456789abcdef";
  inline static const std::string any_attempt = "0123456789abcdef0123456789abcdef/________________/";
  const bool counts_grants_;
  std::string key_ = "raw:4711";
  unsigned long key_size_ = key_.size();
  std::string owner_ = std::string(64, '\0');
  unsigned long owner_size_ = 0;
  std::int64_t ttl_ = 30'000'000;
  statement take_, free_;
};

void compare(const scheme& of, const dlock::store_url& at) {
  {
    raw_database tables(at);
    tables.run("drop table if exists bench_locks");
    dlock::bench::make_tables(tables, of.name, at.path, "bench_locks");
    if (*of.make_row != '\0') tables.run(of.make_row);
  }
  const placed here(placement::a_processor_each, need_env("DLOCK_TEST_MYSQL_SOCKET"));
  by_hand raw(at, of.take, of.free);
  const auto url = dlock::bench::by_socket(at) + "&table=bench_locks&scheme=" + of.name;
  same_by_hand same(at, of, of.ours(dlock::store_url::parse(url)));
  dlock::lock_service locks{url};
  const dlock::lock_key key("our:4711");
  const dlock::lock_options options;
  { const dlock::lease make_row = locks.acquire(key, options); }
  const auto ours = [&] { const dlock::lease held = locks.acquire(key, options); };
  const auto name = std::string(of.name) + ": acquire+release, 1 thread";
  dlock::bench::compare(
      name, 41, 300, [&] { raw.pair(); }, ours);
  dlock::bench::compare(name + ", same statements", 41, 300, [&] { same.pair(); }, ours, {.at_least = 0.75});
  dlock::bench::compare(
      name + ", both by hand", 41, 300, [&] { raw.pair(); }, [&] { same.pair(); });
}

}  // namespace

int main() {
  const auto at = dlock::store_url::parse(need_env("DLOCK_TEST_MYSQL_OWNER_URL"));
  for (const auto& each : schemes) compare(each, at);
  raw_database(at).run("drop table bench_locks");
  return figures::exit_code();
}
