// SPDX-License-Identifier: BSL-1.0

// The examples of docs/once.md.

#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;

struct mail_server {
  std::vector<std::string> sent{};
  void send(const std::string& text) { sent.push_back(text); }
};

// [once]
/// Every process calls this when it starts. One of them does the work; those that come later wait until it is done.
void prepare(dlock::lock_service& locks, mail_server& mail) {
  locks.once("migrate:2026-12", [&] { mail.send("migrated"); });
  locks.once("digest:42", {.valid = 24h}, [&] { mail.send("the digest of the day"); });
}
// [/once]

TEST_CASE("docs: work is done once, or once in a while") {
  dlock::stores::virtual_clock clock;
  auto store = std::make_shared<dlock::stores::memory_store>(clock);
  dlock::lock_service locks{store, {.label = "process 1", .time = &clock}};
  dlock::lock_service others{store, {.label = "process 2", .time = &clock}};
  mail_server mail;
  prepare(locks, mail);
  prepare(others, mail);
  CHECK(mail.sent == std::vector<std::string>{"migrated", "the digest of the day"});
  clock.advance(25h);
  prepare(others, mail);
  CHECK(mail.sent.size() == 3);
}

}  // namespace
