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

request actor::about(verb action, resource_name key) const {
  return {
      .action = action, .resource = key.text, .session = id, .row = key.row, .nonce = key.row != nullptr ? nonce : 0};
}

reply actor::attempt(verb action, resource_name key, microseconds own_ttl, const seen* expected) {
  auto asked = about(action, key);
  asked.nonce = ++nonce;
  asked.ttl = key.row != nullptr ? own_ttl : lasting(own_ttl);
  asked.kind = kind_for(asked.ttl);
  asked.expected = expected;
  return run(asked);
}

std::vector<request> actor::takes(const std::vector<lock_key>& keys, microseconds own_ttl) {
  std::vector<request> asked;
  for (const auto& key : keys) {
    asked.push_back(about(verb::take, key));
    asked.back().nonce = ++nonce;
    asked.back().kind = kind_for(own_ttl);
    asked.back().ttl = own_ttl;
  }
  return asked;
}

std::uint64_t actor::acquire(resource_name key, microseconds own_ttl) {
  reply granted = take(key, own_ttl);
  if (key.row == nullptr && answer(granted) == outcome::no) granted = insert(key, own_ttl);
  REQUIRE(answer(granted) == outcome::yes);
  return granted.fence;
}

reply actor::extend(resource_name key, std::uint64_t fence, microseconds own_ttl) {
  auto asked = about(verb::extend, key);
  asked.fence = fence;
  asked.kind = kind_for(own_ttl);
  asked.ttl = own_ttl;
  return run(asked);
}

reply actor::release(resource_name key, std::uint64_t fence, microseconds min_hold) {
  auto asked = about(verb::release, key);
  asked.fence = fence;
  asked.min_hold = min_hold;
  return run(asked);
}

reply actor::cancel(resource_name key, std::uint64_t of_nonce) {
  auto asked = about(verb::cancel, key);
  asked.nonce = of_nonce;
  return run(asked);
}

reply actor::pass_on(resource_name key, std::uint64_t fence) {
  auto asked = about(verb::pass_on, key);
  asked.nonce = ++nonce;
  asked.fence = fence;
  return run(asked);
}

seen actor::at(resource_name key) {
  const reply r = poll(key);
  if (answer(r) == outcome::absent) return {.expired = forgets};
  REQUIRE(r.result == outcome::yes);
  return r.holder;
}

bool actor::sees(const actor& holder, resource_name key) {
  const id128 shown = at(key).holder;
  return hides && holder.id != id ? static_cast<bool>(shown) : shown == holder.id;
}

std::vector<holder_info> actor::inspected(resource_name key) {
  REQUIRE(store->admin() != nullptr);
  std::vector<holder_info> found;
  CHECK(answer(store->admin()->inspect(*connection, {.resource = key.text, .row = key.row}, found)) == outcome::yes);
  return found;
}

outcome actor::revoke(resource_name key) {
  REQUIRE(store->admin() != nullptr);
  return answer(store->admin()->revoke(*connection, {.resource = key.text, .row = key.row}));
}

request actor::grant(resource_name key, std::uint64_t fence) const {
  auto asked = about(verb::poll, key);
  asked.nonce = nonce;
  asked.fence = fence;
  return asked;
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
