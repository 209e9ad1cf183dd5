// SPDX-License-Identifier: BSL-1.0
// What gives a view or a reference refuses to do so for an object that is gone at the end of the expression.
#include <catch2/catch_test_macros.hpp>

#include "dlock/dlock.hpp"

namespace {

using namespace dlock;

template <class Object, class Use>
concept allows = std::invocable<Use, Object>;

/// Whether `use` compiles for a named object and not for a temporary one.
template <class Object, class Use>
constexpr bool named_only(Use) {
  return allows<const Object&, Use> && allows<Object&, Use> && !allows<Object, Use> && !allows<const Object, Use>;
}

#define USE(expression) [](auto&& it) -> decltype((void)(expression)) {}
#define IT static_cast<decltype(it)&&>(it)

static_assert(named_only<lease>(USE(IT.key())));
static_assert(named_only<lease>(USE(IT.lost_token())));
static_assert(named_only<lease>(USE(IT.verification())));
static_assert(named_only<multi_lease>(USE(IT.begin())));
static_assert(named_only<multi_lease>(USE(IT.end())));
static_assert(named_only<multi_lease>(USE(IT.find("k"))));
static_assert(named_only<multi_lease>(USE(IT["k"])));
static_assert(named_only<multi_lease>(USE(IT.lost_token())));
static_assert(named_only<lock_key>(USE(IT.view())));
static_assert(named_only<lock_key>(USE(IT.row())));
static_assert(named_only<lock_keys>(USE(IT.begin())));
static_assert(named_only<lock_keys>(USE(IT.end())));
static_assert(named_only<lock_keys>(USE(IT[0])));
static_assert(named_only<distributed_mutex>(USE(IT.held())));
static_assert(named_only<distributed_mutex>(USE(IT.key())));
static_assert(named_only<distributed_mutex>(USE(IT.options())));
static_assert(named_only<lock_service>(USE(IT.name())));
static_assert(named_only<lock_service>(USE(IT.defaults())));

// Values are not affected: a sequence of numbers, a question.
static_assert(allows<lease, decltype(USE(IT.fencing_token()))>);
static_assert(allows<lease, decltype(USE(IT.remaining()))>);
static_assert(allows<lease, decltype(USE(IT.ensure_held()))>);
static_assert(allows<lock_key, decltype(USE(IT.str()))>);

}  // namespace

TEST_CASE("temporaries: a loop over the leases of one keeps it until its end", "[lease]") {
  lock_service locks{"memory:"};
  int seen = 0;
  for (const auto& each : locks.acquire_all({"a", "b"})) {
    CHECK_NOTHROW(each.ensure_held());
    ++seen;
  }
  CHECK(seen == 2);
  CHECK(lock_key("k").str() == "k");
}
