// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "annotations/annotation.hpp"
#include "annotations/key_template.hpp"
#include "annotations/options.hpp"

namespace dlock_gen {

/// What `text` says of each, with commas between.
template <class Range, class Text>
std::string joined(const Range& all, Text&& text) {
  std::string made;
  for (const auto& each : all) made += (made.empty() ? "" : ", ") + text(each);
  return made;
}

enum class passing { value, lvalue, rvalue };

struct parameter {
  std::string name{};  ///< one of ours where the author gave none
  bool named = true;
  std::string declaration{};    ///< with the name, without a default argument: "const order& o"
  std::string default_value{};  ///< "3"; empty: none
  passing how = passing::value;
  bool movable = false;  ///< a class by value, or an rvalue: it is moved on
  std::string type{};    ///< in canonical form, to compare

  /// What passes it on: "o", "std::move(o)".
  std::string forwarded() const;
};

/// What the generated code calls a parameter without a name, counted from 1.
std::string unnamed_parameter(std::size_t number);

enum class result_kind { nothing, optional, other };

/// What kind of coroutine the result is, if it is one.
enum class coroutine_kind {
  none,
  asio,     ///< boost::asio::awaitable, or the standalone Asio's
  own,      ///< a coroutine of any other library
  foreign,  ///< can be awaited, but no function that returns it can be a coroutine
};

enum class reference { none, lvalue, rvalue };

/// How a function is called, and how it is declared once more.
struct signature {
  std::string name{};
  std::vector<parameter> parameters{};
  std::string result{};       ///< as it is written
  std::string result_type{};  ///< in canonical form
  result_kind result_is = result_kind::other;
  coroutine_kind coroutine = coroutine_kind::none;
  result_kind awaited = result_kind::other;  ///< what co_await gives, where that is known
  bool future = false;                       ///< std::future or std::shared_future
  bool is_const = false;
  bool is_volatile = false;
  reference object = reference::none;
  std::string exception{};  ///< "noexcept", "noexcept(...)", or empty
  bool nodiscard = false;
  bool variadic = false;  ///< ends in "..." as in C

  /// " const &" and the like, as it stands behind the parameters.
  std::string qualifiers() const;
  /// "(const order& o, int n = 3)".
  std::string parameter_list(bool with_defaults) const;
  /// "(o, n)": the arguments that pass on the parameters.
  std::string arguments() const;
  /// "place(const order&, int)", for messages.
  std::string described() const;
};

/// A database that a function's lock needs.
struct database_use {
  value_path path{};
  bool given = false;  ///< neither: the generated class or function gets it as a parameter

  friend bool operator==(const database_use& left, const database_use& right) {
    return left.path.text() == right.path.text();
  }
};

/// The row that a DLOCK_LOCKED_ROW locks.
struct row_plan {
  std::string entity{};  ///< the mapped class, spelled fully, or as the author wrote it
  location entity_at{};
  bool entity_exact = false;  ///< it is the author's text, at that place
  value_path id{};
  database_use database{};
};

/// One key of a function: a text, or a row.
struct key_plan {
  key_template text{};
  std::optional<row_plan> row{};
  location where{};  ///< of the macro

  std::string domain() const;
  std::string shown() const;  ///< order:{o.id}, or "row of order: id"
};

enum class busy_action { fail, skip, call };

struct busy_plan {
  busy_action action = busy_action::fail;
  std::string function{};  ///< busy_action::call: the other one's name
  location where{};
  bool of_class = false;
};

/// How one function is locked: what its annotations and those of its class say together.
struct lock_plan {
  std::vector<key_plan> keys{};
  std::vector<option> options{};  ///< fields of lock_options, in their order
  busy_plan busy{};
  std::optional<database_use> verified{};
  location where{};  ///< of the first annotation
};

enum class visibility { is_public, is_protected, is_private };

/// A namespace that is opened again around what is generated.
struct scope {
  std::string name{};  ///< empty: without a name
  bool is_inline = false;

  friend bool operator==(const scope&, const scope&) = default;
};

/// Whether the result of a member function is an object of its class, or leads to one.
enum class handed_out {
  nothing,
  object,   ///< by reference, pointer or std::shared_ptr: it may be the object itself
  copy,     ///< by value or std::unique_ptr: it is another object
  unknown,  ///< the result is deduced from a body
};

/// The declaration that annotations stand above. An override has the annotations of its base, which mean there what
/// they mean in the base.
struct annotation_home {
  std::string qualified{};             ///< "shop::order_api::place"
  std::vector<annotation> of_class{};  ///< those of its class
  bool inherited = false;              ///< it is another declaration than that of the function
};

/// A function, or a member function of a class or of one of its bases.
struct function_model {
  signature shape{};
  std::string usr{};
  std::string qualified{};  ///< "shop::order_service::place"
  std::string owner{};      ///< of a member: the class that declares it, spelled fully
  location where{};         ///< of its name
  std::size_t offset = 0;   ///< of its declaration, for the order
  visibility access = visibility::is_public;
  bool is_virtual = false;
  bool is_pure = false;
  bool is_static = false;
  bool is_final = false;
  bool is_deleted = false;
  bool is_template = false;
  bool is_operator = false;
  bool is_constructor = false;  ///< or a destructor
  bool is_explicit = false;
  bool is_consteval = false;
  bool is_immediate_object = false;  ///< has "this" as a parameter (C++23)
  /// Of a member: a class nearer to the annotated one, or another base, has a member of that name, so a call by the
  /// name doesn't reach it.
  bool hidden = false;
  bool dependent = false;      ///< its declaration names parameters of the class template that it is a member of
  std::string inaccessible{};  ///< a name in its declaration that is a private or protected member of a class
  visibility inaccessible_is = visibility::is_public;
  handed_out hands_out = handed_out::nothing;
  std::vector<annotation> annotations{};
  annotation_home home{};     ///< of the declaration that the annotations stand above
  std::string contradicts{};  ///< another annotated function that it overrides, and whose annotations differ
  std::optional<lock_plan> lock{};

  bool is_member() const noexcept { return !owner.empty(); }
  /// "shop::order_service::place(const order&, int)", for messages.
  std::string described() const;
};

enum class class_form {
  wrapper,   ///< of an abstract class: it implements the class, and passes calls on to another object
  subclass,  ///< of a class with virtual functions: it is the object
  proxy,     ///< of any other class: it passes calls on to an object, and is no object of the class
};

struct class_model {
  std::string name{};
  std::string qualified{};  ///< "shop::order_service"
  std::string generated{};  ///< "order_service_locked"
  std::vector<scope> scopes{};
  location where{};
  std::size_t offset = 0;
  std::string usr{};
  class_form form = class_form::proxy;
  bool is_template = false;
  bool is_final = false;
  bool is_abstract = false;
  bool is_polymorphic = false;
  bool is_nameable = true;  ///< false: a private member of another class, or without a name
  bool default_constructible = true;
  bool constructible = true;  ///< a class that derives from it can call one of its constructors, and the destructor
  std::string state{};        ///< a data member of it or of a base: "shop::order_service::table_"
  std::string unreadable{};   ///< a base class whose members can't be read
  std::vector<annotation> annotations{};
  std::vector<function_model> functions{};  ///< of it and its bases, each overridden one once
  std::vector<std::string> databases{};     ///< names of those that the generated class gets
};

/// Whether what is generated for a class that it passes calls on to has that function as well, and it is not annotated.
/// It has all overloads of a name or none, as a call could mean another one otherwise.
bool passes_on(const class_model& owner, const function_model& function);
/// The first part of that, of this overload alone.
bool can_pass_on(const class_model& owner, const function_model& function);

struct free_function_model {
  function_model function{};
  std::vector<scope> scopes{};
  std::vector<std::string> databases{};
};

/// A class whose rows can be locked in place, as the header sees it.
struct lockable_class {
  std::string spelled{};  ///< fully
  std::string header{};   ///< the file that defines it
};

/// All that is generated for one header.
struct header_model {
  std::filesystem::path path{};
  std::string include_as{};
  std::vector<class_model> classes{};
  std::vector<free_function_model> functions{};
  std::vector<lockable_class> lockable{};
  std::vector<std::string> row_headers{};  ///< of the rows' classes, as "order-odb.hxx"

  /// All functions with a lock, those of classes first. `owner`: the class; null for a function outside of one.
  void each_locked(const std::function<void(const function_model& function, const class_model* owner)>& visit) const;
};

}  // namespace dlock_gen
