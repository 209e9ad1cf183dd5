// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>

struct thing {
  int id = 0;
};

class templates {
 public:
  DLOCK_LOCKED("") void empty();
  DLOCK_LOCKED("a:{t.id") void unclosed(const thing& t);
  DLOCK_LOCKED("a:{t.id{") void opened_twice(const thing& t);
  DLOCK_LOCKED("a:t.id}") void stray(const thing& t);
  DLOCK_LOCKED("a:{}") void nothing(const thing& t);
  DLOCK_LOCKED("a:{t.id}{t.id}") void no_separator(const thing& t);
  DLOCK_LOCKED("a:{t.id:05}") void format(const thing& t);
  DLOCK_LOCKED("a:{ t.id }") void blanks(const thing& t);
  DLOCK_LOCKED("a:{t.id }") void blank_behind(const thing& t);
  DLOCK_LOCKED("a:{t..id}") void two_dots(const thing& t);
  DLOCK_LOCKED("a:{t.id(3)}") void argument(const thing& t);
  DLOCK_LOCKED("a:{t()}") void called(const thing& t);
  DLOCK_LOCKED("a:{t[0]}") void indexed(const thing* t);
  DLOCK_LOCKED("a:{thin.id}") void misspelled(const thing& thing_one, const thing& thin_one);
  DLOCK_LOCKED("a:{t.id}") void without_name(const thing&);
  DLOCK_LOCKED("a:{id}") static void of_class(int i);
  DLOCK_LOCKED("a:{this->id}") static void no_object(int i);
  DLOCK_LOCKED("a:{this}") void object();
  DLOCK_LOCKED("a:{this.id()}") void dot();
  DLOCK_LOCKED(name) void no_literal();
  DLOCK_LOCKED(L"a") void wide();
  DLOCK_LOCKED("a"_key) void suffix();
  DLOCK_LOCKED("a\q") void escape();
  DLOCK_LOCKED() void no_template();
  DLOCK_LOCKED("a:"
               "b:{t.idd"
               "}:{x}") void over_lines(const thing& t);
  int id() const { return 1; }
};
