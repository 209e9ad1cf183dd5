// SPDX-License-Identifier: BSL-1.0
#include "checks/check_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>

#include "checks/plan_lock.hpp"

namespace dlock_gen {

namespace {

void add_once(std::vector<std::string>& to, const std::string& what) {
  if (std::find(to.begin(), to.end(), what) == to.end()) to.push_back(what);
}

/// The databases that have a name and nothing more, in the order in which they are named.
void collect_databases(const function_model& function, std::vector<std::string>& into) {
  if (!function.lock) return;
  for (const auto& key : function.lock->keys) {
    if (key.row && key.row->database.given) add_once(into, key.row->database.path.head);
  }
  if (function.lock->verified && function.lock->verified->given) add_once(into, function.lock->verified->path.head);
}

class header_checker {
 public:
  header_checker(header_model& header, const std::vector<function_model>& candidates, diagnostics& out)
      : header_(header), candidates_(candidates), out_(out) {}

  void run() {
    for (auto& each : header_.classes) check(each);
    for (auto& each : header_.functions) check(each);
    check_names();
  }

 private:
  void check(class_model& owner) {
    if (!check_kind(owner, out_)) return;
    const auto plan = plan_class(owner.annotations, out_);
    settle_form(owner, plan);
    for (auto& each : owner.functions) {
      if (each.annotations.empty() || !check_kind(each, out_)) continue;
      plan_function(each, plan_class(each.home.of_class, out_), header_, out_);
    }
    check_form(owner, out_);
    for (const auto& each : owner.functions) {
      if (each.lock) check_lock(each, &owner, owner.functions, out_);
      finish(each, owner.databases);
    }
  }

  void check(free_function_model& free) {
    auto& function = free.function;
    if (!check_kind(function, out_)) return;
    plan_function(function, {}, header_, out_);
    if (function.lock) check_lock(function, nullptr, candidates_, out_);
    finish(function, free.databases);
  }

  void check_names() {
    for (std::size_t at = 0; at < header_.classes.size(); ++at) {
      const auto& each = header_.classes[at];
      const auto same = [&](const class_model& other) {
        return other.generated == each.generated && other.scopes == each.scopes;
      };
      if (std::none_of(header_.classes.begin(), header_.classes.begin() + static_cast<std::ptrdiff_t>(at), same))
        continue;
      out_.error(each.where,
                 fmt::format("{} would be the generated class of another class, too: write DLOCK_DEFAULTS(.name = ...)",
                             each.generated),
                 each.name.size());
    }
  }

  void finish(const function_model& function, std::vector<std::string>& databases) {
    collect_databases(function, databases);
    if (!function.lock) return;
    for (const auto& key : function.lock->keys) {
      if (key.row) add_row_header(key.row->entity);
    }
  }
  /// ODB's compiler writes order-odb.hxx beside order.hpp.
  void add_row_header(const std::string& entity) {
    for (const auto& each : header_.lockable) {
      const bool same = each.spelled == entity || each.spelled.ends_with("::" + entity);
      if (same) add_once(header_.row_headers, std::filesystem::path(each.header).stem().string() + "-odb.hxx");
    }
  }

  header_model& header_;
  const std::vector<function_model>& candidates_;
  diagnostics& out_;
};

}  // namespace

void check_header(header_model& header, const std::vector<function_model>& candidates, diagnostics& out) {
  header_checker(header, candidates, out).run();
}

}  // namespace dlock_gen
