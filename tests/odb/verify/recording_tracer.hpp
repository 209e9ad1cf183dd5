// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <odb/tracer.hxx>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/lease.hpp"
#include "odb/verify/bank.hpp"
#include "support/recording_observer.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// Keeps the statements that it is shown.
struct recording_tracer final : odb::tracer {
  using odb::tracer::execute;
  void execute(odb::connection&, const char* statement) override { seen.emplace_back(statement); }
  int times(std::string_view text) const { return static_cast<int>(std::count(seen.begin(), seen.end(), text)); }
  std::vector<std::string> seen{};
};

/// On a cluster: the service reports a commit that its guard does not see, because the program has replaced the tracer
/// of the connection. `begin` begins a transaction.
template <class Begin>
void check_replaced_tracer(odb::database& bank, const lease& held, const recording_observer& observer, Begin&& begin) {
  recording_tracer mine;
  {
    odb::transaction t(begin());
    held.verify(t);
    t.connection().tracer(mine);
    write(bank, 1, 7);
    t.connection().tracer(nullptr);
    t.commit();
  }
  CHECK(observer.count(event::kind::unchecked) == 1);
  {
    odb::transaction t(begin());
    held.verify(t);
    t.tracer(mine);  // the connection's sees the commit all the same
    write(bank, 1, 8);
    t.commit();
  }
  CHECK(observer.count(event::kind::unchecked) == 1);
  CHECK(mine.times("COMMIT") == 0);
}

}  // namespace dlock::test
