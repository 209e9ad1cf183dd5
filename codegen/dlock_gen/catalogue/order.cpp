// SPDX-License-Identifier: BSL-1.0
#include "catalogue/order.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>
#include <utility>

namespace dlock_gen {

namespace {

class order_finder {
 public:
  explicit order_finder(const code_facts& facts) : facts_(facts) {}

  order_findings run() {
    for (const auto& [usr, function] : facts_.functions) {
      if (function.generated) continue;
      if (const auto* const lock = annotation_of(usr)) follow(*lock, usr);
      for (const auto& each : function.locks) follow(each, usr);
      find_bypasses(usr, function);
    }
    return std::move(found_);
  }

 private:
  /// Of the function, or of one that it overrides.
  const listed_lock* annotation_of(const std::string& usr) const {
    std::set<std::string> seen;
    std::deque<std::string> next{usr};
    while (!next.empty()) {
      const auto at = next.front();
      next.pop_front();
      if (!seen.insert(at).second) continue;
      if (const auto known = facts_.annotated.find(at); known != facts_.annotated.end()) return &known->second;
      if (const auto bases = facts_.overridden.find(at); bases != facts_.overridden.end()) {
        next.insert(next.end(), bases->second.begin(), bases->second.end());
      }
    }
    return nullptr;
  }

  /// Whether this call goes through code that dlock-gen generated, as far as the sources show.
  const listed_lock* taken_by(const listed_function& caller, const listed_call& call) const {
    const auto* const lock = annotation_of(call.callee);
    if (lock == nullptr) return nullptr;
    if (call.own_object && lock->wrapper && !caller.generated) return nullptr;
    return call.dynamic || caller.generated ? lock : nullptr;
  }

  struct visit {
    std::string usr{};
    std::vector<chain_link> chain{};
  };

  /// Whether the holder, the first function of the chain, holds its lock there. A function with annotations always
  /// does.
  static bool holds_at(const listed_lock& holder, const listed_place& place) {
    return holder.annotation || (holder.place < place && place < holder.until);
  }

  void follow(const listed_lock& holder, const std::string& usr) {
    std::set<std::string> seen{usr};
    std::deque<visit> next{{usr, {}}};
    while (!next.empty()) {
      const auto at = std::move(next.front());
      next.pop_front();
      const auto known = facts_.functions.find(at.usr);
      if (known == facts_.functions.end()) continue;
      const auto& function = known->second;
      const bool first = at.usr == usr;
      for (const auto& each : function.locks) {
        if (!first || holds_at(holder, each.place)) add(holder, each, at.chain);
      }
      for (const auto& each : function.calls) {
        if (!first || holds_at(holder, each.place)) go_on(holder, at, function, each, seen, next);
      }
    }
  }
  void go_on(const listed_lock& holder, const visit& at, const listed_function& function, const listed_call& call,
             std::set<std::string>& seen, std::deque<visit>& next) {
    auto chain = at.chain;
    chain.push_back({function.name, call.callee_name, call.place});
    if (const auto* const lock = taken_by(function, call)) add(holder, *lock, chain);
    for (const auto& each : targets_of(call)) {
      if (seen.insert(each).second) next.push_back({each, chain});
    }
  }
  std::vector<std::string> targets_of(const listed_call& call) const {
    std::vector<std::string> found{call.callee};
    if (!call.dynamic) return found;
    for (std::size_t at = 0; at < found.size(); ++at) {
      const auto known = facts_.overriders.find(found[at]);
      if (known == facts_.overriders.end()) continue;
      for (const auto& each : known->second) {
        if (std::find(found.begin(), found.end(), each) == found.end()) found.push_back(each);
      }
    }
    return found;
  }
  void add(const listed_lock& holder, const listed_lock& taker, const std::vector<chain_link>& chain) {
    const auto name = std::tuple{holder.function, holder.place, taker.function, taker.place};
    if (known_.insert(name).second) found_.nested.push_back({holder, taker, chain});
  }

  void find_bypasses(const std::string& usr, const listed_function& function) {
    for (const auto& each : function.calls) {
      const auto* const lock = annotation_of(each.callee);
      if (lock == nullptr || !lock->annotation || !each.own_object) continue;
      // An override that calls its base's function already runs under the lock.
      if (lock->wrapper || (!each.dynamic && !overrides(usr, each.callee))) {
        found_.bypasses.push_back({function.name, each.callee_name, each.place, !lock->wrapper});
      }
    }
  }
  bool overrides(const std::string& usr, const std::string& callee) const {
    const auto known = facts_.overridden.find(usr);
    return known != facts_.overridden.end() && known->second.contains(callee);
  }

  const code_facts& facts_;
  std::set<std::tuple<std::string, listed_place, std::string, listed_place>> known_{};
  order_findings found_{};
};

bool any_overlap(const listed_lock& left, const listed_lock& right) {
  return std::any_of(left.keys.begin(), left.keys.end(), [&](const auto& one) {
    return std::any_of(right.keys.begin(), right.keys.end(),
                       [&](const auto& other) { return overlap(one.domain, other.domain); });
  });
}

std::string joined_domains(const listed_lock& lock) {
  std::string all;
  for (const auto& each : lock.keys) all += each.domain + '\n';
  return all;
}

}  // namespace

order_findings find_order(const code_facts& facts) { return order_finder(facts).run(); }

std::vector<opposite_order> find_opposite(const std::vector<nested_locks>& nested) {
  std::vector<opposite_order> found;
  std::set<std::pair<std::string, std::string>> known;
  for (std::size_t first = 0; first < nested.size(); ++first) {
    const auto& one = nested[first];
    if (!one.taker.waits) continue;
    if (any_overlap(one.holder, one.taker)) continue;  // with one domain it may be the same key, entered again
    for (std::size_t second = first + 1; second < nested.size(); ++second) {
      const auto& other = nested[second];
      if (!other.taker.waits) continue;
      if (!any_overlap(one.holder, other.taker) || !any_overlap(one.taker, other.holder)) continue;
      auto pair = std::pair(joined_domains(one.holder), joined_domains(one.taker));
      if (pair.second < pair.first) std::swap(pair.first, pair.second);
      if (known.insert(std::move(pair)).second) found.push_back({first, second});
    }
  }
  return found;
}

// ---- domains -------------------------------------------------------------------------------------------------------

namespace {

std::string_view first_segment(std::string_view text) { return text.substr(0, text.find(':')); }
std::string_view behind(std::string_view text, std::string_view segment) {
  return text.size() == segment.size() ? std::string_view() : text.substr(segment.size() + 1);
}

bool has_value(std::string_view segment) { return segment.find("{}") != std::string_view::npos; }

/// "a{}b" may be any text that begins with a and ends with b.
bool may_be(std::string_view with_value, std::string_view other) {
  const auto at = with_value.find("{}");
  const auto front = with_value.substr(0, at);
  const auto back = with_value.substr(at + 2);
  if (has_value(other)) {
    const auto other_at = other.find("{}");
    const auto other_front = other.substr(0, other_at);
    const auto other_back = other.substr(other_at + 2);
    return (front.starts_with(other_front) || other_front.starts_with(front)) &&
           (back.ends_with(other_back) || other_back.ends_with(back));
  }
  return other.size() >= front.size() + back.size() && other.starts_with(front) && other.ends_with(back);
}

bool segments_overlap(std::string_view left, std::string_view right) {
  if (left == right) return true;
  if (has_value(left)) return may_be(left, right);
  return has_value(right) && may_be(right, left);
}

bool is_row(std::string_view domain) { return domain.starts_with("row of "); }

}  // namespace

bool overlap(std::string_view left, std::string_view right) {
  if (left == "?" || right == "?") return false;
  if (is_row(left) || is_row(right)) return left == right;
  for (;;) {
    const auto left_first = first_segment(left);
    const auto right_first = first_segment(right);
    if (!segments_overlap(left_first, right_first)) return false;
    const bool left_ends = left_first.size() == left.size();
    const bool right_ends = right_first.size() == right.size();
    if (left_ends || right_ends) return left_ends && right_ends;
    left = behind(left, left_first);
    right = behind(right, right_first);
  }
}

}  // namespace dlock_gen
