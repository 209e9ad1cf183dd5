// SPDX-License-Identifier: BSL-1.0
// What the form of the generated class can't reach: nothing may run without its lock, or on another object.
// clang-format off
#include <dlock/annotations.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bases.hpp"

// ---- a class with virtual functions and data: a subclass
class forgotten_virtual {
 public:
  virtual ~forgotten_virtual() = default;
  virtual int count() const { return n_; }
  DLOCK_LOCKED("stock:{id}")
  void take(int id, int n) { n_ -= n; }
  DLOCK_LOCKED("stock")
  static void migrate(int version);

 private:
  int n_ = 100;
};
class hides_inherited : public forgotten_virtual {
 public:
  DLOCK_LOCKED("a") virtual void other();
};
class makes_copies {
 public:
  virtual ~makes_copies() = default;
  DLOCK_LOCKED("order:{id}") virtual int place(int id);
  makes_copies with(int buyer) const;
  virtual std::unique_ptr<makes_copies> clone() const;
  std::vector<makes_copies> several() const;
  makes_copies& itself() { return *this; }
  std::vector<makes_copies*> all() const;
  static makes_copies make();

 private:
  int buyer_ = 0;
};
class private_overload {
 public:
  virtual ~private_overload() = default;
  DLOCK_LOCKED("f:{i}") virtual long f(long i);
  double f(double x);

 private:
  void f(const char* text);
};
class no_constructor {
 public:
  static no_constructor& instance();
  virtual ~no_constructor() = default;
  DLOCK_LOCKED("a") virtual void function();

 private:
  no_constructor() = default;
};
class private_type {
  enum class mode { fast };

 public:
  virtual ~private_type() = default;
  DLOCK_LOCKED("a") virtual void function(mode how);
};
class hidden_base {
 public:
  virtual ~hidden_base() = default;
  DLOCK_LOCKED("a:{n}") virtual void function(int n);
  int number = 0;
};
class hides : public hidden_base {
 public:
  void function(double x);
  DLOCK_LOCKED("b") virtual void other();
};

// ---- an abstract class: a wrapper
class abstract_with_data {
 public:
  virtual ~abstract_with_data() = default;
  DLOCK_LOCKED("a") virtual void function() = 0;
  int field = 0;
};
class of_abstract_with_data : public std::enable_shared_from_this<of_abstract_with_data> {
 public:
  virtual ~of_abstract_with_data() = default;
  DLOCK_LOCKED("a") virtual void function() = 0;
};
class abstract {
 public:
  virtual ~abstract() = default;
  DLOCK_LOCKED("a") virtual void function() = 0;
  DLOCK_LOCKED("a") int not_virtual();
  int helper() const;
  template <class T> void each(T call);
  virtual abstract& with(int buyer) = 0;
  virtual std::shared_ptr<abstract> self() = 0;
  DLOCK_LOCKED("a") virtual const abstract* next() const = 0;
  virtual void print(const char* format, ...) = 0;
  virtual void unsteady() volatile = 0;
  virtual std::vector<std::reference_wrapper<abstract>> all() = 0;
  virtual abstract& operator=(int n) = 0;

 protected:
  virtual void hook() {}
};
class needs_arguments {
 public:
  virtual ~needs_arguments() = default;

 protected:
  explicit needs_arguments(int) {}
};
class derives_from_it : public needs_arguments {
 public:
  DLOCK_LOCKED("a") virtual void function() = 0;
};
class one {
 public:
  virtual ~one() = default;
  virtual int function(int n) = 0;
};
class two {
 public:
  virtual ~two() = default;
  DLOCK_LOCKED("two:{n}") virtual int function(int n) = 0;
};
class both : public one, public two {
 public:
  DLOCK_LOCKED("a") virtual void own() = 0;
};
class three {
 public:
  virtual ~three() = default;
  DLOCK_LOCKED("three:{n}") virtual int function(int n) = 0;
};
class implements_both : public two, public three {
 public:
  int function(int n) override;
  DLOCK_LOCKED("a") virtual void own();
};

// ---- templates as bases
class orders : public repository<int> {
 public:
  DLOCK_LOCKED("order:{id}") virtual int place(int id);
};
class numbers : public source<int> {
 public:
  DLOCK_LOCKED("number") virtual void write(int n) = 0;
};
class has_mixin : public mixin<two> {
 public:
  DLOCK_LOCKED("a") virtual void other();
};

// ---- a class without virtual functions: a proxy
class overloads {
 public:
  DLOCK_LOCKED("f:{i}") long f(long i);
  template <class T> T f(T x);
  DLOCK_LOCKED("g") overloads& g();
  DLOCK_LOCKED("d") auto deduced();
  DLOCK_LOCKED("h") void h(int dlock_key);
  DLOCK_LOCKED("v") void v() volatile;
  DLOCK_LOCKED("k") overloads& operator=(int n);

 private:
  enum class mode { fast };

 public:
  DLOCK_LOCKED("m") void m(mode how = mode::fast);
};
class hidden_plain {
 public:
  DLOCK_LOCKED("a:{n}") void function(int n);
};
class hides_plain : public hidden_plain {
 public:
  void function(int n);
  DLOCK_LOCKED("b") void other();
};

// ---- two classes of one name
class outer {
 public:
  class inner {
   public:
    DLOCK_LOCKED("a") void function();
  };
};
class outer_inner {
 public:
  DLOCK_LOCKED("a") void function();
};

// ---- the function that is called instead
class instead {
 public:
  virtual ~instead() = default;
  DLOCK_LOCKED("one:{i}") DLOCK_ON_BUSY(call, other) virtual int function(int i) = 0;
  DLOCK_LOCKED("other:{i}") virtual int other(int i) = 0;
};
DLOCK_LOCKED("one:{i}") DLOCK_ON_BUSY(call, free_other) int free_one(int i);
DLOCK_LOCKED("other:{i}") int free_other(int i);

// ---- what another file declares is said at the class
class derives_from_another_file : public of_another_file {
 public:
  DLOCK_LOCKED("b") virtual void function() = 0;
};
