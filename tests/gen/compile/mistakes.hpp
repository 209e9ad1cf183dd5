// SPDX-License-Identifier: BSL-1.0
// clang-format off
// fails: mistakes.hpp:33:30: error: .*no member named [^a-z]*idd
// fails: mistakes.hpp:36:26: error: .*number_.* private
// fails: mistakes.hpp:40:[0-9]+: (note|required).*dlock: this type cannot be part|dlock: this type cannot be part.*mistakes.hpp:40:[0-9]+: note
// fails: mistakes.hpp:41:[0-9]+: (note|required).*dlock: floating point|dlock: floating point.*mistakes.hpp:41:[0-9]+: note
// fails: mistakes.hpp:44:28: error: .*patience
// fails: mistakes.hpp:45:(28|32): error: .*duration
// fails: mistakes.hpp:46:(28|32): error: .*(qualifiers|not marked const)
// fails: mistakes.hpp:50:35: error: .*no member named [^a-z]*oid
#pragma once

#include <dlock/annotations.hpp>

namespace mistakes {

struct buyer {
  int id = 0;
};
struct order {
  buyer who{};
};
struct thing {
  int id() { return 1; }
};

class DLOCK_DEFAULTS(.form = proxy) account {
 public:
  virtual ~account() = default;

  // A wrong field.

  DLOCK_LOCKED("aaa:b:{o.who.idd}") virtual void place(const order& o);

  // A private one.
  DLOCK_LOCKED("a:{this->number_}") void close();

  // Values that can't be part of a key.

  DLOCK_LOCKED("a:b:{o}") void whole(const order& o);
  DLOCK_LOCKED("price:{price}") void sell(double price);

  DLOCK_LOCKED("a",
               .wait = 2 * patience) void unknown_value();
  DLOCK_LOCKED("a", .ttl = 5.5 * 1s) void wrong_type();
  DLOCK_LOCKED("abcdefghi:{t.id()}") virtual void getter(const thing& t);

  // Behind a pointer.

  DLOCK_LOCKED("a:{o->who.id}:{p->oid}") void ship(const order* o, const order* p);

 private:
  int number_ = 0;
};

}  // namespace mistakes
