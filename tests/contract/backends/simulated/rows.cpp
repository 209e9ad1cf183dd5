// SPDX-License-Identifier: BSL-1.0
// Rows of the simulated tables, and an application that changes them. Its statements are the few forms of SQL that the
// suite uses.
#include <fmt/format.h>

#include <charconv>

#include "contract/backends/simulated/direct_store.hpp"
#include "contract/row/row_contract.hpp"

namespace dlock::test {

namespace {

using simulation::database;
using simulation::lock_row;
using simulation::moment;

constexpr moment second = 1'000'000;

/// A statement, piece by piece: names, numbers, texts, signs.
class pieces {
 public:
  explicit pieces(std::string_view sql) : left_(sql) {}

  bool done() {
    skip();
    return left_.empty();
  }
  /// Takes it if it comes next.
  bool takes(std::string_view what) {
    skip();
    if (!left_.starts_with(what)) return false;
    left_.remove_prefix(what.size());
    return true;
  }
  void expect(std::string_view what) {
    if (!takes(what)) throw application::failed(fmt::format("'{}' is expected at '{}'", what, left_));
  }
  std::string name() {
    skip();
    const auto end = std::find_if(left_.begin(), left_.end(),
                                  [](unsigned char each) { return std::isalnum(each) == 0 && each != '_'; });
    std::string found(left_.begin(), end);
    left_.remove_prefix(found.size());
    return found;
  }
  std::string rest() const { return std::string(left_); }
  bool text_follows() {
    skip();
    return left_.starts_with("'");
  }
  std::string text() {
    expect("'");
    std::string found;
    for (std::size_t at = 0;; ++at) {
      if (at == left_.size()) throw application::failed("a text has no end");
      if (left_[at] == '\'' && left_.substr(at + 1, 1) != "'") {
        left_.remove_prefix(at + 1);
        return found;
      }
      if (left_[at] == '\'') ++at;
      found += left_[at];
    }
  }
  template <class Number>
  bool number(Number& into) {
    skip();
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), into);
    if (error != std::errc{}) return false;
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return true;
  }

 private:
  void skip() { left_.remove_prefix(std::min(left_.find_first_not_of(" \n"), left_.size())); }
  std::string_view left_;
};

/// "<session>/<nonce>", with verify's mark or without.
bool parse_owner(const std::string& text, lock_row& into) {
  const bool marked = text.size() == 50 && text.back() == '+';
  if ((text.size() != 49 && !marked) || text[32] != '/') return false;
  id128 session;
  for (std::size_t i = 0; i != 16; ++i) {
    const auto* const digits = text.data() + 2 * i;
    if (std::from_chars(digits, digits + 2, session.bytes[i], 16).ptr != digits + 2) return false;
  }
  std::uint64_t nonce = 0;
  if (std::from_chars(text.data() + 33, text.data() + 49, nonce, 16).ptr != text.data() + 49) return false;
  into.session = session;
  into.nonce = nonce;
  into.mark = marked;
  return true;
}

std::string owner_of(const lock_row& row) {
  if (!row.session) return row.foreign;
  return fmt::format("{}/{:016x}{}", row.session.hex(), row.nonce, row.mark ? "+" : "");
}

/// What all connections of a place share.
struct shared_tables {
  std::shared_ptr<direct_store> store;
  std::map<std::string, std::shared_ptr<const row_table>, std::less<>> tables{};
  std::map<std::string, std::int64_t> payloads{};
  std::uint64_t connections = 0;
};

class simulated_application final : public application {
 public:
  explicit simulated_application(shared_tables& in) : in_(in), me_(++in.connections) {}
  ~simulated_application() override { end(false); }

  std::uint64_t run(const std::string& sql) override {
    return in_.store->with_tables([&](database& tables) { return run(tables, pieces(sql)); });
  }
  std::optional<std::string> one(const std::string& sql) override {
    return in_.store->with_tables([&](database& tables) { return select(tables, pieces(sql)); });
  }
  std::vector<std::string> all(const std::string& sql) override { return {one(sql).value_or("")}; }
  void begin() override { open_ = true; }

 private:
  using change = std::function<void()>;

  std::uint64_t run(database& tables, pieces sql) {
    if (sql.takes("COMMIT") || sql.takes("ROLLBACK ")) return finish(tables, true);
    if (sql.takes("ROLLBACK")) return finish(tables, false);
    if (sql.takes("INSERT INTO")) return insert(tables, sql);
    if (sql.takes("UPDATE")) return update(tables, sql);
    if (sql.takes("PLAIN TAKE")) return plain_take(tables, sql);
    const bool verifies = sql.takes("VERIFY");
    if (!verifies) sql.expect("RELEASE");
    return with_grant(tables, sql, verifies);
  }

  std::uint64_t finish(database& tables, bool commits) {
    for (const auto& each : std::exchange(changes_, {})) {
      if (commits) each();
    }
    for (auto& [key, row] : tables.locks()) {
      if (row.locked_by == me_) row.locked_by = 0;
    }
    open_ = false;
    return 0;
  }
  void end(bool commits) {
    in_.store->with_tables([&](database& tables) { return finish(tables, commits); });
  }

  /// It is done now, or at the commit; until then nobody else comes to the row.
  void change_row(lock_row& row, change what) {
    if (row.locked_by != 0 && row.locked_by != me_) throw failed("the row is locked");
    if (!open_) return what();
    row.locked_by = me_;
    changes_.push_back(std::move(what));
  }

  const std::shared_ptr<const row_table>& table(const std::string& name) const { return in_.tables.at(name); }
  static row_value value(pieces& sql) {
    if (sql.text_follows()) return sql.text();
    std::int64_t number = 0;
    if (!sql.number(number)) throw failed("a value is expected");
    return number;
  }
  /// The keys of the rows that a condition selects: by its id, or by its owner.
  std::vector<std::string> where(database& tables, const std::shared_ptr<const row_table>& of, pieces& sql) {
    std::vector<std::string> found;
    const auto of_table = "\1" + of->label + ":";
    if (!sql.takes("WHERE")) {
      for (const auto& [key, row] : tables.locks()) {
        if (key.starts_with(of_table)) found.push_back(key);
      }
      return found;
    }
    std::vector<row_value> id;
    do {
      const auto column = sql.name();
      sql.expect("=");
      if (column == of->owner) {
        const auto owner = sql.text();
        for (const auto& [key, row] : tables.locks()) {
          if (key.starts_with(of_table) && owner_of(row) == owner) found.push_back(key);
        }
        return found;
      }
      id.push_back(value(sql));
    } while (sql.takes("AND"));
    const auto key = direct_store::name_of(row_id{of, id});
    if (tables.locks().contains(key)) found.push_back(key);
    return found;
  }

  std::uint64_t insert(database& tables, pieces& sql) {
    const auto& to = table(sql.name());
    while (!sql.takes("VALUES")) {
      if (!sql.takes("(") && !sql.takes(",") && !sql.takes(")")) sql.name();
    }
    std::vector<row_value> id;
    sql.expect("(");
    do id.push_back(value(sql));
    while (sql.takes(","));
    tables.make_row(direct_store::name_of(row_id{to, id}), to->renewal == row_renewal::column);
    return 1;
  }

  /// A number: itself, a time, or a column and what is added to it. None: NULL.
  std::optional<std::int64_t> number(pieces& sql, const row_table* of, const std::string& key, const lock_row* row) {
    std::int64_t found = 0;
    if (sql.takes("NULL")) return std::nullopt;
    if (sql.number(found)) return found;
    const auto name = sql.name();
    if (name == "now_us") {
      found = in_.store->clock();
    } else if (name == "now_s") {
      found = in_.store->clock() / second;
    } else {
      found = std::stoll(column(*of, name, key, *row).value_or("0"));
    }
    std::int64_t more = 0;
    sql.takes("+");
    if (sql.number(more)) found += more;
    return found;
  }

  std::uint64_t update(database& tables, pieces& sql) {
    const auto& of = table(sql.name());
    sql.expect("SET");
    struct assignment {
      std::string column;
      std::string value;  // and what follows it
    };
    std::vector<assignment> all;
    do {
      auto name = sql.name();
      sql.expect("=");
      all.push_back({std::move(name), sql.rest()});
      if (sql.text_follows()) {
        sql.text();
      } else {
        number(sql, of.get(), "", nullptr_row());
      }
    } while (sql.takes(","));
    const auto keys = where(tables, of, sql);
    for (const auto& key : keys) {
      auto& row = tables.locks().at(key);
      change_row(row, [this, &row, all, key, of] {
        for (const auto& each : all) assign(*of, each.column, pieces(each.value), key, row);
      });
    }
    return keys.size();
  }
  static const lock_row* nullptr_row() {
    static const lock_row none;
    return &none;
  }

  void assign(const row_table& of, const std::string& column, pieces to, const std::string& key, lock_row& row) {
    if (column == of.owner) {
      row.session = id128{};
      row.foreign = to.takes("NULL") ? std::string() : to.text();
      if (parse_owner(row.foreign, row)) row.foreign.clear();
      return;
    }
    const auto value = number(to, &of, key, &row);
    if (column == of.expires_at) {
      row.expires = value;
      if (value && row.by_column) row.expires = *value * second;
    } else if (column == of.fence) {
      row.fence = static_cast<std::uint64_t>(value.value_or(0));
    } else if (column == "payload") {
      in_.payloads[key] = value.value_or(0);
    } else {
      throw failed("there is no column " + column);
    }
  }

  std::optional<std::string> column(const row_table& of, const std::string& name, const std::string& key,
                                    const lock_row& row) {
    if (name == of.owner) return owner_of(row);
    if (name == of.fence) return std::to_string(row.fence);
    if (name == of.version) return std::to_string(row.version);
    if (name == "payload") return std::to_string(in_.payloads[key]);
    if (name != of.expires_at) throw failed("there is no column " + name);
    if (!row.expires) return std::nullopt;
    return std::to_string(row.by_column ? *row.expires / second : *row.expires);
  }

  std::optional<std::string> select(database& tables, pieces sql) {
    sql.expect("SELECT");
    const bool counts = sql.takes("COUNT(*)");
    if (!counts) {
      auto as_number = sql;
      if (as_number.takes("now_")) {
        return std::to_string(*number(sql, nullptr, "", nullptr));
      }
    }
    const auto name = counts ? std::string() : sql.name();
    sql.expect("FROM");
    const auto& of = table(sql.name());
    const auto keys = where(tables, of, sql);
    if (counts) return std::to_string(keys.size());
    if (keys.empty()) return std::nullopt;
    return column(*of, name, keys.front(), tables.locks().at(keys.front()));
  }

  std::uint64_t plain_take(database& tables, pieces& sql) {
    const auto& of = table(sql.name());
    std::int64_t seconds = 0;
    sql.number(seconds);
    const auto owner = sql.text();
    const auto keys = where(tables, of, sql);
    if (keys.empty() || !tables.plain_take(keys.front(), owner, seconds, in_.store->clock())) return 0;
    return 1;
  }

  std::uint64_t with_grant(database& tables, pieces& sql, bool verifies) {
    const auto key = sql.text();
    lock_row names;
    std::uint64_t nonce = 0;
    const auto session = sql.text();
    sql.number(nonce);
    if (!parse_owner(fmt::format("{}/{:016x}", session, nonce), names)) throw failed("no owner");
    request grant{.resource = key, .session = names.session, .nonce = nonce};
    sql.number(grant.fence);
    const auto found = tables.locks().find(key);
    if (found == tables.locks().end() || !database::holds(found->second, grant)) return 0;
    auto& row = found->second;
    change_row(row, [this, &tables, &row, verifies] {
      row.mark = verifies ? !row.mark : row.mark;
      if (!verifies) tables.free(row, in_.store->clock());
    });
    return 1;
  }

  shared_tables& in_;
  const std::uint64_t me_;
  bool open_ = false;
  std::vector<change> changes_{};
};

class simulated_row_fixture final : public virtual_fixture<direct_store, row_fixture> {
 public:
  std::shared_ptr<const row_table> make_table(const row_shape& shape) override {
    auto made = std::make_shared<row_table>();
    made->table = made->label = fmt::format("t{}", shared_.tables.size() + 1);
    made->id = {"id"};
    if (shape.id == row_id_kind::composite) made->id = {"region", "name"};
    made->owner = "owner";
    made->expires_at = "expires";
    made->fence = shape.fence_is_version ? "version" : "fence";
    if (!shape.fence_is_version) made->version = "version";
    made->renewal = shape.renewal;
    made->owner_not_null = shape.owner_not_null;
    shared_.tables[made->table] = made;
    return made;
  }
  std::unique_ptr<application> connect() override { return std::make_unique<simulated_application>(shared_); }

  std::string literal(const std::string& text) const override {
    std::string made = "'";
    for (const char each : text) made += each == '\'' ? std::string("''") : std::string(1, each);
    return made + "'";
  }
  std::string plain_take(const row_table& table, const std::string& condition, const std::string& owner,
                         int seconds) const override {
    return fmt::format("PLAIN TAKE {} {} {} WHERE {}", table.table, seconds, literal(owner), condition);
  }
  std::string plain_expiry(int seconds) const override { return fmt::format("now_s{:+}", seconds); }
  std::string expiry(microseconds from_now) const override { return fmt::format("now_us{:+}", from_now.count()); }
  bool locks_rows() const override { return true; }

 private:
  shared_tables shared_{opened()};
};

}  // namespace

std::unique_ptr<row_fixture> make_row_fixture() { return std::make_unique<simulated_row_fixture>(); }

}  // namespace dlock::test
