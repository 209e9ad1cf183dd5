// SPDX-License-Identifier: BSL-1.0
// Temporary leases, whose end the program does not see.
#include "dlock/dlock.hpp"

// fails: deleted (member )?function .*operator bool|invokes a deleted function
int lease_condition_of_temporary() {
#ifndef MISUSE_lease_condition_of_temporary
  if (const auto held = dlock::default_service().try_acquire("k")) return 1;
#else
  if (dlock::default_service().try_acquire("k")) return 1;
#endif
  return 0;
}

// fails: deleted (member )?function .*key
std::size_t lease_key_of_temporary() {
#ifndef MISUSE_lease_key_of_temporary
  const auto held = dlock::default_service().acquire("k");
  const auto name = held.key();
#else
  const auto name = dlock::default_service().acquire("k").key();
#endif
  return name.size();
}

// fails: deleted (member )?function .*lost
bool lease_lost_of_temporary() {
#ifndef MISUSE_lease_lost_of_temporary
  const auto held = dlock::default_service().acquire("k");
  const auto lost = held.lost_token();
#else
  const auto lost = dlock::default_service().acquire("k").lost_token();
#endif
  return lost.stop_requested();
}

// fails: deleted (member )?function .*operator bool|invokes a deleted function
int lease_not_of_temporary() {
#ifndef MISUSE_lease_not_of_temporary
  const auto held = dlock::default_service().try_acquire("k");
  if (!held) return 1;
#else
  if (!dlock::default_service().try_acquire("k")) return 1;
#endif
  return 0;
}

// fails: deleted (member )?function .*operator bool|invokes a deleted function
int multi_lease_condition_of_temporary() {
#ifndef MISUSE_multi_lease_condition_of_temporary
  if (const auto held = dlock::default_service().try_acquire_all({"a", "b"})) return 1;
#else
  if (dlock::default_service().try_acquire_all({"a", "b"})) return 1;
#endif
  return 0;
}

// fails: deleted (member )?(function|operator) .*operator\[\]
std::uint64_t multi_lease_element_of_temporary() {
#ifndef MISUSE_multi_lease_element_of_temporary
  const auto held = dlock::default_service().acquire_all({"a", "b"});
  const auto& lease = held["a"];
#else
  const auto& lease = dlock::default_service().acquire_all({"a", "b"})["a"];
#endif
  return lease.fencing_token();
}

// fails: deleted (member )?function .*find
std::uint64_t multi_lease_find_in_temporary() {
#ifndef MISUSE_multi_lease_find_in_temporary
  const auto held = dlock::default_service().acquire_all({"a", "b"});
  const auto lease = held.find("a");
#else
  const auto lease = dlock::default_service().acquire_all({"a", "b"}).find("a");
#endif
  return lease->fencing_token();
}
