// SPDX-License-Identifier: BSL-1.0
// Statements for transactions of the application's, and who has one open.
#include <cstdlib>
#include <utility>

#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/store.hpp"

namespace dlock::stores::mysql::lease_table {

verification mysql_store::on_this_server(verification statement) const {
  const auto condition = and_here();
  statement.sql += condition;
  statement.text += condition;
  return statement;
}

verification mysql_store::about_key(const request& grant, const char* source,
                                    std::vector<sql::named_value> more) const {
  return sql::about_key(grant, row_sql_.names().expand(source), grant.fence, std::move(more), mysql_value_literal);
}

verification mysql_store::verification_of(const request& grant) const {
  return on_this_server(grant.row != nullptr ? row_sql_.verify(grant) : about_key(grant, sql::verify_source()));
}

verification mysql_store::release_of(const request& grant) const {
  if (grant.row != nullptr) return on_this_server(row_sql_.release(grant, zone()));
  if (grant.min_hold.count() <= 0) return on_this_server(about_key(grant, sql::source_of(statement_id::release)));
  return on_this_server(about_key(grant, sql::source_of(statement_id::release_min_hold),
                                  {{"min_hold", std::int64_t{grant.min_hold.count()}}}));
}

reply mysql_store::blocker(connection& connection, const request& key, connection_identity& out) noexcept {
  auto& with = static_cast<native&>(connection);
  return reply_or_in_doubt(with, "look for a verified transaction", [&] {
    reply answer;
    answer.result = outcome::no;
    // A row of the application's has no room for the number of a connection.
    if (key.row != nullptr) return answer;
    const auto text = sql::write_values(sql_.text(text_id::verifiers), {{"key", mysql_literal(key.resource)}});
    mysql_rows dirty;
    mysql_rows committed;
    // For the next statement alone. The dirty read comes first: what is committed in between is then no higher.
    answer.result = with.query("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "read uncommitted", nullptr, nullptr,
                               answer.why);
    if (answer.result == outcome::yes) {
      answer.result = with.query(text, "read uncommitted", &dirty, nullptr, answer.why);
      if (answer.result != outcome::yes) with.interrupt();  // or the next statement of others would read so
    }
    if (answer.result == outcome::yes)
      answer.result = with.query(text, "read committed", &committed, nullptr, answer.why);
    if (answer.result != outcome::yes) return answer;
    answer.result = outcome::no;
    if (dirty.empty() || committed.empty()) return answer;
    const auto number = [](const mysql_rows& from, std::size_t at) {
      return std::strtoull(from.at(0).at(at).value_or("0").c_str(), nullptr, 10);
    };
    if (number(dirty, 1) <= number(committed, 1) || number(dirty, 0) == 0) return answer;
    out = with.identity();
    out.id = number(dirty, 0);
    answer.result = outcome::yes;
    return answer;
  });
}

}  // namespace dlock::stores::mysql::lease_table
