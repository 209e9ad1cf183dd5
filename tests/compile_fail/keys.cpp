// SPDX-License-Identifier: BSL-1.0
// Keys and patterns of keys. Most of the right forms are in tests/unit/key.
#include "dlock/dlock.hpp"

struct order {
  long id;
  std::string name;
};

struct entity {
  long id = 0;
};
struct derived : entity {
  long customer = 0;
};

class document {
 public:
  explicit document(long id) : id_(id) {}
  long id() const { return id_; }
  long take_id() { return id_; }

 private:
  long id_;
};

// fails: dlock: a .\}. of the key pattern closes nothing
#ifdef MISUSE_key_brace_stray
const auto key_brace_stray = dlock::key<"order:{id}}">(order{42, "shoes"});
#endif

// fails: dlock: a .\{. of the key pattern is never closed
#ifdef MISUSE_key_brace_unclosed
const auto key_brace_unclosed = dlock::key<"order:{id">(order{42, "shoes"});
#endif

// fails: dlock: empty braces in the key pattern
#ifdef MISUSE_key_braces_empty
const auto key_braces_empty = dlock::key<"order:{}">(42);
#endif

// fails: check_field.*order.*("idd".*"id, name"|'i', 'd', 'd'.*&[a-z_.]*\.id.*&[a-z_.]*\.name)
#ifdef MISUSE_key_field_named_in_error
const auto key_field_named_in_error = dlock::key<"order:{idd}">(order{42, "shoes"});
#endif

// fails: dlock: a \{path\} of the key pattern names a field that the type does not have
#ifdef MISUSE_key_field_unknown
const auto key_field_unknown = dlock::key<"order:{o.idd}:{u}", "o", "u">(order{42, "shoes"}, 7);
#endif

// fails: dlock: braces of the key pattern take a name or a path of names
#ifdef MISUSE_key_format_in_braces
const auto key_format_in_braces = dlock::key<"order:{id:05}">(42);
#endif

// fails: dlock: the call passes more or fewer arguments than names are listed
#ifdef MISUSE_key_listed_arguments_count
const auto key_listed_arguments_count = dlock::key<"order:{o}", "o">(1, 2);
#endif

// fails: dlock: a name listed after the key pattern does not appear in it
#ifdef MISUSE_key_listed_name_unused
const auto key_listed_name_unused = dlock::key<"order:{o}", "o", "u">(1, 2);
#endif

// fails: dlock: a name is listed twice
#ifdef MISUSE_key_name_listed_twice
const auto key_name_listed_twice = dlock::key<"order:{o}", "o", "o">(1, 2);
#endif

// fails: dlock: the key pattern uses a name that is not listed
#ifdef MISUSE_key_name_not_listed
const auto key_name_not_listed = dlock::key<"order:{o}:{u}", "o", "_">(1, 2);
#endif

// fails: dlock: arg<N> of key_of asks for an argument that the call does not have
#ifdef MISUSE_key_of_argument_missing
const auto key_of_argument_missing = dlock::key_of("order", dlock::arg<2>(&document::id))(document(42));
#endif

// fails: dlock: arg<N> counts arguments from 1
#ifdef MISUSE_key_of_argument_zero
const auto key_of_argument_zero = dlock::key_of("order", dlock::arg<0>(&document::id))(document(42));
#endif

// fails: dlock: this type cannot be part of a key
#ifdef MISUSE_key_of_part_unprintable
const auto key_of_part_unprintable = dlock::key_of("order", dlock::arg<1>())(document(42));
#endif

// fails: dlock: arg<N>\(projection\) of key_of cannot be applied
#ifdef MISUSE_key_of_projection_mismatch
const auto key_of_projection_mismatch = dlock::key_of("order", dlock::arg<1>(&document::take_id))(document(42));
#endif

// fails: dlock: a bool cannot be part of a key
#ifdef MISUSE_key_part_bool
const auto key_part_bool = dlock::key<"door:{inside}">(true);
#endif

// fails: dlock: a single character cannot be part of a key
#ifdef MISUSE_key_part_character
const auto key_part_character = dlock::key<"shelf:{letter}">('a');
#endif

// fails: dlock: floating point cannot be part of a key
#ifdef MISUSE_key_part_floating_point
const auto key_part_floating_point = dlock::key<"price:{euros}">(19.99);
#endif

// fails: dlock: a pointer cannot be part of a key
#ifdef MISUSE_key_part_null
const auto key_part_null = dlock::key<"order:{id}">(nullptr);
#endif

// fails: dlock: a pointer cannot be part of a key
const order shoes{42, "shoes"};
#ifdef MISUSE_key_part_pointer
const auto key_part_pointer = dlock::key<"order:{id}">(&shoes);
#endif

// fails: dlock: this type cannot be part of a key
class order_id {
 public:
  explicit order_id(long value) : value_(value) {}
#ifndef MISUSE_key_part_unprintable
  friend void append_part(std::string& out, const order_id& id) { dlock::append_part(out, id.value_); }
#endif

 private:
  long value_;
};
const auto key_part_unprintable = dlock::key<"order:{id}">(order_id(42));

// fails: dlock: two \{parts\} of the key pattern have no .:. between them
#ifdef MISUSE_key_parts_adjacent
const auto key_parts_adjacent = dlock::key<"{a}-{b}", "a", "b">(1, 2);
#endif

// fails: dlock: a \{path\} of the key pattern goes on into a type that is not an aggregate
#ifdef MISUSE_key_path_into_class
const auto key_path_into_class = dlock::key<"order:{o.id_}">(document(42));
#endif

// fails: dlock: a \{path\} of the key pattern goes on into a class that has a base class
#ifdef MISUSE_key_path_into_derived
const auto key_path_into_derived = dlock::key<"order:{customer}">(derived());
#endif

// fails: dlock: the key pattern is empty
#ifdef MISUSE_key_pattern_empty
const auto key_pattern_empty = dlock::key<"">();
#endif

// fails: dlock: the key pattern names more or fewer arguments than the call passes
#ifdef MISUSE_key_too_few_arguments
const auto key_too_few_arguments = dlock::key<"order:{o.id}:{u}">(order{42, "shoes"});
#endif

// fails: dlock: which name of the key pattern is which of several arguments
#ifdef MISUSE_key_arguments_unnamed
const auto key_arguments_unnamed = dlock::key<"order:{u.id}:{o.id}">(order{42, "shoes"}, order{7, "Ann"});
#endif

// fails: dlock: which name of the key pattern is which of several arguments
#ifdef MISUSE_key_too_many_arguments
const auto key_too_many_arguments = dlock::key<"order:{o}">(1, 2);
#endif

// fails: deleted function .*lock_key|lock_key' uses deleted function
#ifdef MISUSE_lock_key_null
const auto lock_key_null = dlock::lock_key(nullptr);
#endif

// fails: deleted (member )?function .*view
#ifdef MISUSE_lock_key_view_of_temporary
const auto lock_key_view_of_temporary = dlock::lock_key("k").view();
#endif
