// SPDX-License-Identifier: BSL-1.0
#include "checks/plan_lock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "annotations/options.hpp"
#include "annotations/string_literal.hpp"
#include "source/diagnostics.hpp"
#include "source/lexer.hpp"

namespace dlock_gen {

namespace {

bool is_name(const std::string& text) {
  const auto tokens = split(text);
  return tokens.size() == 1 && tokens[0].kind == token_kind::name;
}

void refuse_positional(const annotation& from, const std::vector<argument>& arguments, std::size_t first,
                       diagnostics& out) {
  for (auto at = first; at < arguments.size(); ++at) {
    if (!arguments[at].name.empty()) continue;
    out.error(arguments[at].where, fmt::format("options of {} have names: write .ttl = 30s", macro_of(from.kind)),
              std::max<std::size_t>(1, arguments[at].value.text.size()));
  }
}

std::optional<busy_plan> read_busy(const annotation& from, bool of_class, diagnostics& out) {
  const auto arguments = split_arguments(from.arguments);
  busy_plan made{busy_action::fail, {}, from.where, of_class};
  const auto word = arguments.empty() ? std::string() : arguments[0].value.text;
  if (arguments.size() == 1 && word == "throw") return made;
  if (arguments.size() == 1 && word == "skip") {
    made.action = busy_action::skip;
    return made;
  }
  if (arguments.size() == 2 && word == "call" && arguments[1].name.empty()) {
    made.action = busy_action::call;
    made.function = arguments[1].value.text;
    made.where = arguments[1].where;
    return made;
  }
  out.error(arguments.empty() ? from.where : arguments[0].where,
            "DLOCK_ON_BUSY takes throw, skip, or call and the name of a function: DLOCK_ON_BUSY(call, place_later)",
            arguments.empty() ? from.width() : std::max<std::size_t>(1, word.size()));
  return std::nullopt;
}

/// Plans the lock of one function from its annotations.
class planner {
 public:
  planner(function_model& function, const class_plan& of_class, const header_model& header, diagnostics& out)
      : function_(function), of_class_(of_class), header_(header), out_(out) {}

  void run() {
    const auto before = out_.errors();
    for (const auto& each : function_.annotations) read(each);
    if (made_.keys.empty()) {
      report_no_key(before);
      return;
    }
    made_.where = function_.annotations.front().where;
    settle_options();
    settle_busy();
    settle_verified();
    if (out_.errors() == before) function_.lock = std::move(made_);
  }

 private:
  void read(const annotation& from) {
    switch (from.kind) {
      case annotation_kind::locked: read_locked(from); break;
      case annotation_kind::locked_row: read_row(from); break;
      case annotation_kind::on_busy: read_on_busy(from); break;
      case annotation_kind::verified: read_verified(from); break;
      case annotation_kind::defaults:
        out_.error(from.where, "DLOCK_DEFAULTS stands between 'class' and its name, not above a function",
                   from.width());
        break;
    }
  }
  void report_no_key(std::size_t errors_before) {
    if (function_.annotations.empty() || out_.errors() != errors_before) return;
    const auto& first = function_.annotations.front();
    out_.error(first.where,
               fmt::format("{} needs a lock: write DLOCK_LOCKED(\"...\") above {}() as well", macro_of(first.kind),
                           function_.shape.name),
               first.width());
  }

  // ---- keys -------------------------------------------------------------------------------------------------------

  void read_locked(const annotation& from) {
    const auto arguments = split_arguments(from.arguments);
    auto options = read_options(from, arguments, out_);
    const bool has_template = !arguments.empty() && arguments[0].name.empty();
    refuse_positional(from, arguments, has_template ? 1 : 0, out_);
    key_plan key;
    key.where = from.where;
    const auto prefix = prefix_of(merged(options, of_class_.options));
    if (has_template) {
      auto text = read_template(arguments[0].value, out_);
      if (!text) return;
      key.text = std::move(*text);
      for (const auto& each : key.text.pieces) {
        if (each.value) check_head(*each.value);
      }
    } else if (prefix.empty()) {
      out_.error(from.where, "DLOCK_LOCKED needs a key: DLOCK_LOCKED(\"order:{o.id}\")", from.width());
      return;
    }
    add_prefix(key.text, prefix);
    made_.keys.push_back(std::move(key));
    add_options(std::move(options));
  }

  std::string prefix_of(const std::vector<option>& options) {
    const auto* const given = find_option(options, "prefix");
    if (given == nullptr) return {};
    if (given->value.text == "qualified_name") {
      auto name = function_.home.qualified;
      for (auto at = name.find("::"); at != std::string::npos; at = name.find("::")) name.replace(at, 2, ".");
      return name;
    }
    if (!given->value.text.starts_with("\"")) {
      out_.error(given->value.where, ".prefix is a text, or qualified_name", given->value.text.size());
      return {};
    }
    const auto text = read_literal(given->value, out_);
    if (text && text->text.empty()) out_.error(given->value.where, ".prefix is empty", given->value.text.size());
    return text ? text->text : std::string();
  }
  static void add_prefix(key_template& to, const std::string& prefix) {
    if (prefix.empty()) return;
    if (to.pieces.empty()) {
      to.pieces.push_back({prefix, std::nullopt});
      to.text = prefix;
      return;
    }
    to.pieces.front().literal.insert(0, prefix + ":");
    to.text.insert(0, prefix + ":");
  }

  void read_row(const annotation& from) {
    const auto arguments = split_arguments(from.arguments);
    auto options = read_options(from, arguments, out_);
    if (arguments.empty() || !arguments[0].name.empty()) {
      out_.error(from.where, "DLOCK_LOCKED_ROW needs the id of the row: DLOCK_LOCKED_ROW(id)", from.width());
      return;
    }
    refuse_positional(from, arguments, 1, out_);
    auto id = read_path(arguments[0].value, out_);
    if (!id) return;
    check_head(*id);
    const auto all = merged(options, of_class_.options);
    key_plan key;
    key.where = from.where;
    key.row.emplace();
    key.row->id = std::move(*id);
    const bool known = find_entity(*key.row, all, from);
    key.row->database = database_of_row(all, from);
    if (!known) return;
    made_.keys.push_back(std::move(key));
    add_options(std::move(options));
  }

  bool find_entity(row_plan& row, const std::vector<option>& options, const annotation& from) {
    if (const auto* const given = find_option(options, "row")) {
      row.entity = in_other_scope(given->value.text, given->names, {}, "this");
      row.entity_at = given->value.where;
      row.entity_exact = given->value.exact && row.entity == given->value.text;
      return true;
    }
    if (header_.lockable.size() == 1) {
      row.entity = header_.lockable.front().spelled;
      row.entity_at = from.where;
      return true;
    }
    const auto candidates = joined(header_.lockable, [](const auto& each) { return each.spelled.substr(2); });
    out_.error(from.where,
               header_.lockable.empty()
                   ? std::string("DLOCK_LOCKED_ROW needs the class of the row, and the header sees none with a member "
                                 "`dlock::lock_columns lock;`: write .row = order")
                   : fmt::format("DLOCK_LOCKED_ROW needs the class of the row, and the header sees {}: write .row = {}",
                                 candidates, header_.lockable.front().spelled.substr(2)),
               from.width());
    return false;
  }

  database_use database_of_row(const std::vector<option>& options, const annotation& from) {
    const auto* const given = find_option(options, "db");
    if (given != nullptr) return read_database(given->value);
    return {{.head = "db", .where = from.where, .exact = false}, !has_parameter("db")};
  }

  /// A parameter, a member of the object, or a name that the generated class gets as a parameter.
  database_use read_database(const located_text& text) {
    auto path = read_path(text, out_);
    if (!path) return {};
    const bool given = !path->from_object() && !has_parameter(path->head);
    if (given && !path->steps.empty()) check_head(*path);
    if (path->from_object()) check_head(*path);
    return {std::move(*path), given};
  }

  bool has_parameter(const std::string& name) const {
    const auto& all = function_.shape.parameters;
    return std::any_of(all.begin(), all.end(), [&](const parameter& each) { return each.named && each.name == name; });
  }

  void check_head(const value_path& path) {
    if (path.from_object()) {
      if (!function_.is_member() || function_.is_static) {
        out_.error(path.where, fmt::format("{}() has no object, so there is no 'this'", function_.shape.name), 4);
      } else if (path.steps.empty()) {
        out_.error(path.where, "'this' is no value: name a field or getter, {this->id()}", 4);
      } else if (!path.steps.front().arrow) {
        out_.error(path.steps.front().where, "'this' is a pointer: write this->", 1);
      }
      return;
    }
    if (has_parameter(path.head)) return;
    std::vector<std::string> names{"this"};
    if (!function_.is_member()) names.clear();
    std::string shown;
    for (const auto& each : function_.shape.parameters) {
      if (!each.named) continue;
      names.push_back(each.name);
      shown += (shown.empty() ? "" : ", ") + each.name;
    }
    out_.error(path.where,
               fmt::format("'{}' is no parameter of {}(){}{}", path.head, function_.shape.name,
                           shown.empty() ? ", which has none with a name" : ", which has " + shown,
                           suggestion(path.head, names)),
               path.head.size());
  }

  // ---- options ----------------------------------------------------------------------------------------------------

  /// Several annotations make one call, so an option is for all of them and can have one value.
  void add_options(std::vector<option> options) {
    for (auto& each : options) {
      if (!is_lock_option(each.name)) continue;
      const auto* const before = find_option(made_.options, each.name);
      if (before == nullptr) {
        made_.options.push_back(std::move(each));
      } else if (before->value.text != each.value.text) {
        out_.error(each.where,
                   fmt::format(".{} differs from the annotation before, but one call takes all keys of {}()", each.name,
                               function_.shape.name),
                   each.name.size() + 1);
        out_.note(before->where, "the annotation before", before->name.size() + 1);
      }
    }
  }
  void settle_options() {
    const auto all = merged(std::move(made_.options), of_class_.options);
    made_.options.clear();
    for (const auto& name : lock_option_fields()) {
      if (const auto* const found = find_option(all, name)) made_.options.push_back(*found);
    }
  }

  // ---- what happens when busy, and the transaction ------------------------------------------------------------------

  void read_on_busy(const annotation& from) {
    if (has_busy_) {
      out_.error(from.where, "DLOCK_ON_BUSY is given twice", from.width());
      return;
    }
    has_busy_ = true;
    if (auto found = read_busy(from, false, out_)) made_.busy = std::move(*found);
  }
  void settle_busy() {
    if (!has_busy_) made_.busy = of_class_.busy;
  }

  void read_verified(const annotation& from) {
    if (has_verified_) {
      out_.error(from.where, "DLOCK_VERIFIED is given twice", from.width());
      return;
    }
    has_verified_ = true;
    verify_in(from);
  }
  void settle_verified() {
    if (!has_verified_ && !of_class_.verified.empty()) verify_in(of_class_.verified.front());
  }
  void verify_in(const annotation& from) {
    const auto arguments = split_arguments(from.arguments);
    if (arguments.size() != 1 || !arguments[0].name.empty()) {
      out_.error(from.where, "DLOCK_VERIFIED needs the database of the transaction: DLOCK_VERIFIED(db)", from.width());
      return;
    }
    made_.verified = read_database(arguments[0].value);
  }

  function_model& function_;
  const class_plan& of_class_;
  const header_model& header_;
  diagnostics& out_;
  lock_plan made_{};
  bool has_busy_ = false;
  bool has_verified_ = false;
};

void check_words(const std::vector<option>& options, diagnostics& out) {
  if (const auto* const form = find_option(options, "form"); form != nullptr && form->value.text != "proxy") {
    out.error(
        form->value.where,
        ".form has one value, proxy; without it an abstract class gets a wrapper, a class with virtual functions a "
        "subclass, and any other class a proxy",
        form->value.text.size());
  }
  if (const auto* const name = find_option(options, "name")) {
    if (!is_name(name->value.text))
      out.error(name->value.where, ".name is the name of a class", name->value.text.size());
  }
}

}  // namespace

class_plan plan_class(const std::vector<annotation>& annotations, diagnostics& out) {
  class_plan made;
  for (const auto& each : annotations) {
    if (each.kind == annotation_kind::defaults) {
      const auto arguments = split_arguments(each.arguments);
      refuse_positional(each, arguments, 0, out);
      made.options = merged(std::move(made.options), read_options(each, arguments, out));
    } else if (each.kind == annotation_kind::on_busy) {
      if (auto found = read_busy(each, true, out)) made.busy = std::move(*found);
    } else if (each.kind == annotation_kind::verified) {
      made.verified.push_back(each);
    } else {
      out.error(each.where,
                fmt::format("write {} above each function that it locks; DLOCK_DEFAULTS gives options to all of them",
                            macro_of(each.kind)),
                each.width());
    }
  }
  check_words(made.options, out);
  return made;
}

void plan_function(function_model& function, const class_plan& of_class, const header_model& header, diagnostics& out) {
  planner(function, of_class, header, out).run();
}

}  // namespace dlock_gen
