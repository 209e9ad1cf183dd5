// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/undo.hpp"

namespace dlock::engine {

task<bool> undo(flow& f, statement& by, const grant& attempt, instant until) {
  by.priority = priority::frees;
  by.counts = false;
  by.queue_deadline = until;

  by.what = statement::kind::terminate;
  by.lost = attempt.in_doubt;
  by.timeout = until - f.now();
  co_await f.send(by);
  if (!by.sent || f.now() >= until) co_return false;

  by.what = statement::kind::keyed;
  by.ask = attempt.ask(verb::cancel);
  by.timeout = until - f.now();
  const bool gone = attempt.in_doubt->gone.load();  // before the cancellation is sent
  co_await f.send(by);
  if (!by.sent) co_return false;
  // If it was cancelled, it has run, and a statement runs once. If there was nothing to cancel, that is final only if
  // the attempt could not run any more by then.
  const auto answer = by.answer.result;
  co_return answer == outcome::yes || (answer == outcome::no && gone);
}

}  // namespace dlock::engine
