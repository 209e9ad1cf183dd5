// SPDX-License-Identifier: BSL-1.0
// Fibres: calls on stacks that are not the thread's own. Not for the thread sanitizer, which does not follow them.
#include <ucontext.h>

#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

/// Runs a function on a stack of its own, until it calls yield() or ends.
class fibre {
 public:
  explicit fibre(std::function<void(fibre&)> body) : body_(std::move(body)), stack_(std::size_t{1} << 18U) {
    REQUIRE(::getcontext(&mine_) == 0);
    mine_.uc_stack.ss_sp = stack_.data();
    mine_.uc_stack.ss_size = stack_.size();
    mine_.uc_link = &callers_;
    ::makecontext(&mine_, &begin, 0);
  }
  fibre(const fibre&) = delete;
  fibre& operator=(const fibre&) = delete;

  void resume() {
    next() = this;
    REQUIRE(::swapcontext(&callers_, &mine_) == 0);
  }
  void yield() { ::swapcontext(&mine_, &callers_); }

 private:
  static fibre*& next() {
    static fibre* which = nullptr;
    return which;
  }
  static void begin() {
    auto& self = *next();
    self.body_(self);
  }

  const std::function<void(fibre&)> body_;
  std::vector<std::byte> stack_;
  ucontext_t mine_{};
  ucontext_t callers_{};
};

}  // namespace

TEST_CASE_METHOD(one_service, "fibre: two on one thread exclude each other") {
  bool second_got_in = true;
  {
    fibre first([&](fibre& self) {
      const auto held = locks->acquire("k");
      self.yield();
    });
    fibre second([&](fibre&) { second_got_in = granted(locks->try_acquire("k")); });
    first.resume();
    second.resume();
    CHECK_FALSE(second_got_in);
    CHECK_FALSE(granted(locks->try_acquire("k")));  // nor the thread itself
    first.resume();
  }
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "fibre: what its thread holds is busy for it") {
  bool got_in = true;
  const auto held = locks->acquire("k");
  fibre guest([&](fibre&) { got_in = granted(locks->try_acquire("k")); });
  guest.resume();
  CHECK_FALSE(got_in);
  CHECK(locks->try_acquire("k").reentered());
}

TEST_CASE_METHOD(one_service, "fibre: with an owner of its own its nested calls enter again") {
  bool without = true;
  bool with = false;
  fibre own([&](fibre&) {
    {
      const auto held = locks->acquire("k");
      without = granted(locks->try_acquire("k"));
    }
    const owner_scope me;
    const auto held = locks->acquire("k");
    with = locks->try_acquire("k").reentered();
  });
  own.resume();
  CHECK_FALSE(without);
  CHECK(with);
}
