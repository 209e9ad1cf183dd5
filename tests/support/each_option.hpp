// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "base/lock_settings.hpp"
#include "base/option_fields.hpp"

namespace dlock::test {

/// Gives each open field within `field` by itself, as `value(what it is by default)`, and calls use(its name).
template <class Given, class Settled, class Value, class Use>
void give_each(Given& field, const Settled& usual, const std::string& name, const Value& value, const Use& use) {
  if constexpr (detail::may_be_open<Given>) {
    field = value(usual);
    use(name);
    field.reset();
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (give_each(boost::pfr::get<I>(field), boost::pfr::get<I>(usual),
                 (name.empty() ? "" : name + ".") + std::string(detail::field_name<Given, I>()), value, use),
       ...);
    }
    (detail::field_indices<Given>());
  }
}

/// Calls use(options, name) for each field of lock_options, also those within them, with options that give it alone.
template <class Value, class Use>
void with_each_option(const Value& value, const Use& use) {
  lock_options options;
  give_each(options, detail::lock_settings{}, "", value,
            [&](const std::string& name) { use(std::as_const(options), name); });
}

}  // namespace dlock::test
