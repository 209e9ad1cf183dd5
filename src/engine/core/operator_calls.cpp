// SPDX-License-Identifier: BSL-1.0
#include "engine/core/operator_calls.hpp"

#include <utility>

#include "engine/operations/lock_errors.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {

/// The time limit of one query.
constexpr microseconds query_limit = 5s;

reply answer_to(service_core& core, const char* doing, statement& statement) {
  core.refuse_if_forked();
  const service_core::call here(core);
  statement.queue_deadline = core.shared().time.now() + query_limit;
  core.all().statements.run(statement);
  const auto result = statement.answer.result;
  if (result == outcome::failed || result == outcome::unknown) throw_store_error(core.all(), doing, statement);
  return std::move(statement.answer);
}

}  // namespace

reply ask(service_core& core, const char* doing, const request& request) {
  statement statement;
  statement.ask = request;
  return answer_to(core, doing, statement);
}

reply ask(service_core& core, const char* doing, const std::function<reply(connection&)>& use) {
  statement statement;
  statement.what = statement::kind::call;
  statement.about = const_cast<std::function<reply(connection&)>*>(&use);
  statement.call = [](void* about, connection& link) {
    return (*static_cast<std::function<reply(connection&)>*>(about))(link);
  };
  return answer_to(core, doing, statement);
}

}  // namespace dlock::engine
