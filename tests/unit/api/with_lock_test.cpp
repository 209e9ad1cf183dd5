// SPDX-License-Identifier: BSL-1.0

#include "dlock/with_lock.hpp"
#include "dlock/key.hpp"
#include "dlock/key_of.hpp"
#include "dlock/locked.hpp"
#include "support/test.hpp"
#include "unit/api/memory_fixture.hpp"

using namespace std::chrono_literals;
using dlock::lease;
using dlock::test::memory_fixture;

namespace {

int plain_function() { return 11; }

struct both_ways {
  int operator()() const { return 1; }
  int operator()(const lease&) const { return 2; }
};

// A call of with_lock() with anything else ends the compilation with a sentence (compile_fail).
static_assert(!dlock::detail::callable_under_lock<int (*)(int)>);
static_assert(dlock::detail::callable_under_lock<int (*)(const lease&)>);
static_assert(!dlock::detail::callable_under_lock<int (*)(lease)>);  // the lease stays with_lock's

}  // namespace

TEST_CASE_METHOD(memory_fixture, "with_lock: the function runs under the lock, which is free afterwards") {
  bool free_inside = true;
  locks.with_lock("k", [&] { free_inside = is_free("k"); });
  CHECK_FALSE(free_inside);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "with_lock: results of every kind come through unchanged", "[T87]") {
  int target = 5;

  STATIC_CHECK(std::same_as<decltype(locks.with_lock("k", [] {})), void>);
  STATIC_CHECK(std::same_as<decltype(locks.with_lock("k", [&]() -> int& { return target; })), int&>);
  STATIC_CHECK(std::same_as<decltype(locks.with_lock("k", [&]() -> const int& { return target; })), const int&>);
  STATIC_CHECK(std::same_as<decltype(locks.with_lock("k", [&]() -> int&& { return std::move(target); })), int&&>);

  CHECK(locks.with_lock("k", [] { return 7; }) == 7);
  CHECK(&locks.with_lock("k", [&]() -> int& { return target; }) == &target);
  CHECK(*locks.with_lock("k", [] { return std::make_unique<int>(9); }) == 9);
  CHECK(*locks.with_lock("k", []() -> const std::unique_ptr<int> { return std::make_unique<int>(10); }) == 10);
  auto owned = std::make_unique<int>(12);
  const std::unique_ptr<int> taken = locks.with_lock("k", [&]() -> std::unique_ptr<int>&& { return std::move(owned); });
  CHECK(*taken == 12);
  CHECK(owned == nullptr);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: any callable is called, once") {
  CHECK(locks.with_lock("k", plain_function) == 11);
  CHECK(locks.with_lock("k", &plain_function) == 11);
  CHECK(locks.with_lock("k", std::function<int()>(plain_function)) == 11);
  CHECK(locks.with_lock("k", both_ways{}) == 1);  // without the lease where both would do
  int calls = 0;
  locks.with_lock(
      "k", [calls_ = &calls, only_movable = std::make_unique<int>(1)]() mutable { *calls_ += (*only_movable)++; });
  CHECK(calls == 1);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: the function may take its lease") {
  const auto first = locks.with_lock("k", [](const lease& held) { return held.fencing_token(); });
  const auto second = locks.with_lock("k", [](lease& held) { return held.fencing_token(); });
  CHECK(second == first + 1);
  CHECK(locks.with_lock("k", [](auto& held) { return std::string(held.key()); }) == "k");
  locks.with_lock("k", {.ttl = 1s, .renewal = dlock::renewal::manual}, [&](lease& held) {
    clock.advance(700ms);
    held.renew();
    clock.advance(700ms);
    held.ensure_held();
  });
}

TEST_CASE_METHOD(memory_fixture, "with_lock: no function runs without the lock", "[T03]") {
  int runs = 0;
  const auto body = [&] { ++runs; };
  {
    const lease theirs = rival.acquire("k");
    CHECK_THROWS_AS(locks.with_lock("k", {.wait = 0ms}, body), dlock::lock_timeout);
    CHECK_THROWS_AS(locks.with_lock("k", {.wait = 0ms}, body), dlock::lock_timeout);
    CHECK_FALSE(locks.try_with_lock("k", {.wait = 0ms}, body));
    CHECK_FALSE(locks.try_with_lock("k", body));
  }
  CHECK_THROWS_AS(locks.with_lock("k", {.ttl = -1s}, body), std::invalid_argument);
  CHECK_THROWS_AS(locks.with_lock("", body), std::invalid_argument);
  locks.close(0ms);
  CHECK_THROWS_AS(locks.with_lock("k", body), dlock::lock_refused);
  CHECK_THROWS_AS(locks.try_with_lock("k", body), dlock::lock_refused);
  CHECK(runs == 0);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: nothing is released when nothing was acquired", "[T02]") {
  const lease theirs = rival.acquire("k");
  CHECK_THROWS_AS(locks.with_lock("k", {.wait = 0ms}, [] {}), dlock::lock_timeout);
  CHECK_FALSE(locks.try_with_lock("k", [] {}));
  CHECK(seen->count(dlock::event::kind::released) == 0);
  theirs.ensure_held();
  CHECK_FALSE(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "with_lock: an exception passes and the key is released") {
  CHECK_THROWS_AS(locks.with_lock("k", []() -> int { throw std::out_of_range("mine"); }), std::out_of_range);
  CHECK(is_free("k"));
  CHECK_THROWS_AS(locks.try_with_lock("k", []() -> int { throw std::out_of_range("mine"); }), std::out_of_range);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "with_lock: a result made under a lost lease is not handed out") {
  int target = 0;
  CHECK_THROWS_AS(locks.with_lock("k", [&] { return outlive_leases(), 1; }), dlock::lock_lost);
  CHECK_THROWS_AS(locks.with_lock("k", [&] { outlive_leases(); }), dlock::lock_lost);
  CHECK_THROWS_AS(locks.with_lock("k", [&]() -> int& { return outlive_leases(), target; }), dlock::lock_lost);
  CHECK_THROWS_AS(locks.try_with_lock("k", [&] { return outlive_leases(), 1; }), dlock::lock_lost);
  CHECK_THROWS_AS(locks.try_with_lock("k", [&] { outlive_leases(); }), dlock::lock_lost);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: a successor is left alone after a loss", "[T08]") {
  lease theirs;
  CHECK_THROWS_AS(locks.with_lock("k",
                                  [&] {
                                    outlive_leases();
                                    theirs = rival.acquire("k");
                                  }),
                  dlock::lock_lost);
  theirs.ensure_held();
  CHECK_NOTHROW(theirs.release());
}

TEST_CASE_METHOD(memory_fixture, "with_lock: the function's own exception wins over a loss") {
  CHECK_THROWS_AS(locks.with_lock("k",
                                  [&]() -> int {
                                    outlive_leases();
                                    throw std::out_of_range("mine");
                                  }),
                  std::out_of_range);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: re-entry runs at once, and an inner loss is found at the inner end") {
  bool inner_again = false;
  bool free_between = true;
  locks.with_lock("k", [&] {
    locks.with_lock("k", [&](const lease& held) { inner_again = held.reentered(); });
    free_between = is_free("k");
  });
  CHECK(inner_again);
  CHECK_FALSE(free_between);
  CHECK(is_free("k"));

  bool inner_returned = false;
  CHECK_THROWS_AS(locks.with_lock("k",
                                  [&] {
                                    locks.with_lock("k", [&] { outlive_leases(); });
                                    inner_returned = true;
                                  }),
                  dlock::lock_lost);
  CHECK_FALSE(inner_returned);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: a function may let its lease go itself", "[T08]") {
  lease kept;
  CHECK(locks.with_lock("k", [](lease& held) { return held.release(), 1; }) == 1);
  CHECK(is_free("k"));
  CHECK(locks.with_lock("k", [&](lease& held) { return kept = std::move(held), 2; }) == 2);
  CHECK_FALSE(is_free("k"));
  kept.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "with_lock: options reach the service, and without them its defaults do", "[T10]") {
  locks.with_lock("k", {.ttl = 5s}, [](const lease& held) { CHECK(held.remaining() <= 5s); });
  locks.with_lock("k", [](const lease& held) { CHECK(held.remaining() > 5s); });
  locks.with_lock("k", [&] {
    const auto twice = [&] { locks.with_lock("k", {.reentry = dlock::reentry::refuse}, [] { FAIL("ran"); }); };
    CHECK(dlock::test::thrown(twice) == dlock::errc::already_held);
    CHECK_FALSE(locks.try_with_lock("k", {.reentry = dlock::reentry::busy}, [] { FAIL("ran"); }));
  });
  const lease theirs = rival.acquire("k");
  CHECK_THROWS_AS(locks.with_lock("k", [] {}), dlock::lock_timeout);  // the fixture's default wait is 0
}

TEST_CASE_METHOD(memory_fixture, "with_lock: an explicit service is used, not the default one") {
  std::size_t mine = 0;
  rival.with_lock("k", [&] { mine = seen->count(dlock::event::kind::granted); });
  rival.with_lock("k", {.wait = 0ms}, [&] { mine += seen->count(dlock::event::kind::granted); });
  CHECK(mine == 0);
  locks.with_lock("k", [&] { mine = seen->count(dlock::event::kind::granted); });
  CHECK(mine == 1);
}

TEST_CASE("with_lock: without a default service it throws and says so") {
  int runs = 0;
  CHECK_THROWS_AS(dlock::default_service().with_lock("k", [&] { ++runs; }), std::logic_error);
  CHECK_THROWS_AS(dlock::default_service().try_with_lock("k", [&] { return ++runs; }), std::logic_error);
  CHECK(runs == 0);
}

TEST_CASE_METHOD(memory_fixture, "try_with_lock: the result says whether the function ran", "[T87]") {
  int target = 5;
  const auto reference = [&]() -> int& { return target; };
  STATIC_CHECK(std::same_as<decltype(locks.try_with_lock("k", [] {})), bool>);
  STATIC_CHECK(std::same_as<decltype(locks.try_with_lock("k", reference)), std::optional<std::reference_wrapper<int>>>);
  STATIC_CHECK(std::same_as<decltype(locks.try_with_lock("k", [] { return true; })), dlock::maybe_bool>);
  STATIC_CHECK_FALSE(std::is_constructible_v<bool, dlock::maybe_bool>);

  CHECK(locks.try_with_lock("k", [] {}));
  CHECK(locks.try_with_lock("k", [] { return 3; }) == 3);
  CHECK(&locks.try_with_lock("k", reference).value().get() == &target);
  CHECK(**locks.try_with_lock("k", [] { return std::make_unique<int>(4); }) == 4);
  CHECK(locks.try_with_lock("k", [] { return std::optional<int>(); }).has_value());  // it ran, and gave nothing

  CHECK(locks.try_with_lock("k", [] { return false; }).has_value());
  CHECK(locks.try_with_lock("k", [] { return false; }) == false);
  CHECK(locks.try_with_lock("k", [] { return true; }).value_or(false));
  CHECK(std::optional<bool>(locks.try_with_lock("k", [] { return true; })) == true);

  const lease theirs = rival.acquire("k");
  CHECK_FALSE(locks.try_with_lock("k", [] {}));
  CHECK_FALSE(locks.try_with_lock("k", [] { return 3; }).has_value());
  CHECK_FALSE(locks.try_with_lock("k", [] { return true; }).has_value());
  CHECK_THROWS_AS(locks.try_with_lock("k", [] { return true; }).value(), std::bad_optional_access);
  CHECK_FALSE(locks.try_with_lock("k", reference).has_value());
  CHECK_FALSE(locks.try_with_lock("k", {.wait = 0ms}, [] { return 3; }).has_value());
}

namespace {

struct parcel {
  int weight = 3;
  virtual ~parcel() = default;
  virtual int weighed(int times) const { return weight * times; }
  int&& moved_out() && { return std::move(weight); }
};
struct fragile final : parcel {
  int weighed(int times) const override { return -parcel::weighed(times); }
};

/// Whether detail::invoke gives what std::invoke gives, of the same type.
template <class F, class... Args>
bool as_std(F&& fn, Args&&... args) {
  STATIC_CHECK(std::same_as<decltype(dlock::detail::invoke(std::forward<F>(fn), std::forward<Args>(args)...)),
                            std::invoke_result_t<F, Args...>>);
  return dlock::detail::invoke(fn, args...) == std::invoke(fn, args...);
}

}  // namespace

TEST_CASE("with_lock: whatever std::invoke can call is called as it does") {
  parcel plain;
  fragile glass;
  const parcel fixed;
  const auto shared = std::make_shared<fragile>();
  CHECK(as_std(plain_function));
  CHECK(as_std([](int a, int b) { return a - b; }, 5, 3));
  CHECK(as_std(&parcel::weighed, glass, 2));
  CHECK(as_std(&parcel::weighed, &glass, 2));
  CHECK(as_std(&parcel::weighed, shared, 2));
  CHECK(as_std(&parcel::weighed, std::ref(plain), 2));
  CHECK(as_std(&parcel::weighed, std::cref(fixed), 2));
  CHECK(as_std(&parcel::weight, plain));
  CHECK(as_std(&parcel::weight, fixed));
  CHECK(as_std(&parcel::weight, shared));
  CHECK(as_std(&parcel::weight, std::ref(glass)));
  CHECK(&dlock::detail::invoke(&parcel::weight, plain) == &plain.weight);
  CHECK(dlock::detail::invoke(&parcel::moved_out, parcel()) == 3);
}

namespace {

struct order {
  int id;
  int pieces = 1;
};

struct user {
  std::string name;
};

class depot {
 public:
  explicit depot(int id) : id_(id) {}
  int id() const { return id_; }
  int ship(const order& o) { return shipped_ += o.pieces; }
  int shipped() const noexcept { return shipped_; }

 private:
  int id_;
  int shipped_ = 0;
};

int place_order(const order& o, const user&) { return o.id; }
int pieces_of(const order& o) noexcept { return o.pieces; }
std::string fence_and_id(const lease& held, const order& o) {
  return std::to_string(held.fencing_token()) + ":" + std::to_string(o.id);
}

int twice(int value) { return 2 * value; }
std::string twice(const std::string& value) { return value + value; }

struct factorial {
  unsigned operator()(unsigned n) const;
};
unsigned locked_factorial(unsigned n) {
  return dlock::default_service().locked<"factorial">(factorial{}, {.wait = 0ms})(n);
}
unsigned factorial::operator()(unsigned n) const { return n < 2 ? 1 : n * locked_factorial(n - 1); }

template <class F, class... Args>
concept callable = requires(F fn, Args... args) {
  fn(args...);
};

// What is locked while `fn` runs with these arguments: asked from within.
struct key_seen {
  memory_fixture& fixture;
  std::string* key;
  template <class... Args>
  void operator()(Args&&...) const {
    const auto keys = fixture.locks.held_keys();
    *key = keys.empty() ? "" : keys.front().key;
  }
};

}  // namespace

TEST_CASE_METHOD(memory_fixture,
                 "locked: the key is composed from the arguments, and several have their names listed") {
  std::string key;
  const key_seen see{*this, &key};
  locks.locked<"order:{o.id}:{u.name}", "o", "u">(see)(order{42}, user{"ann"});
  CHECK(key == "order:42:ann");
  locks.locked<"order:{u.name}:{o.id}", "o", "u">(see, {.ttl = 5s})(order{42}, user{"ann"});
  CHECK(key == "order:ann:42");
  locks.locked<"order:{id}">(see)(order{43});
  CHECK(key == "order:43");
  locks.locked<"order:{o.id}", "_", "o">(see)("ignored", order{44});
  CHECK(key == "order:44");
  locks.locked<"report:daily">(see)(1, 2, 3);
  CHECK(key == "report:daily");
  locks.locked<"report:{{daily}}">(see)();
  CHECK(key == "report:{daily}");
}

TEST_CASE_METHOD(memory_fixture, "locked: the key may be text, a lock_key, key_of or any callable") {
  std::string key;
  const key_seen see{*this, &key};
  locks.locked("report:daily", see)(order{42});
  CHECK(key == "report:daily");
  locks.locked(std::string("report:weekly"), see, {.ttl = 5s})();
  CHECK(key == "report:weekly");
  locks.locked(dlock::lock_key("report:monthly"), see)();
  CHECK(key == "report:monthly");
  locks.locked(dlock::key_of("depot", dlock::arg<1>(&depot::id), dlock::arg<2>(&order::id)), see)(depot(3), order{42});
  CHECK(key == "depot:3:42");
  const auto by_lambda = [](const order& o) { return dlock::key<"o:{o.id}">(o); };
  locks.locked(by_lambda, see)(order{42});
  CHECK(key == "o:42");
  locks.locked([](const order& o) { return "text:" + std::to_string(o.id); }, see)(order{42});
  CHECK(key == "text:42");
}

TEST_CASE_METHOD(memory_fixture, "locked: functions share a key exactly when their patterns do", "[T85]") {
  const auto cancel =
      locks.locked<"order:{o.id}">([this](const order& o) { return is_free(dlock::key<"order:{o}">(o.id)); });
  const auto refund =
      locks.locked<"refund:{o.id}">([this](const order& o) { return is_free(dlock::key<"order:{o}">(o.id)); });
  CHECK_FALSE(cancel(order{42}));
  CHECK(refund(order{42}));
}

TEST_CASE_METHOD(memory_fixture, "locked: any callable can be decorated", "[T86]") {
  CHECK(locks.locked<"order:{o.id}:{u.name}", "o", "u">(place_order)(order{42}, user{"ann"}) == 42);
  CHECK(locks.locked<"order:{o.id}">(&pieces_of)(order{42, 3}) == 3);
  CHECK(locks.locked<"n:{n}">(std::function<int(int)>([](int n) { return n + 1; }))(1) == 2);
  CHECK(locks.locked<"n:{n}">([only_movable = std::make_unique<int>(5)](int n) { return n + *only_movable; })(1) == 6);

  // Overload sets and templates, through a generic lambda.
  const auto any_twice = locks.locked<"twice:{v}">([](const auto& value) { return twice(value); });
  CHECK(any_twice(21) == 42);
  CHECK(any_twice(std::string("ab")) == "abab");

  // Members: the object is the first argument, by reference or pointer.
  depot depot(1);
  const auto ship = locks.locked(dlock::key_of("depot", dlock::arg<1>(&depot::id)), &depot::ship);
  CHECK(ship(depot, order{42, 2}) == 2);
  CHECK(ship(&depot, order{42, 2}) == 4);
  const auto shipped = locks.locked(dlock::key_of("depot", dlock::arg<1>(&depot::id)), &depot::shipped);
  CHECK(shipped(depot) == 4);
  CHECK(locks.locked<"order:{o.id}">(&order::pieces)(order{42, 9}) == 9);

  // What changes its own state.
  auto counter = locks.locked("counter", [count = 0]() mutable { return ++count; });
  CHECK(counter() == 1);
  CHECK(counter() == 2);
  STATIC_CHECK_FALSE(std::invocable<const decltype(counter)&>);

  // What may be called once only.
  struct once {
    int operator()() && { return 7; }
  };
  auto last = locks.locked("once", once{});
  STATIC_CHECK_FALSE(std::invocable<decltype(last)&>);
  CHECK(std::move(last)() == 7);
}

TEST_CASE_METHOD(memory_fixture, "locked: a leading lease parameter is supplied") {
  const auto decorated = locks.locked<"order:{o.id}">(fence_and_id);
  CHECK(decorated(order{42}) == "1:42");
  CHECK(decorated(order{42}) == "2:42");
  CHECK(locks.locked("k", [](const lease& held) { return std::string(held.key()); })() == "k");
  CHECK(locks.locked("k", [](lease& held, auto value) { return held ? value : 0; })(5) == 5);
  CHECK(locks.locked<"n:{n}">([](const lease& held, const auto&... values) {
    return std::string(held.key()) + std::to_string(sizeof...(values));
  })(3) == "n:31");
  // A lease that the caller passes is an argument like others.
  lease mine = locks.acquire("mine");
  CHECK(locks.locked("k", [](const lease& held) { return std::string(held.key()); })(mine) == "mine");
}

TEST_CASE_METHOD(memory_fixture, "locked: arguments and results are forwarded perfectly", "[T87]") {
  int target = 5;
  const auto same =
      locks.locked("k", [](auto&& value) -> decltype(auto) { return std::forward<decltype(value)>(value); });
  STATIC_CHECK(std::same_as<decltype(same(target)), int&>);
  STATIC_CHECK(std::same_as<decltype(same(std::as_const(target))), const int&>);
  STATIC_CHECK(std::same_as<decltype(same(std::move(target))), int&&>);
  CHECK(&same(target) == &target);

  STATIC_CHECK(std::same_as<decltype(locks.locked("k", [] {})()), void>);
  auto owned = std::make_unique<int>(7);
  const int* const address = owned.get();
  const auto pass = locks.locked("k", [](std::unique_ptr<int> value) { return value; });
  CHECK(pass(std::move(owned)).get() == address);

  // A copy that nobody asked for would count.
  struct counted {
    int copies = 0;
    counted() = default;
    counted(const counted& other) : copies(other.copies + 1) {}
    counted& operator=(const counted&) = delete;
  };
  const counted original;
  CHECK(locks.locked("k", [](const counted& value) { return value.copies; })(original) == 0);
}

TEST_CASE_METHOD(memory_fixture, "locked: the key is that of the arguments at the call, whatever becomes of them",
                 "[T84]") {
  const auto changing = locks.locked<"user:{u.name}", "u">([this](user& u) {
    u.name = "changed";
    return is_free("user:ann");
  });
  user ann{"ann"};
  CHECK_FALSE(changing(ann));
  CHECK(is_free("user:ann"));

  const auto moving = locks.locked<"user:{u.name}", "u">([this](user u) {
    const user taken = std::move(u);
    return is_free("user:bob");
  });
  user bob{"bob"};
  CHECK_FALSE(moving(std::move(bob)));
  CHECK(is_free("user:bob"));
}

TEST_CASE_METHOD(memory_fixture, "locked: exceptions pass, and a decorator is never noexcept", "[T87]") {
  const auto failing = locks.locked<"n:{n}">([](int n) -> int { throw std::out_of_range(std::to_string(n)); });
  CHECK_THROWS_AS(failing(42), std::out_of_range);
  CHECK(is_free("n:42"));

  const auto decorated = locks.locked<"order:{o.id}">(pieces_of);
  STATIC_CHECK(noexcept(pieces_of(order{42})));
  STATIC_CHECK_FALSE(noexcept(decorated(order{42})));
  const lease theirs = rival.acquire("order:42");
  CHECK_THROWS_AS(decorated(order{42}), dlock::lock_timeout);
}

TEST_CASE_METHOD(memory_fixture, "locked: a result made under a lost lease is not handed out") {
  CHECK_THROWS_AS(locks.locked("k", [this] { return outlive_leases(), 1; })(), dlock::lock_lost);
  CHECK_THROWS_AS(locks.locked("k", [this] { outlive_leases(); })(), dlock::lock_lost);
  CHECK_THROWS_AS(locks.locked_or_skip("k", [this] { return outlive_leases(), 1; })(), dlock::lock_lost);
}

TEST_CASE_METHOD(memory_fixture, "locked: nothing runs without the lock", "[T03]") {
  int runs = 0;
  const auto body = [&] { ++runs; };
  const auto decorated = locks.locked("k", body);
  const auto skipping = locks.locked_or_skip("k", body);
  {
    const lease theirs = rival.acquire("k");
    CHECK_THROWS_AS(decorated(), dlock::lock_timeout);
    CHECK_FALSE(skipping());
  }
  const auto by_pointer =
      locks.locked([](const char* name) { return dlock::lock_key(name); }, [&](const char*) { ++runs; });
  CHECK_THROWS_AS(by_pointer(nullptr), std::invalid_argument);
  CHECK_THROWS_AS(by_pointer(""), std::invalid_argument);
  locks.close(0ms);
  CHECK_THROWS_AS(decorated(), dlock::lock_refused);
  CHECK_THROWS_AS(skipping(), dlock::lock_refused);
  CHECK(runs == 0);
}

TEST_CASE_METHOD(memory_fixture, "locked: an argument without a value makes no key", "[T83]") {
  const auto decorated = locks.locked<"user:{name}", "name">([](const std::optional<std::string>&) { FAIL("ran"); });
  CHECK_THROWS_AS(decorated(std::optional<std::string>()), std::invalid_argument);
}

TEST_CASE_METHOD(memory_fixture, "locked: decorators stack, and each takes its lock", "[T86]") {
  std::vector<std::string> keys;
  const auto inner = locks.locked<"user:{u.name}", "_", "u">([&](const lease& held, const order& o, const user&) {
    for (const auto& each : locks.held_keys()) keys.push_back(each.key);
    CHECK(held.key() == "user:ann");
    return o.id;
  });
  const auto outer = locks.locked<"order:{o.id}", "o", "_">(inner);
  CHECK(outer(order{42}, user{"ann"}) == 42);
  CHECK(keys == std::vector<std::string>{"order:42", "user:ann"});
  CHECK(is_free("order:42"));
  CHECK(is_free("user:ann"));

  STATIC_CHECK(callable<decltype(outer), order, user>);
  STATIC_CHECK_FALSE(callable<decltype(outer), order>);
  const auto skipped = locks.locked("k", locks.locked_or_skip("l", [] { return 3; }));
  CHECK(skipped() == 3);
  const lease theirs = rival.acquire("l");
  CHECK_FALSE(skipped().has_value());
}

TEST_CASE_METHOD(memory_fixture, "locked: recursion re-enters", "[T86]") {
  CHECK(locked_factorial(5) == 120);
  CHECK(seen->count(dlock::event::kind::granted) == 1);
  CHECK(seen->count(dlock::event::kind::reentered) == 4);
  CHECK(is_free("factorial"));
}

TEST_CASE_METHOD(memory_fixture, "locked: options are copied, used, and checked at once", "[T10]") {
  dlock::lock_options options{.ttl = 5s};
  const auto left = [](const lease& held) { return held.remaining(); };
  const auto brief = locks.locked("k", left, options);
  const auto named = locks.locked<"k">(left, options);
  const auto skipping = locks.locked_or_skip("k", left, options);
  options.ttl = 1h;
  CHECK(brief() <= 5s);
  CHECK(named() <= 5s);
  CHECK(skipping().value() <= 5s);
  CHECK(locks.locked("k", left)() > 5s);
  CHECK_THROWS_AS(locks.locked("k", left, {.ttl = 0ms}), std::invalid_argument);
  CHECK_THROWS_AS((locks.locked<"k", "o">(left, {.wait = -1ms})), std::invalid_argument);
  CHECK_THROWS_AS(locks.locked("", left), std::invalid_argument);
}

TEST_CASE_METHOD(memory_fixture, "locked: the service whose member it is is used, not the default one") {
  const auto granted = [this] { return seen->count(dlock::event::kind::granted); };
  const dlock::lock_options options{.ttl = 5s};
  const auto ignore = [granted](auto&&...) { return granted(); };
  CHECK(rival.locked<"n:{n}">(ignore)(1) == 0);
  CHECK(rival.locked<"n:{n}">(ignore, options)(1) == 0);
  CHECK(locks.locked("k", ignore)() == 1);
  CHECK(rival.locked("l", ignore)() == 1);
  CHECK(rival.locked("l", ignore, options)() == 1);
  CHECK(rival.locked_or_skip<"n:{n}">(ignore)(1) == 1);
  CHECK(rival.locked_or_skip<"n:{n}">(ignore, options)(1) == 1);
  CHECK(rival.locked_or_skip("l", ignore)() == 1);
  CHECK(rival.locked_or_skip("l", ignore, options)() == 1);
  CHECK(locks.locked_or_skip<"n:{n}">(ignore)(1) == 2);
}

TEST_CASE_METHOD(memory_fixture, "locked_or_skip: the result says whether it ran, and only busy is skipped", "[T87]") {
  int target = 5;
  const auto nothing = locks.locked_or_skip("k", [] {});
  const auto value = locks.locked_or_skip<"k">([] { return 3; }, {.wait = 0ms});
  const auto reference = locks.locked_or_skip("k", [&]() -> int& { return target; });
  const auto movable = locks.locked_or_skip("k", [] { return std::make_unique<int>(4); });
  const auto failing = locks.locked_or_skip("k", []() -> int { throw std::out_of_range("mine"); });
  STATIC_CHECK(std::same_as<decltype(nothing()), bool>);
  STATIC_CHECK(std::same_as<decltype(value()), std::optional<int>>);
  STATIC_CHECK(std::same_as<decltype(reference()), std::optional<std::reference_wrapper<int>>>);

  CHECK(nothing());
  CHECK(value() == 3);
  CHECK(&reference().value().get() == &target);
  CHECK(**movable() == 4);
  CHECK_THROWS_AS(failing(), std::out_of_range);

  const lease theirs = rival.acquire("k");
  CHECK_FALSE(nothing());
  CHECK_FALSE(value().has_value());
  CHECK_FALSE(reference().has_value());
  CHECK_FALSE(movable().has_value());
  CHECK_FALSE(failing().has_value());
}
