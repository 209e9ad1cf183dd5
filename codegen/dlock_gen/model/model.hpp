// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "annotations/annotation.hpp"
#include "model/lock_plan.hpp"
#include "model/signature.hpp"

namespace dlock_gen {

enum class visibility { is_public, is_protected, is_private };

/// A namespace that is opened again around what is generated.
struct scope {
  std::string name{};  ///< empty: without a name
  bool is_inline = false;

  friend bool operator==(const scope&, const scope&) = default;
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
  bool hidden = false;               ///< a class nearer to the annotated one has another member of that name
  std::vector<annotation> annotations{};
  std::optional<lock_plan> lock{};

  bool is_member() const noexcept { return !owner.empty(); }
};

enum class class_form { wrapper, subclass };

struct class_model {
  std::string name{};
  std::string qualified{};  ///< "shop::order_service"
  std::string generated{};  ///< "order_service_locked"
  std::vector<scope> scopes{};
  location where{};
  std::size_t offset = 0;
  std::string usr{};
  class_form form = class_form::wrapper;
  bool is_template = false;
  bool is_final = false;
  bool is_abstract = false;
  bool is_polymorphic = false;
  bool is_nameable = true;  ///< false: a private member of another class, or without a name
  bool default_constructible = true;
  bool derives = false;  ///< the generated class is one of this
  std::vector<annotation> annotations{};
  std::vector<option> defaults{};
  std::vector<function_model> functions{};  ///< of it and its bases, each overridden one once
  std::vector<std::string> databases{};     ///< names of those that the generated class gets
};

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
};

}  // namespace dlock_gen
