// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What a program writes for a class that dlock_odb_generate() has not mapped.

#include "by_hand-odb.hxx"
#include "dlock/odb/entity_traits.hpp"

// [traits]
template <>
struct dlock::entity_traits<dlock::test::by_hand> {
  static entity_columns on(odb::database_id /*database*/) { return {{"id_document", "id_number"}, {}, false}; }
};
// [/traits]
