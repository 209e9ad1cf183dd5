// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

namespace dlock_gen {

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

}  // namespace dlock_gen
