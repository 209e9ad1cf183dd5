// SPDX-License-Identifier: BSL-1.0
// A class of each form, in shapes in which a second object, another scope or another overload could take a call.
#pragma once

#include <dlock/annotations.hpp>
#include <dlock/lock_options.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forms_api.hpp"
#include "forms_base.hpp"

namespace web {

using api::stage;

// The names of constants that the bases use, with other values.
inline constexpr auto again = dlock::reentry::allow;
inline constexpr auto entering = dlock::reentry::allow;

/// Overrides with other names of parameters, or without a name.
class web_orders : public api::order_api {
 public:
  explicit web_orders(stage& on) : on_(&on) {}
  void place(int) override { on_->run(); }
  std::optional<int> move(int to, int from) override {
    on_->run();
    return to * 10 + from;
  }
  void sweep() override { on_->run(); }
  DLOCK_LOCKED("report")
  virtual void report() { on_->run(); }

 protected:
  stage* on_;
};

struct part {};

/// The object itself, with data, friends, and functions that are not virtual.
class stock : public part {
 public:
  explicit stock(stage& on, int count = 100) : count_(count), on_(&on) { ++made; }
  virtual ~stock() = default;

  DLOCK_LOCKED("stock:{id}")
  virtual void take(int id, int n) {
    on_->run();
    static_cast<void>(id);
    count_ -= n;
  }
  /// Defined below the class.
  DLOCK_LOCKED("stock:{id}")
  virtual int put(int id, int n);
  stock& take_all(int id) {
    take(id, count_);
    return *this;
  }
  int count() const { return count_; }
  /// Parts without annotations, and others that may be the object itself.
  std::vector<part> parts() const { return {}; }
  std::vector<stock*> all() { return {this}; }
  friend int peek(const stock& from) { return from.count_; }
  friend bool operator==(const stock& left, const stock& right) { return left.count_ == right.count_; }

  // Overloads of an annotated function.
  double put(double x) { return x / 2; }
  int operator()(int n) const { return n; }
  DLOCK_LOCKED("call")
  virtual int operator()(const char*) {
    on_->run();
    return -1;
  }

  int field = 5;
  static inline int made = 0;

 protected:
  // An annotated function that only the class and what derives from it call.
  DLOCK_LOCKED("check")
  virtual void check(int) { on_->run(); }
  void check(const std::string&) {}
  static constexpr auto entering = dlock::reentry::refuse;

 private:
  int count_;
  stage* on_;
};
inline int stock::put(int, int n) {
  on_->run();
  check(n);
  return count_ += n;
}

/// Its only virtual functions come from a template, one of whose annotated ones it overrides.
class orders : public api::repository<std::string>, public api::notifier<int, std::string> {
 public:
  explicit orders(stage& on) : on_(&on) {}
  void save(const std::string& name) override {
    on_->run();
    repository::save(name);
  }
  void notify(int, std::string) override { on_->run(); }

  DLOCK_LOCKED("order:{id}")
  virtual int place(int id) {
    on_->run();
    return id;
  }

 private:
  stage* on_;
};

/// A diamond: what it has from the left is overridden on the right.
class root {
 public:
  virtual ~root() = default;
  DLOCK_LOCKED("root:{n}")
  virtual int number(int n) = 0;
};
class left : public virtual root {};
class right : public virtual root {
 public:
  int number(int n) override = 0;
};
class DLOCK_DEFAULTS(.ttl = 5s) both : public left, public right {
 public:
  virtual explicit operator std::string() const = 0;
};

/// A proxy: what it can't pass on it does not have.
class counter_base {
 public:
  int shown(int n) const { return n + 1; }
};
class DLOCK_DEFAULTS(.reentry = entering) counters : private counter_base {
  enum class mode { fast };
  static constexpr auto hidden = 3;

 public:
  using mode_name = std::string;
  static constexpr auto entering = dlock::reentry::refuse;
  explicit counters(stage& on) : on_(&on) {}
  using counter_base::shown;

  DLOCK_LOCKED("c:{i}\nint injected = 42;\n//")
  void with_line_ends(int i) {
    static_cast<void>(i);
    on_->run();
  }
  DLOCK_LOCKED("c:{i}\\")
  void with_backslash(int i) {
    static_cast<void>(i);
    on_->run();
  }
  DLOCK_LOCKED("type")
  struct result_type* gives_struct(int) {
    on_->run();
    return nullptr;
  }
  DLOCK_LOCKED("of class")
  static int of_class(int n) { return n; }

  operator std::string() const { return "counters"; }
  static consteval int early() { return 1; }
  void with_private(mode) {}
  void with_private_default(int = hidden) {}
  counters& itself() { return *this; }
  counters copy() const { return *this; }
  auto& deduced() { return *this; }
  std::function<counters&()> later() {
    return [this]() -> counters& { return *this; };
  }
  auto trailing() const -> mode_name { return "trailing"; }
  template <class T>
  T log(T what) {
    return what;
  }
  int log(int) { return -1; }
  static void* operator new(std::size_t size) {
    ++allocated;
    return ::operator new(size);
  }
  static inline int allocated = 0;

 private:
  stage* on_;
};

}  // namespace web
