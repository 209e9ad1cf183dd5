// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Classes of every shape that ODB maps: which traits dlock writes for them is in shapes-dlock.hxx.

#include <cstdint>
#include <memory>
#include <odb/core.hxx>
#include <odb/section.hxx>
#include <string>
#include <vector>

namespace shapes {

// clang-format off
#pragma db value
struct place {
  #pragma db column("the row; [1]")
  std::int32_t row;
  #pragma db transient
  std::int32_t cached;
  std::string hall;
};

/// No table, so no traits.
#pragma db object abstract
struct base {
  #pragma db id column("at_")
  place id;
};

/// In a schema; with a container and a section, which have statements of their own.
#pragma db object schema("shop") table("leaf")
struct leaf : base {
  std::vector<std::int32_t> numbers;
  #pragma db section(rest)
  std::string big;
  #pragma db load(lazy) update(always)
  odb::section rest;
};

struct keeper;

/// A pointer whose alias is another table's name.
#pragma db object pointer(std::shared_ptr)
struct pet {
  #pragma db id auto
  std::uint64_t number;
  #pragma db column("leaf")
  std::shared_ptr<keeper> leaf;
};

#pragma db object pointer(std::shared_ptr)
struct keeper {
  #pragma db id
  std::string name;
  #pragma db inverse(leaf)
  std::weak_ptr<pet> its;
  #pragma db inverse(leaf)
  std::vector<std::weak_ptr<pet>> all;
};

#pragma db object polymorphic
struct vehicle {
  virtual ~vehicle() {}
  #pragma db id
  std::int32_t id;
  std::shared_ptr<keeper> driver;
};

#pragma db object
struct truck : vehicle {
  std::int32_t load;
};

template <class Id>
struct box {
  Id id;
  std::int32_t value;
};
typedef box<std::int32_t> small_box;
#pragma db object(small_box) table("box")
#pragma db member(small_box::id) id

/// ODB compares its id with an expression on MySQL.
#pragma db map type("TIMESTAMP\\(0\\)") as("VARCHAR(30)") to("CAST((?) AS DATETIME)") from("CAST((?) AS CHAR(30))")
#pragma db object
struct moment {
  #pragma db id mysql:type("TIMESTAMP(0)") sqlite:type("TEXT")
  std::string at;
};

#pragma db object no_id
struct note {
  std::string text;
};

#pragma db view object(pet)
struct number_of_pet {
  std::uint64_t number;
};
// clang-format on

}  // namespace shapes
