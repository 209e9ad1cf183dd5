// SPDX-License-Identifier: BSL-1.0
#include "emit/emit_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace dlock_gen {

namespace {

std::string call_on_wrapped(const function_model& function, const std::string& name, const surroundings& around) {
  const auto& shape = function.shape;
  const bool moves = shape.object == reference::rvalue;
  if (!shape.is_const && !moves) return fmt::format("{}->{}", around.object, name);
  const auto object = shape.is_const ? fmt::format("std::as_const(*{})", around.object) : "*" + around.object;
  return moves ? fmt::format("std::move({}).{}", object, name) : fmt::format("{}.{}", object, name);
}

std::string call_on_itself(const function_model& function, const std::string& name, const surroundings& around) {
  const auto scoped = fmt::format("{}::{}", around.class_name, name);
  if (function.shape.object == reference::rvalue) return fmt::format("std::move(*this).{}", scoped);
  return scoped;
}

class body_writer {
 public:
  body_writer(code_writer& to, const function_model& function, const surroundings& around)
      : to_(to), function_(function), shape_(function.shape), lock_(*function.lock), around_(around) {}

  void write() {
    if (!lock_.options.empty()) to_.line("using namespace ::std::chrono_literals;");
    emit_keys(to_, lock_, around_);
    write_options();
    if (shape_.coroutine == coroutine_kind::none) {
      write_call();
    } else {
      write_coroutine();
    }
  }

 private:
  bool several() const { return lock_.keys.size() > 1; }
  bool tries() const { return lock_.busy.action != busy_action::fail; }
  std::string call(const std::string& name) const { return call_of(function_, name, around_); }
  std::string run() const { return call(function_.is_member() ? shape_.name : "::" + function_.qualified); }
  /// "dlock_locks_->", "dlock_locks."
  std::string on_locks() const {
    return around_.locks.starts_with("*") ? around_.locks.substr(1) + "->" : around_.locks + ".";
  }
  std::string key_and_options() const { return lock_.options.empty() ? "dlock_key" : "dlock_key, dlock_options"; }

  void write_options() {
    if (lock_.options.empty()) return;
    to_.line("const ::dlock::lock_options dlock_options{");
    for (const auto& each : lock_.options) to_.author(each.where, fmt::format("{},", text_of(each)));
    to_.line("};");
  }
  /// As the author wrote it, with blanks and line ends, so that its columns are right; only names that mean something
  /// else here are qualified.
  std::string text_of(const option& what) const {
    std::vector<std::string> parameters;
    for (const auto& each : shape_.parameters) parameters.push_back(each.name);
    const auto value = in_other_scope(what.value.text, what.names, parameters, around_.object);
    if (what.value.exact && what.value.where.file == what.where.file && what.value.where.offset > what.where.offset) {
      const auto text = what.where.file->text();
      return std::string(text.substr(what.where.offset, what.value.where.offset - what.where.offset)) + value;
    }
    return fmt::format(".{} = {}", what.name, value);
  }

  // ---- functions that return when they are done ---------------------------------------------------------------------

  std::string acquired() const {
    return fmt::format("{}{}acquire{}({})", on_locks(), tries() ? "try_" : "", several() ? "_all" : "",
                       key_and_options());
  }
  std::string body() const { return fmt::format("[&]() -> decltype(auto) {{ return {}; }}", run()); }
  std::string when_busy() const {
    if (lock_.busy.action == busy_action::call) {
      return fmt::format("[&]() -> decltype(auto) {{ return {}; }}", call(lock_.busy.function));
    }
    if (shape_.result_is == result_kind::nothing) return "[] {}";
    return fmt::format("[]() -> {} {{ return {{}}; }}", shape_.result);
  }
  void write_call() {
    std::vector<std::string> arguments;
    std::string callee;
    if (lock_.verified) write_database();
    const bool changes = changes_result(function_);
    if (!lock_.verified && (!tries() || changes)) {
      callee = fmt::format("{}{}with_lock{}", on_locks(), changes ? "try_" : "", several() ? "s" : "");
      arguments = {key_and_options(), body()};
    } else if (changes) {
      callee = "::dlock::detail::try_verified";
      arguments = {acquired(), "dlock_database", body()};
    } else {
      callee = fmt::format("::dlock::detail::call{}{}", lock_.verified ? "_verified" : "", tries() ? "_or" : "");
      arguments.push_back(acquired());
      if (lock_.verified) arguments.emplace_back("dlock_database");
      arguments.push_back(body());
      if (tries()) arguments.push_back(when_busy());
    }
    write_return(callee, arguments);
  }
  void write_return(const std::string& callee, const std::vector<std::string>& arguments) {
    const auto one_line = fmt::format("return {}({});", callee, fmt::join(arguments, ", "));
    if (one_line.size() < 112) {
      to_.line(one_line);
      return;
    }
    to_.line(fmt::format("return {}(", callee));
    to_.indent(4);
    for (std::size_t at = 0; at < arguments.size(); ++at) {
      to_.line(arguments[at] + (at + 1 == arguments.size() ? ");" : ","));
    }
    to_.outdent(4);
  }
  void write_database() {
    const auto& use = *lock_.verified;
    if (use.given) {
      const bool member = !around_.object.empty();
      to_.line(fmt::format("::odb::database& dlock_database = {}{};", member ? "*" : "",
                           member ? database_member(use.path.head) : database_parameter(use.path.head)));
      return;
    }
    to_.line("::odb::database& dlock_database =");
    emit_path(to_, use.path, "DLOCK_VERIFIED", around_);
    to_.line(";");
  }

  // ---- coroutines ---------------------------------------------------------------------------------------------------

  std::string busy_word() const {
    switch (lock_.busy.action) {
      case busy_action::skip: return "skip";
      case busy_action::call: return "call";
      case busy_action::fail: break;
    }
    return "fail";
  }
  /// The coroutine begins when this function has returned: values live in the lambda, references refer to the caller's
  /// objects.
  std::string captures() const {
    std::string all;
    const auto add = [&](const std::string& text) { all += (all.empty() ? "" : ", ") + text; };
    if (!around_.object.empty()) add(around_.wraps ? fmt::format("{0} = {0}", around_.object) : "this");
    for (const auto& each : shape_.parameters) {
      add(each.how == passing::value ? fmt::format("{} = {}", each.name, each.forwarded())
                                     : fmt::format("&{}", each.name));
    }
    return all;
  }
  void write_coroutine() {
    const bool asio = shape_.coroutine == coroutine_kind::asio;
    to_.line(fmt::format("return ::dlock::{}<::dlock::detail::busy_coroutine::{}>(",
                         asio ? "asio::detail::annotated_awaitable" : "detail::annotated_coroutine", busy_word()));
    to_.indent(4);
    to_.line(fmt::format("{}, dlock_key, {}, [{}]([[maybe_unused]] bool dlock_held) mutable {{", around_.locks,
                         lock_.options.empty() ? "::dlock::lock_options{}" : "dlock_options", captures()));
    to_.indent();
    if (lock_.busy.action == busy_action::call) {
      to_.line(fmt::format("if (!dlock_held) return {};", call(lock_.busy.function)));
    }
    to_.line(fmt::format("return {};", run()));
    to_.outdent();
    to_.line("});");
    to_.outdent(4);
  }

  code_writer& to_;
  const function_model& function_;
  const signature& shape_;
  const lock_plan& lock_;
  const surroundings& around_;
};

}  // namespace

std::string database_member(const std::string& name) { return fmt::format("dlock_{}_", name); }
std::string database_parameter(const std::string& name) { return fmt::format("dlock_{}", name); }

std::string call_of(const function_model& function, const std::string& name, const surroundings& around) {
  const auto arguments = function.shape.arguments();
  if (!function.is_member()) return name + arguments;
  if (function.is_static) return fmt::format("{}::{}{}", around.class_name, name, arguments);
  return (around.wraps ? call_on_wrapped(function, name, around) : call_on_itself(function, name, around)) + arguments;
}

bool keeps_result(const function_model& function) {
  return function.is_virtual || function.shape.coroutine != coroutine_kind::none ||
         function.shape.result_is == result_kind::optional;
}

bool changes_result(const function_model& function) {
  return function.lock->busy.action == busy_action::skip && !keeps_result(function);
}

void emit_locked_body(code_writer& to, const function_model& function, const surroundings& around) {
  body_writer(to, function, around).write();
}

}  // namespace dlock_gen
