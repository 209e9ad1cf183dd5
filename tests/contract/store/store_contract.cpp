// SPDX-License-Identifier: BSL-1.0
#include "contract/store/store_contract.hpp"

namespace dlock {

std::ostream& operator<<(std::ostream& out, outcome outcome) {
  constexpr const char* names[] = {"yes", "no", "absent", "unknown", "failed"};
  return out << names[static_cast<std::size_t>(outcome)];
}

std::ostream& operator<<(std::ostream& out, const id128& id) { return out << id.hex(); }

}  // namespace dlock

namespace dlock::test {

void pass_until(store_fixture& fixture, const std::function<bool()>& done) {
  for (int i = 0; i < 2000; ++i) {
    if (done()) return;
    fixture.pass(5ms);
  }
  FAIL("it did not happen within 10 s");
}

std::unique_ptr<connection> connect(store& to, microseconds limit) {
  fault why;
  auto made = to.connect(limit, why);
  INFO(why.text);
  REQUIRE(made != nullptr);
  return made;
}

std::vector<reply> executed(store& whom, connection& by, const std::vector<request>& batch) {
  std::vector<reply> replies(batch.size());
  whom.execute(by, batch, replies);
  return replies;
}

reply executed(store& whom, connection& by, const request& one) {
  reply r;
  whom.execute(by, {&one, 1}, {&r, 1});
  return r;
}

unsigned statements(const std::vector<reply>& replies) {
  unsigned all = 0;
  for (const auto& each : replies) all += each.statements;
  return all;
}

actor::actor(store_fixture& fixture, microseconds session_ttl, std::string label_of)
    : store(fixture.open()),
      rounding(fixture.rounding()),
      deletes(fixture.deletes_free_rows()),
      makes_rows(fixture.makes_rows_first()),
      forgets(fixture.forgets_expired()),
      hides(fixture.hides_holders()),
      counts(store->caps().fence && store->caps().consecutive_fences),
      connection(connect(*store)),
      label(std::move(label_of)) {
  if (keeps) REQUIRE(session(session_verb::open, id, session_ttl) == outcome::yes);
}

reply actor::take(std::string_view key, microseconds own_ttl) {
  return run({.action = verb::take,
              .resource = key,
              .session = id,
              .nonce = ++nonce,
              .kind = kind_for(lasting(own_ttl)),
              .ttl = lasting(own_ttl)});
}

reply actor::insert(std::string_view key, microseconds own_ttl) {
  return run({.action = verb::insert,
              .resource = key,
              .session = id,
              .nonce = ++nonce,
              .kind = kind_for(lasting(own_ttl)),
              .ttl = lasting(own_ttl)});
}

std::uint64_t actor::acquire(std::string_view key, microseconds own_ttl) {
  reply granted = take(key, own_ttl);
  if (answer(granted) == outcome::no) granted = insert(key, own_ttl);
  REQUIRE(answer(granted) == outcome::yes);
  return granted.fence;
}

reply actor::take_over(std::string_view key, const seen& holder, microseconds own_ttl) {
  return run({.action = verb::take_over,
              .resource = key,
              .session = id,
              .nonce = ++nonce,
              .kind = kind_for(lasting(own_ttl)),
              .ttl = lasting(own_ttl),
              .expected = &holder});
}

reply actor::extend(std::string_view key, std::uint64_t fence, microseconds own_ttl) {
  return run({.action = verb::extend,
              .resource = key,
              .session = id,
              .fence = fence,
              .kind = kind_for(own_ttl),
              .ttl = own_ttl});
}

reply actor::release(std::string_view key, std::uint64_t fence, microseconds min_hold) {
  return run({.action = verb::release, .resource = key, .session = id, .fence = fence, .min_hold = min_hold});
}

reply actor::cancel(std::string_view key, std::uint64_t of_nonce) {
  return run({.action = verb::cancel, .resource = key, .session = id, .nonce = of_nonce});
}

reply actor::pass_on(std::string_view key, std::uint64_t fence) {
  return run({.action = verb::pass_on, .resource = key, .session = id, .nonce = ++nonce, .fence = fence});
}

reply actor::poll(std::string_view key) { return run({.action = verb::poll, .resource = key, .session = id}); }

seen actor::at(std::string_view key) {
  const reply r = poll(key);
  if (answer(r) == outcome::absent) return {.expired = forgets};
  REQUIRE(r.result == outcome::yes);
  return r.holder;
}

bool actor::sees(const actor& holder, std::string_view key) {
  const id128 shown = at(key).holder;
  return hides && holder.id != id ? static_cast<bool>(shown) : shown == holder.id;
}

std::vector<holder_info> actor::inspected(std::string_view key) {
  REQUIRE(store->admin() != nullptr);
  std::vector<holder_info> found;
  CHECK(answer(store->admin()->inspect(*connection, {.resource = key}, found)) == outcome::yes);
  return found;
}

outcome actor::session(session_verb action, const id128& whose, microseconds ttl) {
  return answer(
      store->session(*connection, action, {.id = whose, .ttl = ttl, .host = "host-a", .pid = 4242, .label = label}));
}

outcome answer(const reply& r) {
  INFO("native " << r.why.native << ": " << r.why.text);
  REQUIRE(r.result != outcome::failed);
  REQUIRE(r.result != outcome::unknown);
  return r.result;
}

}  // namespace dlock::test
