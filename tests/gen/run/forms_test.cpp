// SPDX-License-Identifier: BSL-1.0
// What a call means in each form of a generated class: the same object, overload and key as without it.
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"
#include "forms.locked.hpp"
#include "forms_api.locked.hpp"

namespace {

using namespace std::chrono_literals;
using namespace web;

struct scene {
  dlock::stores::virtual_clock clock{};
  std::shared_ptr<dlock::store> store = std::make_shared<dlock::stores::memory_store>(clock);
  dlock::lock_service locks{store, {.label = "ours", .defaults = {.wait = 0s}, .time = &clock}};
  dlock::lock_service others{store, {.label = "theirs", .time = &clock}};
  stage on{};

  bool held(const dlock::lock_key& name) { return locks.holder(name).has_value(); }
  void expect_held(const dlock::lock_key& name) {
    on.entered = 0;
    on.act = [this, name] { CHECK(held(name)); };
  }
};

}  // namespace

// ---- a subclass is the object
// ----------------------------------------------------------------------------------------

TEST_CASE_METHOD(scene, "gen forms: a subclass has one object, whatever knows only the class", "[T86]") {
  stock::made = 0;
  stock_locked shop(locks, on, 70);
  CHECK(stock::made == 1);
  stock& as_class = shop;
  expect_held("stock:1");
  as_class.take(1, 30);
  CHECK(on.entered == 1);
  CHECK(as_class.count() == 40);
  CHECK(peek(shop) == 40);
  CHECK(shop == stock(on, 40));
  as_class.field = 6;
  CHECK(shop.field == 6);
  const stock copy = shop;
  CHECK(copy.count() == 40);
  CHECK(&as_class.take_all(1) == &shop);
  CHECK(as_class.all().front() == &shop);
  CHECK(on.entered == 2);
}

TEST_CASE_METHOD(scene, "gen forms: a subclass keeps the overloads of what it overrides") {
  stock_locked shop(locks, on);
  CHECK(shop.put(5.0) == 2.5);
  CHECK(shop(3) == 3);
  CHECK(on.entered == 0);
  expect_held("call");
  CHECK(shop("text") == -1);
  CHECK(on.entered == 1);
}

TEST_CASE_METHOD(scene, "gen forms: a function that is defined below its class is locked, and its calls as well") {
  stock_locked shop(locks, on);
  on.act = [this] {
    CHECK(held("stock:2"));
    CHECK(held("check") == (on.entered == 2));
  };
  CHECK(shop.put(2, 1) == 101);
  CHECK(on.entered == 2);
}

// ---- annotations of a base
// -------------------------------------------------------------------------------------------

TEST_CASE_METHOD(scene, "gen forms: the annotation of a base means in an override what it means in the base", "[T85]") {
  web_orders_locked implementation(locks, on);
  web_orders inner(on);
  api::order_api& plain = inner;
  api::order_api_locked interface(plain, locks);
  for (api::order_api* const each :
       {static_cast<api::order_api*>(&implementation), static_cast<api::order_api*>(&interface)}) {
    expect_held("shop:order:1");
    each->place(1);
    CHECK(on.entered == 1);
    expect_held("shop:order:1");  // `from`, which the override calls `to`
    CHECK(each->move(1, 2) == 12);
    expect_held("api.order_api.sweep");
    each->sweep();
    const auto theirs = others.acquire("shop:order:1");
    on.entered = 0;
    each->place(1);  // skipped, as the base says
    CHECK(on.entered == 0);
  }
  expect_held("report");
  implementation.report();
  const auto theirs = others.acquire("report");
  CHECK_THROWS_AS(implementation.report(), dlock::lock_timeout);  // the defaults of the base are those of the base
}

TEST_CASE_METHOD(scene, "gen forms: a value of an option means what it means where it is written") {
  web_orders_locked shop(locks, on);
  on.act = [&] {
    if (on.entered == 1) CHECK_THROWS_AS(shop.place(1), dlock::lock_refused);
  };
  shop.place(1);
  CHECK(on.entered == 1);

  counters inner(on);
  counters_locked all(inner, locks);
  on.entered = 0;
  on.act = [&] {
    if (on.entered == 1) CHECK_THROWS_AS(all.with_backslash(1), dlock::lock_refused);
  };
  all.with_backslash(1);
  CHECK(on.entered == 1);
}

TEST_CASE_METHOD(scene, "gen forms: an override of a function of a template is locked as the template says") {
  orders_locked shop(locks, on);
  api::repository<std::string>& as_base = shop;
  expect_held("repository:a");
  as_base.save("a");
  CHECK(on.entered == 1);
  CHECK(as_base.saved() == 1);
  CHECK(shop.last == "a");
  expect_held("notify");
  static_cast<api::notifier<int, std::string>&>(shop).notify(1, "text");
  CHECK(on.entered == 1);
  orders& as_class = shop;
  expect_held("order:7");
  CHECK(as_class.place(7) == 7);
}

// ---- a wrapper implements all
// ----------------------------------------------------------------------------------------

TEST_CASE_METHOD(scene, "gen forms: a wrapper of a diamond overrides each function once") {
  struct whole : both {
    stage* on = nullptr;
    int number(int n) override {
      on->run();
      return n;
    }
    explicit operator std::string() const override { return "whole"; }
  };
  whole inner;
  inner.on = &on;
  both_locked wrapper(inner, locks);
  root& as_root = wrapper;
  expect_held("root:4");
  CHECK(as_root.number(4) == 4);
  CHECK(on.entered == 1);
  CHECK(static_cast<std::string>(static_cast<both&>(wrapper)) == "whole");
}

// ---- a proxy has what it can pass on
// ---------------------------------------------------------------------------------

namespace {

template <class T>
concept hands_itself_out = requires(T& of) {
  of.itself();
}
|| requires(T& of) { of.copy(); };
template <class T>
concept logs = requires(T& of) {
  of.log(2.5);
};

}  // namespace

TEST_CASE_METHOD(scene, "gen forms: a proxy is no object of the class, and hands none out") {
  static_assert(!std::is_base_of_v<counters, counters_locked> && !std::is_convertible_v<counters_locked, counters>);
  static_assert(hands_itself_out<counters> && !hands_itself_out<counters_locked>);
  static_assert(logs<counters> && !logs<counters_locked>);  // nor half of the overloads
  counters inner(on);
  counters::allocated = 0;
  const auto all = std::make_unique<counters_locked>(inner, locks);
  const std::unique_ptr<counters_locked> another(new counters_locked(inner, locks));
  CHECK(counters::allocated == 0);
  CHECK(static_cast<std::string>(*all) == "counters");
  CHECK(all->shown(1) == 2);
  CHECK(all->trailing() == "trailing");
  CHECK(all->of_class(3) == 3);
}

TEST_CASE_METHOD(scene, "gen forms: a key may have any character") {
  counters inner(on);
  counters_locked all(inner, locks);
  expect_held(dlock::key<"c:{i}\nint injected = 42;\n//">(1));
  all.with_line_ends(1);
  expect_held(dlock::key<"c:{i}\\">(1));
  all.with_backslash(1);
  expect_held("type");
  CHECK(all.gives_struct(1) == nullptr);
  CHECK(on.entered == 1);
}
