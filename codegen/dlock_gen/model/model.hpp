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

/// Joins text(element) of all elements with commas.
template <class Range, class Text>
std::string joined(const Range& all, Text&& text) {
  std::string made;
  for (const auto& each : all) made += (made.empty() ? "" : ", ") + text(each);
  return made;
}

enum class passing { value, lvalue, rvalue };

struct parameter {
  std::string name{};  ///< one of ours if the author gave none
  bool named = true;
  std::string declaration{};    ///< with the name, without a default argument: "const order& o"
  std::string default_value{};  ///< "3"; empty if there is none
  passing how = passing::value;
  bool movable = false;  ///< a class by value, or an rvalue, which is moved on
  std::string type{};    ///< in canonical form, to compare

  /// The expression that passes it on: "o", "std::move(o)".
  std::string forwarded() const;
};

/// The name in the generated code of a parameter without a name, counted from 1.
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

/// The signature of a function, for calls and for its declaration.
struct signature {
  std::string name{};
  std::vector<parameter> parameters{};
  std::string result{};       ///< as it is written
  std::string result_type{};  ///< in canonical form
  result_kind result_is = result_kind::other;
  coroutine_kind coroutine = coroutine_kind::none;
  result_kind awaited = result_kind::other;  ///< the result of co_await, if it is known
  bool future = false;                       ///< std::future or std::shared_future
  bool is_const = false;
  bool is_volatile = false;
  reference object = reference::none;
  std::string exception{};  ///< "noexcept", "noexcept(...)", or empty
  bool nodiscard = false;
  bool variadic = false;  ///< ends in "..." as in C

  /// " const &" and the like, after the parameters.
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
  bool given = false;  ///< neither; the generated class or function gets it as a parameter

  friend bool operator==(const database_use& left, const database_use& right) {
    return left.path.text() == right.path.text();
  }
};

/// The row that a DLOCK_LOCKED_ROW locks.
struct row_plan {
  std::string entity{};  ///< the mapped class, fully qualified, or as the author wrote it
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

/// How one function is locked, from its annotations and those of its class.
struct lock_plan {
  std::vector<key_plan> keys{};
  std::vector<option> options{};  ///< fields of lock_options, in their order
  busy_plan busy{};
  std::optional<database_use> verified{};
  location where{};  ///< of the first annotation
};

enum class visibility { is_public, is_protected, is_private };

/// A namespace that is opened again around the generated code.
struct scope {
  std::string name{};  ///< empty if it has no name
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

/// The annotated declaration. An override has the annotations of its base, with the meanings that they have there.
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
  std::string owner{};      ///< for a member: the class that declares it, fully qualified
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
  /// For a member: a class nearer to the annotated one, or another base, has a member of that name, so a call by the
  /// name doesn't reach it.
  bool hidden = false;
  bool dependent = false;      ///< its declaration names parameters of the class template that it is a member of
  std::string inaccessible{};  ///< a name in its declaration that is a private or protected member of a class
  visibility inaccessible_is = visibility::is_public;
  handed_out hands_out = handed_out::nothing;
  std::vector<annotation> annotations{};
  annotation_home home{};     ///< the annotated declaration
  std::string contradicts{};  ///< another annotated function that it overrides, with different annotations
  std::optional<lock_plan> lock{};

  bool is_member() const noexcept { return !owner.empty(); }
  /// "shop::order_service::place(const order&, int)", for messages.
  std::string described() const;
};

enum class class_form {
  wrapper,   ///< for an abstract class: implements the class, and passes calls on to another object
  subclass,  ///< for a class with virtual functions: is the object
  proxy,     ///< for any other class: passes calls on to an object, and is not related to the class
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
  bool is_nameable = true;  ///< false for a private member of another class, or a class without a name
  bool default_constructible = true;
  bool constructible = true;  ///< a class that derives from it can call one of its constructors, and the destructor
  std::string state{};        ///< a data member of it or of a base: "shop::order_service::table_"
  std::string unreadable{};   ///< a base class whose members can't be read
  std::vector<annotation> annotations{};
  std::vector<function_model> functions{};  ///< of it and its bases, each overridden one once
  std::vector<std::string> databases{};     ///< names of those that the generated class gets
};

/// Whether the generated class, which passes calls on, also has that function, which is not annotated. It has all
/// overloads of a name or none, because otherwise a call could mean another one.
bool passes_on(const class_model& owner, const function_model& function);
/// Whether this overload alone can be passed on.
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

/// The model of all code that is generated for one header.
struct header_model {
  std::filesystem::path path{};
  std::string include_as{};
  std::vector<class_model> classes{};
  std::vector<free_function_model> functions{};
  std::vector<lockable_class> lockable{};
  std::vector<std::string> row_headers{};  ///< of the rows' classes, as "order-odb.hxx"

  /// Visits all functions with a lock, those of classes first. `owner` is the class, or null for a function outside a
  /// class.
  void each_locked(const std::function<void(const function_model& function, const class_model* owner)>& visit) const;
};

}  // namespace dlock_gen
