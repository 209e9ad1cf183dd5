// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/session_renewal.hpp"

#include <utility>

namespace dlock::engine {

task<void> renew_session(flow& f, session_keeper& sessions, std::shared_ptr<session> renewed) {
  statement renewal;
  const session_keeper::renewing here(sessions, *renewed, f.waker());  // is woken when the session is over
  for (;;) {
    while (f.now() < sessions.due(*renewed)) {
      if (co_await f.wait(sessions.due(*renewed))) co_return;
    }
    if (!sessions.begin_renewal(renewed, renewal, f.now())) co_return;
    co_await f.send(renewal);
    sessions.end_renewal(renewed, renewal);
  }
}

}  // namespace dlock::engine
