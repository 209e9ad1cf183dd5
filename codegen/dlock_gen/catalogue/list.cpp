// SPDX-License-Identifier: BSL-1.0
#include "catalogue/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "catalogue/facts.hpp"
#include "catalogue/order.hpp"
#include "clang/translation_unit.hpp"

namespace dlock_gen {

namespace {

using json = nlohmann::ordered_json;

/// All locks, those of annotations and those of calls, in the order of the files.
std::vector<const listed_lock*> locks_of(const code_facts& facts) {
  std::vector<const listed_lock*> found;
  for (const auto& [usr, lock] : facts.annotated) found.push_back(&lock);
  for (const auto& [usr, function] : facts.functions) {
    for (const auto& lock : function.locks) found.push_back(&lock);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto* left, const auto* right) { return left->place < right->place; });
  return found;
}

json as_json(const listed_place& place) {
  return {{"file", place.file}, {"line", place.line}, {"column", place.column}};
}

json as_json(const listed_lock& lock) {
  json made{{"function", lock.function}};
  made.update(as_json(lock.place));
  made["by"] = lock.annotation ? "annotation" : "call";
  for (const auto& each : lock.keys) made["keys"].push_back({{"template", each.shown}, {"domain", each.domain}});
  for (const auto& [name, value] : lock.options) made["options"][name] = value;
  made["on_busy"] = lock.busy;
  if (!lock.verified.empty()) made["verified"] = lock.verified;
  return made;
}

json domains_as_json(const std::vector<const listed_lock*>& locks) {
  std::map<std::string, std::set<std::string>> functions;
  for (const auto* const lock : locks) {
    for (const auto& key : lock->keys) functions[key.domain].insert(lock->function);
  }
  json all = json::array();
  for (const auto& [domain, users] : functions) {
    json made{{"domain", domain}, {"functions", users}};
    json others = json::array();
    for (const auto& [other, ignored] : functions) {
      if (other != domain && overlap(domain, other)) others.push_back(other);
    }
    if (!others.empty()) made["overlaps"] = others;
    all.push_back(made);
  }
  return all;
}

std::vector<std::string> domains_of(const listed_lock& lock) {
  std::vector<std::string> all;
  for (const auto& each : lock.keys) all.push_back(each.domain);
  return all;
}

json as_json(const std::vector<chain_link>& chain) {
  json all = json::array();
  for (const auto& each : chain) {
    json made{{"caller", each.caller}, {"callee", each.callee}};
    made.update(as_json(each.place));
    all.push_back(made);
  }
  return all;
}

json as_json(const nested_locks& nested) {
  return {{"holder", nested.holder.function},
          {"holds", domains_of(nested.holder)},
          {"taker", nested.taker.function},
          {"takes", domains_of(nested.taker)},
          {"chain", as_json(nested.chain)}};
}

void add_chain(catalogue_warning& to, const nested_locks& nested) {
  to.notes.emplace_back(nested.holder.place, fmt::format("{} holds {} here", nested.holder.function,
                                                         fmt::join(domains_of(nested.holder), ", ")));
  for (const auto& each : nested.chain) {
    to.notes.emplace_back(each.place, fmt::format("{} calls {}", each.caller, each.callee));
  }
  if (nested.chain.empty() || !nested.taker.annotation) {
    to.notes.emplace_back(nested.taker.place,
                          fmt::format("{} is taken here", fmt::join(domains_of(nested.taker), ", ")));
  } else {
    to.notes.back().second += fmt::format(", which takes {}", fmt::join(domains_of(nested.taker), ", "));
  }
}

catalogue_warning warning_of(const nested_locks& one, const nested_locks& other) {
  catalogue_warning made;
  made.kind = "opposite_order";
  made.place = one.holder.place;
  made.message = fmt::format("two calls can wait for each other: {} holds {} and takes {}, {} holds {} and takes {}",
                             one.holder.function, fmt::join(domains_of(one.holder), ", "),
                             fmt::join(domains_of(one.taker), ", "), other.holder.function,
                             fmt::join(domains_of(other.holder), ", "), fmt::join(domains_of(other.taker), ", "));
  add_chain(made, one);
  add_chain(made, other);
  return made;
}

catalogue_warning warning_of(const bypass& what) {
  return {"own_object",
          fmt::format("{} calls {} on its own object{}: no lock is taken", what.caller, what.callee,
                      what.qualified ? " by its qualified name, which a subclass does not see"
                                     : ", which a wrapper or proxy does not see"),
          what.place,
          {}};
}

std::string printed(const listed_place& place, const char* level, const std::string& text) {
  auto all = fmt::format("{}:{}:{}: {}: {}\n", place.file, place.line, place.column, level, text);
  if (!place.text.empty()) all += fmt::format("  {}\n  {:>{}}\n", place.text, "^", place.column);
  return all;
}

}  // namespace

std::string catalogue_warning::text() const {
  auto all = printed(place, "warning", message);
  for (const auto& [where, note] : notes) all += printed(where, "note", note);
  return all;
}

bool lock_catalogue::read(const std::filesystem::path& file, const std::vector<std::string>& flags,
                          std::ostream& messages) {
  const translation_unit unit({.file = file, .flags = flags, .bodies = true});
  diagnostics found;
  unit.report(found);
  read_facts(unit, facts_, found);
  for (const auto& each : found.all()) {
    auto text = rendered(each);
    if (reported_.insert(text).second) messages << text;
  }
  return found.errors() == 0;
}

std::vector<catalogue_warning> lock_catalogue::find_warnings() {
  order_ = find_order(facts_);
  for (const auto& each : find_opposite(order_.nested)) {
    warnings_.push_back(warning_of(order_.nested[each.first], order_.nested[each.second]));
  }
  for (const auto& each : order_.bypasses) warnings_.push_back(warning_of(each));
  return warnings_;
}

std::string lock_catalogue::json() const {
  const auto locks = locks_of(facts_);
  nlohmann::ordered_json all{{"version", 1}};
  all["locks"] = nlohmann::ordered_json::array();
  for (const auto* const each : locks) all["locks"].push_back(as_json(*each));
  all["domains"] = domains_as_json(locks);
  all["nested"] = nlohmann::ordered_json::array();
  for (const auto& each : order_.nested) all["nested"].push_back(as_json(each));
  all["warnings"] = nlohmann::ordered_json::array();
  for (const auto& each : warnings_) {
    nlohmann::ordered_json made{{"kind", each.kind}, {"message", each.message}};
    made.update(as_json(each.place));
    for (const auto& [place, text] : each.notes) {
      nlohmann::ordered_json note{{"message", text}};
      note.update(as_json(place));
      made["notes"].push_back(note);
    }
    all["warnings"].push_back(made);
  }
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace dlock_gen
