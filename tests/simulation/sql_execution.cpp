// SPDX-License-Identifier: BSL-1.0
#include "simulation/sql_execution.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

namespace dlock::simulation::sql {

namespace {

using kind = expression::kind;

// ---- values ---------------------------------------------------------------------------------------------------------

bool null(const value& one) { return one.index() == 0; }
std::int64_t number(const value& one) { return null(one) ? 0 : std::get<std::int64_t>(one); }
bool truth(const value& one) { return number(one) != 0; }
value truth_value(bool one) { return std::int64_t{one ? 1 : 0}; }
value id_value(const id128& id) {
  return id ? value(std::string(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size())) : value();
}
id128 id_of(const value& from) {
  id128 made;
  if (null(from)) return made;
  const auto& bytes = std::get<std::string>(from);
  if (bytes.size() != made.bytes.size()) throw std::logic_error("an id has 16 bytes");
  std::copy(bytes.begin(), bytes.end(), made.bytes.begin());
  return made;
}

[[noreturn]] void no_column(std::string_view table, std::string_view name) {
  throw std::logic_error("the simulated table " + std::string(table) + " has no column " + std::string(name));
}

// ---- rows -----------------------------------------------------------------------------------------------------------

/// A row of one of the tables; without one, of an outer join that has found none.
struct bound_row {
  const source* of = nullptr;
  const std::string* key = nullptr;
  const lock_row* lock = nullptr;
  const std::pair<const id128, session_row>* session = nullptr;
  const member_row* member = nullptr;
  std::uint64_t floor = 0;
  bool there = true;

  value column(std::string_view name) const;
};

value column_of(const std::string& key, const lock_row& row, std::string_view name) {
  if (name == "lock_key") return key;
  if (name == "session_id") return id_value(row.session);
  if (name == "nonce") return static_cast<std::int64_t>(row.nonce);
  if (name == "fence") return static_cast<std::int64_t>(row.fence);
  if (name == "acquired_at_us") return row.acquired;
  if (name == "expires_at_us") return row.expires ? value(*row.expires) : value();
  if (name == "verifies") return static_cast<std::int64_t>(row.closings);
  if (name == "verified_by") return static_cast<std::int64_t>(row.verified_by);
  no_column("dlock_lock", name);
}

value column_of(const std::string& key, const member_row& row, std::string_view name) {
  if (name == "lock_key") return key;
  if (name == "session_id") return id_value(row.session);
  if (name == "nonce") return static_cast<std::int64_t>(row.nonce);
  if (name == "units") return static_cast<std::int64_t>(row.units);
  if (name == "fence") return static_cast<std::int64_t>(row.fence);
  if (name == "joined_at_us") return row.joined;
  if (name == "verified_by" || name == "verifies") return std::int64_t{0};
  no_column("dlock_member", name);
}

value column_of(const id128& id, const session_row& row, std::string_view name) {
  if (name == "id") return id_value(id);
  if (name == "expires_at_us") return row.expires;
  if (name == "revoked") return truth_value(row.revoked);
  if (name == "host") return row.host;
  if (name == "pid") return row.pid;
  if (name == "label") return row.label;
  no_column("dlock_session", name);
}

value bound_row::column(std::string_view name) const {
  if (!there) return {};
  if (lock != nullptr) return column_of(*key, *lock, name);
  if (member != nullptr) return column_of(*key, *member, name);
  if (session != nullptr) return column_of(session->first, session->second, name);
  if (name == "id") return std::int64_t{1};
  if (name == "fence") return static_cast<std::int64_t>(floor);
  no_column(of->table, name);
}

/// The tables that a part of a statement sees.
struct tables {
  const database::rows* locks;
  const database::sessions* sessions;
  const database::members* members;
  std::uint64_t floor;

  std::vector<bound_row> rows_of(const source& one) const {
    std::vector<bound_row> found;
    if (one.table == "dlock_lock") {
      for (const auto& [key, row] : *locks) found.push_back({.of = &one, .key = &key, .lock = &row});
    } else if (one.table == "dlock_member") {
      for (const auto& [key, some] : *members) {
        for (const auto& each : some) found.push_back({.of = &one, .key = &key, .member = &each});
      }
    } else if (one.table == "dlock_session") {
      for (const auto& each : *sessions) found.push_back({.of = &one, .session = &each});
    } else if (one.table == "dlock_floor") {
      found.push_back({.of = &one, .floor = floor});
    } else {
      throw std::logic_error("there is no simulated table " + one.table);
    }
    return found;
  }
};

using scope = std::vector<bound_row>;

// ---- one statement --------------------------------------------------------------------------------------------------

class execution {
 public:
  execution(call& one, database& on, moment clock) : call_(one), on_(on), clock_(clock) {
    present_ = {&on.locks(), &on.all_sessions(), &on.all_members(), on.floor()};
    beside_ = present_;
    if (one.then != nullptr) beside_ = {&one.then->locks, &one.then->session_rows, &one.then->member_rows, on.floor()};
  }

  reply run() {
    const auto& what = *call_.what;
    reply made;
    switch (what.what) {
      case statement::kind::select: select(); return {.result = outcome::yes};
      case statement::kind::insert: return insert(what);
      case statement::kind::update: made.result = update(what) ? outcome::yes : outcome::no; break;
      case statement::kind::remove: made.result = remove(what) ? outcome::yes : outcome::no; break;
    }
    if (made.result == outcome::yes) made.fence = returned_;
    return made;
  }

 private:
  // ---- expressions --------------------------------------------------------------------------------------------------

  value evaluate(const expression& one, const scope& in, const std::vector<scope>* group = nullptr) {
    const auto of = [&](std::size_t which) { return evaluate(one.of[which], in, group); };
    switch (one.what) {
      case kind::null: return {};
      case kind::number: return one.number;
      case kind::bytes: return one.name;
      case kind::now: return clock_;
      case kind::parameter: {
        const auto at = call_.values.find(one.name);
        if (at == call_.values.end()) throw std::logic_error("a statement has no value for :" + one.name);
        return at->second;
      }
      case kind::column: return column(one, in);
      case kind::negation: {
        const auto inner = of(0);
        return null(inner) ? inner : truth_value(!truth(inner));
      }
      case kind::all_of:
      case kind::any_of: {
        const bool decides = one.what == kind::any_of;
        bool unsure = false;
        for (const auto& each : one.of) {
          const auto part = evaluate(each, in, group);
          if (!null(part) && truth(part) == decides) return part;
          unsure = unsure || null(part);
        }
        return unsure ? value() : truth_value(!decides);
      }
      case kind::compare: return compare(one.name, of(0), of(1));
      case kind::add:
      case kind::subtract: {
        const auto left = of(0), right = of(1);
        if (null(left) || null(right)) return {};
        return one.what == kind::add ? number(left) + number(right) : number(left) - number(right);
      }
      case kind::is_null: return truth_value(null(of(0)));
      case kind::is_not_null: return truth_value(!null(of(0)));
      case kind::in_list: {
        const auto left = of(0);
        for (std::size_t i = 1; i < one.of.size(); ++i) {
          if (truth(compare("=", left, of(i)))) return truth_value(true);
        }
        return truth_value(false);
      }
      case kind::case_of: {
        const auto left = of(0);
        for (std::size_t i = 1; i + 1 < one.of.size(); i += 2) {
          if (truth(compare("=", left, of(i)))) return of(i + 1);
        }
        return of(one.of.size() - 1);
      }
      case kind::case_when: {
        for (std::size_t i = 0; i + 1 < one.of.size(); i += 2) {
          if (truth(of(i))) return of(i + 1);
        }
        return of(one.of.size() - 1);
      }
      case kind::call: return call_function(one, in, group);
      case kind::exists: return truth_value(!rows_of(*one.inner, in, view_of(*one.inner)).empty());
      case kind::scalar: {
        const auto rows = rows_of(*one.inner, in, view_of(*one.inner));
        return evaluate(one.inner->columns.front(), rows.empty() ? in : rows.front(), &rows);
      }
    }
    return {};
  }
  /// Of a sub-query. Beside a change it may be older than what that locks.
  const tables& view_of(const query& one) const {
    return one.locks || call_.what->what == statement::kind::select ? present_ : beside_;
  }

  static value compare(std::string_view sign, const value& left, const value& right) {
    if (null(left) || null(right)) return {};  // which is not true
    if (left.index() != right.index()) throw std::logic_error("a number is compared with bytes");
    if (sign == "=") return truth_value(left == right);
    if (sign == "<>") return truth_value(left != right);
    if (sign == "<") return truth_value(left < right);
    if (sign == "<=") return truth_value(left <= right);
    return truth_value(sign == ">" ? left > right : left >= right);
  }
  static value column(const expression& one, const scope& in) {
    // The innermost table of that name.
    for (auto each = in.rbegin(); each != in.rend(); ++each) {
      if (one.table.empty() || each->of->alias == one.table) return each->column(one.name);
    }
    throw std::logic_error("a statement names no table " + one.table);
  }
  value call_function(const expression& one, const scope& in, const std::vector<scope>* group) {
    if (one.name == "COALESCE") {
      for (const auto& each : one.of) {
        if (auto found = evaluate(each, in, group); !null(found)) return found;
      }
      return {};
    }
    if (one.name == "RETURNED") {  // as LAST_INSERT_ID(...)
      auto made = evaluate(one.of[0], in, group);
      returned_ = static_cast<std::uint64_t>(number(made));
      return made;
    }
    value sum;
    for (const auto& each : *group) {
      const auto part = evaluate(one.of[0], each);
      if (!null(part)) sum = number(sum) + number(part);
    }
    return sum;
  }

  // ---- rows ---------------------------------------------------------------------------------------------------------

  /// Those that fulfil the conditions, of all tables of FROM, beside those of the queries around it.
  std::vector<scope> rows_of(const query& one, const scope& around, const tables& from) {
    std::vector<scope> found{around};
    for (const auto& each : one.from) {
      std::vector<scope> joined;
      const auto rows = from.rows_of(each);
      for (const auto& so_far : found) {
        bool any = false;
        for (const auto& row : rows) {
          auto next = so_far;
          next.push_back(row);
          if (each.on && !truth(evaluate(*each.on, next))) continue;
          any = true;
          joined.push_back(std::move(next));
        }
        if (any || !each.on) continue;
        joined.push_back(so_far);
        joined.back().push_back({.of = &each, .there = false});
      }
      if (!each.on) {
        std::erase_if(joined, [&](const scope& one_row) {
          return std::any_of(one.of_first.begin(), one.of_first.end(),
                             [&](const expression& condition) { return !truth(evaluate(condition, one_row)); });
        });
      }
      found = std::move(joined);
    }
    if (one.where) std::erase_if(found, [&](const scope& each) { return !truth(evaluate(*one.where, each)); });
    if (one.order) {
      std::stable_sort(found.begin(), found.end(), [&](const scope& a, const scope& b) {
        return evaluate(*one.order, a) < evaluate(*one.order, b);  // NULL comes first
      });
    }
    if (one.limit)
      found.resize(std::min<std::size_t>(found.size(), static_cast<std::size_t>(number(evaluate(*one.limit, {})))));
    return found;
  }

  void select() {
    for (const auto& each : rows_of(call_.what->read, {}, present_)) {
      stores::sql::sql_row row;
      for (const auto& column : call_.what->read.columns) {
        auto cell = evaluate(column, each);
        std::visit([&](auto& of) { row.add(std::move(of)); }, cell);
      }
      call_.rows.push_back(std::move(row));
    }
  }

  // ---- changes ------------------------------------------------------------------------------------------------------

  reply insert(const statement& what) {
    const auto& read = what.read;
    auto found = rows_of(read, {}, read.locks ? present_ : beside_);
    if (!read.group.empty()) {
      // Each statement names one key, so there is one group.
      if (found.empty() || !truth(evaluate(*read.having, found.front(), &found))) return {.result = outcome::no};
      found.resize(1);
    }
    if (found.empty()) return {.result = outcome::no};
    std::map<std::string, value> made;
    for (std::size_t i = 0; i < what.columns.size(); ++i) {
      made[what.columns[i]] = evaluate(read.columns[i], found.front());
    }
    const auto key = std::get<std::string>(made["lock_key"]);
    const bool done = what.table == "dlock_member" ? add_member(key, made) : add_lock(key, made);
    if (!done) {
      reply there;
      there.why = {.native = 1062, .text = "the row exists"};
      return there;
    }
    return {.result = outcome::yes, .fence = returned_};
  }
  bool add_member(const std::string& key, std::map<std::string, value>& from) {
    const auto permits = call_.values.find("permits");
    return on_.add_member(key,
                          {.session = id_of(from["session_id"]),
                           .nonce = static_cast<std::uint64_t>(number(from["nonce"])),
                           .units = static_cast<std::uint32_t>(number(from["units"])),
                           .fence = static_cast<std::uint64_t>(number(from["fence"])),
                           .joined = number(from["joined_at_us"])},
                          permits == call_.values.end() ? 0 : static_cast<std::uint32_t>(number(permits->second)));
  }
  bool add_lock(const std::string& key, std::map<std::string, value>& from) {
    if (on_.locks().contains(key)) return false;
    lock_row made;
    for (const auto& [name, what] : from) {
      if (name != "lock_key") set_column(made, name, what);
    }
    on_.add_lock(key, std::move(made));
    return true;
  }

  static void set_column(lock_row& row, std::string_view name, const value& to) {
    if (name == "session_id") {
      row.session = id_of(to);
    } else if (name == "nonce") {
      row.nonce = static_cast<std::uint64_t>(number(to));
    } else if (name == "fence") {
      row.fence = static_cast<std::uint64_t>(number(to));
    } else if (name == "acquired_at_us") {
      row.acquired = number(to);
    } else if (name == "expires_at_us") {
      row.expires = null(to) ? std::nullopt : std::optional(number(to));
    } else if (name == "verifies") {
      row.closings = static_cast<std::uint64_t>(number(to));
    } else if (name == "verified_by") {
      row.verified_by = static_cast<std::uint64_t>(number(to));
    } else {
      no_column("dlock_lock", name);
    }
  }

  bool update(const statement& what) {
    const source of{.table = what.table, .alias = what.table};
    if (what.table == "dlock_session") return update_sessions(what, of);
    if (what.table != "dlock_lock") throw std::logic_error("no simulated statement updates " + what.table);
    bool any = false;
    for (auto& [key, row] : on_.locks()) {
      if (!truth(evaluate(*what.where, {{.of = &of, .key = &key, .lock = &row}}))) continue;
      auto after = row;
      for (const auto& [name, to] : what.set) {
        // On MySQL an expression sees what was assigned before it; in the standard, and on SQLite, the row as it was.
        const auto& shown = on_.sets_in_order ? after : row;
        set_column(after, name, evaluate(to, {{.of = &of, .key = &key, .lock = &shown}}));
      }
      on_.change_lock(key, row, std::move(after), granted_by(key));
      any = true;
    }
    return any;
  }
  /// The request that such a statement grants, if it does.
  request granted_by(const std::string& key) const {
    const auto of = [&](std::string_view name) {
      const auto at = call_.values.find(name);
      return at == call_.values.end() ? value() : at->second;
    };
    return {.action = verb::take,
            .resource = key,
            .session = id_of(of("session")),
            .nonce = static_cast<std::uint64_t>(number(of("nonce"))),
            .kind = null(of("own_ttl")) ? lease_kind::session : lease_kind::expiring};
  }
  bool update_sessions(const statement& what, const source& of) {
    bool any = false;
    for (auto& each : on_.all_sessions()) {
      if (!truth(evaluate(*what.where, {{.of = &of, .session = &each}}))) continue;
      for (const auto& [name, to] : what.set) {
        if (name != "revoked") no_column(what.table, name);
        any = any || each.second.revoked != truth(evaluate(to, {}));  // a row that stays as it is does not count
        each.second.revoked = truth(evaluate(to, {}));
      }
    }
    return any;
  }
  bool remove(const statement& what) {
    if (what.table != "dlock_member") throw std::logic_error("no simulated statement deletes from " + what.table);
    const source of{.table = what.table, .alias = what.table};
    return on_.remove_members([&](const std::string& key, const member_row& each) {
      return truth(evaluate(*what.where, {{.of = &of, .key = &key, .member = &each}}));
    });
  }

  call& call_;
  database& on_;
  const moment clock_;
  tables present_{};
  tables beside_{};
  std::uint64_t returned_ = 0;
};

}  // namespace

value value_of(const stores::sql::sql_value& from) {
  struct visitor {
    value operator()(std::monostate) const { return {}; }
    value operator()(std::int64_t one) const { return one; }
    value operator()(std::uint64_t one) const { return static_cast<std::int64_t>(one); }
    value operator()(std::string_view one) const { return std::string(one); }
    value operator()(const stores::sql::sql_bytes& one) const { return std::string(one.value); }
    value operator()(const id128& one) const { return id_value(one); }
  };
  return std::visit(visitor{}, from);
}

reply execute(call& one, database& on, moment clock) { return execution(one, on, clock).run(); }

std::string locked_key(const call& one) {
  const auto& what = *one.what;
  const bool locks = what.what == statement::kind::update ? what.table == "dlock_lock"
                                                          : what.what == statement::kind::insert && what.read.locks;
  const auto key = one.values.find("key");
  return locks && key != one.values.end() ? std::get<std::string>(key->second) : std::string();
}

}  // namespace dlock::simulation::sql
