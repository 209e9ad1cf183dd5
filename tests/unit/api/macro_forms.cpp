// SPDX-License-Identifier: BSL-1.0
#include "unit/api/macro_forms.hpp"

namespace dlock::test {

// Some warnings come only for functions that are used, or templates that are instantiated.
int use_macro_forms(int value);
int use_macro_forms(int value) {
  bool again = false;
  int sum = returned_value(value) + *returned_move_only(value) + returned_reference(value);
  sum += static_cast<int>(returned_fence()) + tried() + (tried_without_else() ? 1 : 0);
  sum += tried_unnamed({value, "ann"}) + (tried_unnamed_without_else() ? 1 : 0);
  sum += static_cast<int>(tried_in_loop(value).size());
  sum += static_cast<int>(left_by_break_and_continue(value).size()) + left_by_break_of_switch(value);
  sum += outer_else(value > 0) + (nested(again) ? 1 : 0) + static_cast<int>(commas({value, "ann"}, "bob").size());
  sum += in_template(value) + static_cast<int>(in_template(2L) + static_cast<long>(in_lambda().size()));
  sum += bodies() + from_variables("k", {.ttl = 5s}) + shop::dlock::in_namespace_of_that_name();
  return sum + (again ? 1 : 0);
}

}  // namespace dlock::test
