// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "support/gate.hpp"

namespace dlock::test {

/// What is neither about a key nor about a session.
enum class other_verb { cleanup };
/// Which statements a script is about.
using statement = std::variant<verb, session_verb, other_verb>;

/// What becomes of one. Default: it is executed and answered.
enum class fate {
  pass,    ///< executed, answered
  drop,    ///< executed, but the answer is lost: unknown, and the connection is broken
  ghost,   ///< not executed yet, unknown, connection broken: executed by run_ghosts()
  vanish,  ///< never executed; unknown, connection broken
  fail,    ///< not executed; failed with script::why
  say,     ///< not executed; answered with script::answer
};

struct script {
  fate what = fate::pass;
  fault why{};                     ///< fail
  outcome answer = outcome::no;    ///< say
  unsigned times = 1;              ///< for so many statements
  unsigned skip = 0;               ///< after letting so many pass
  microseconds takes{0};           ///< so long on its way, by the clock of the store, before it is executed
  microseconds ttl{0};             ///< session_verb: only of sessions of this ttl; 0: of any
  std::shared_ptr<gate> before{};  ///< stops there before it is executed
  std::shared_ptr<gate> after{};   ///< stops there after it was executed, before it is answered
  bool deaf = false;               ///< an interruption does not end its stop
  std::function<void()> ahead{};   ///< called before it is executed
  std::function<void()> during{};  ///< called after it was executed, before it is answered
};

}  // namespace dlock::test
