// SPDX-License-Identifier: BSL-1.0
#include "catalogue/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "annotations/options.hpp"
#include "emit/code_writer.hpp"
#include "emit/emit_function.hpp"

namespace dlock_gen {

namespace {

void add_line(std::string& to, std::string_view name, std::string_view text) {
  to += fmt::format("  {:<9} {}\n", name, text);
}

std::string value_of(const option* given, std::string_view otherwise) {
  if (given == nullptr) return std::string(otherwise);
  return fmt::format("{}{}", given->value.text, given->of_class ? " (DLOCK_DEFAULTS)" : "");
}

void add_options(std::string& to, const lock_plan& lock) {
  const bool tries = lock.busy.action != busy_action::fail;
  add_line(to, "ttl", value_of(find_option(lock.options, "ttl"), "that of the service (30 s by default)"));
  add_line(
      to, "wait",
      value_of(find_option(lock.options, "wait"), tries ? "one attempt" : "that of the service (10 s by default)"));
  for (const auto& each : lock.options) {
    if (each.name != "ttl" && each.name != "wait") add_line(to, each.name, value_of(&each, {}));
  }
}

std::string busy_text(const function_model& function) {
  const auto& busy = function.lock->busy;
  std::string text = "throws dlock::lock_timeout";
  if (busy.action == busy_action::call) text = fmt::format("calls {}() instead", busy.function);
  if (busy.action == busy_action::skip) {
    text = keeps_result(function) && function.shape.result_is == result_kind::nothing
               ? "does not run"
               : "does not run, and returns an empty result";
  }
  return text + (busy.of_class ? " (of the class)" : "");
}

std::string lost_text(const lock_plan& lock) {
  if (lock.verified) {
    return fmt::format("runs in a transaction of {} that verifies the lease: dlock::lock_lost, and nothing is written",
                       lock.verified->path.text());
  }
  return "throws dlock::lock_lost instead of returning the result";
}

std::string explained(const function_model& function, std::string_view generated) {
  const auto [line, column] = function.lock->where.at();
  const auto& lock = *function.lock;
  auto all = fmt::format("{}:{}:{}: {}\n", lock.where.file->path(), line, column, function.described());
  for (const auto& each : lock.keys) {
    add_line(all, "key", in_one_line(each.shown()));
    add_line(all, "domain", in_one_line(each.domain()));
  }
  add_options(all, lock);
  add_line(all, "busy", busy_text(function));
  add_line(all, "lost", lost_text(lock));
  add_line(all, "call", generated);
  return all + "\n";
}

}  // namespace

std::string explain(const header_model& header) {
  std::vector<std::pair<std::size_t, std::string>> parts;
  header.each_locked([&](const function_model& each, const class_model* owner) {
    const auto name =
        owner == nullptr ? each.qualified + "_locked()" : fmt::format("{}::{}()", owner->generated, each.shape.name);
    parts.emplace_back(each.lock->where.offset, explained(each, name));
  });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  std::string all;
  for (const auto& [offset, text] : parts) all += text;
  return all;
}

}  // namespace dlock_gen
