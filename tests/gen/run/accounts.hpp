// SPDX-License-Identifier: BSL-1.0
// Classes and functions that are locked; the tests say what they do when they run.
#pragma once

#include <dlock/annotations.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bank {

class account_id {
 public:
  explicit account_id(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct account {
  account_id id;
  std::string owner{};
  std::optional<std::string> note{};
};

/// What a body does. A test puts in what it wants to look at.
struct stage {
  std::function<void()> act = [] {};
  int entered = 0;
  void run() {
    ++entered;
    act();
  }
};

class base_ledger {
 public:
  virtual ~base_ledger() = default;
  DLOCK_LOCKED("ledger:{year}")
  virtual int close(int year) = 0;
  virtual std::string title() const { return "base"; }
};

/// As a proxy: it has virtual functions, and others that are annotated.
class DLOCK_DEFAULTS(.form = proxy) ledger : public base_ledger {
 public:
  ledger() = default;
  explicit ledger(stage& on) : on_(&on) {}

  int close(int year) override {
    on_->run();
    return year;
  }
  std::string title() const override { return "ledger"; }
  int version() const { return 7; }

  // Overloads.
  DLOCK_LOCKED("account:{a.id.text()}")
  virtual int book(const account& a, int amount = 3) {
    on_->run();
    return amount + static_cast<int>(a.owner.size());
  }
  DLOCK_LOCKED("account:{id}")
  virtual int book(std::string id) {
    on_->run();
    id.clear();
    return -1;
  }
  DLOCK_LOCKED("account:{id->text()}:{a.note}")
  void book(const account_id* id, const account& a) {
    static_cast<void>(id);
    static_cast<void>(a);
    on_->run();
  }

  // Results and parameters of all kinds.
  DLOCK_LOCKED("move:{name}")
  virtual std::unique_ptr<std::string> take(std::unique_ptr<std::string> text, std::string name, std::string&& last) {
    on_->run();
    auto result = std::make_unique<std::string>(*text + name + last);
    const std::string gone = std::move(last);
    return result;
  }
  DLOCK_LOCKED("reference")
  std::string& reference() & {
    on_->run();
    return name_;
  }
  DLOCK_LOCKED("reference")
  const std::string& reference() const& {
    on_->run();
    return name_;
  }
  DLOCK_LOCKED("mutated:{a.owner}")
  void mutate(account& a) {
    a.owner = "another";
    on_->run();
  }

  // Several keys.
  DLOCK_LOCKED("account:{from}")
  DLOCK_LOCKED("account:{to}")
  bool transfer(int from, int to) {
    on_->run();
    return from != to;
  }

  // Busy.
  DLOCK_LOCKED("busy")
  DLOCK_ON_BUSY(skip)
  virtual void skip_nothing() { on_->run(); }
  DLOCK_LOCKED("busy")
  DLOCK_ON_BUSY(skip)
  virtual std::optional<int> skip_optional() {
    on_->run();
    return 4;
  }
  DLOCK_LOCKED("busy")
  DLOCK_ON_BUSY(skip)
  int skip_value() {
    on_->run();
    return 5;
  }
  DLOCK_LOCKED("busy")
  DLOCK_ON_BUSY(skip)
  bool skip_bool() {
    on_->run();
    return false;
  }
  DLOCK_LOCKED("busy")
  DLOCK_ON_BUSY(skip)
  void skip_void() { on_->run(); }
  DLOCK_LOCKED("busy")
  DLOCK_ON_BUSY(skip)
  std::string& skip_reference() {
    on_->run();
    return name_;
  }
  DLOCK_LOCKED("busy", .wait = 5s)
  DLOCK_ON_BUSY(skip)
  virtual void skip_after_wait() { on_->run(); }
  DLOCK_LOCKED("busy")
  DLOCK_ON_BUSY(call, instead)
  virtual std::string call_other(std::unique_ptr<int> n, std::string text) {
    on_->run();
    return text + std::to_string(*n);
  }
  virtual std::string instead(std::unique_ptr<int> n, std::string text) { return text + "!" + std::to_string(*n); }
  DLOCK_LOCKED("busy", .wait = 0s)
  virtual void fail() { on_->run(); }

  // Options and keys.
  DLOCK_LOCKED("once", .reentry = dlock::reentry::refuse)
  virtual void once() { on_->run(); }
  DLOCK_LOCKED("short", .ttl = 1s, .max_hold = 10s)
  virtual int held_short() {
    on_->run();
    return 1;
  }
  DLOCK_LOCKED("{n}", .prefix = qualified_name)
  void with_prefix(int n) {
    static_cast<void>(n);
    on_->run();
  }
  DLOCK_LOCKED("ledger:{this->title()}:{this->number}")
  void of_object() { on_->run(); }
  int number = 42;

  // Calls on itself.
  DLOCK_LOCKED("outer")
  virtual void outer() {
    on_->run();
    inner();
  }
  DLOCK_LOCKED("inner")
  virtual void inner() { on_->run(); }

 private:
  stage none_{};
  stage* on_ = &none_;
  std::string name_ = "name";
};

/// As a subclass, whose calls on itself are locked.
class DLOCK_DEFAULTS(.wait = 0s) till {
 public:
  till(stage& on, int number) : on_(&on), number_(number) {}
  virtual ~till() = default;
  DLOCK_LOCKED("till:{this->number_}")
  virtual void open() {
    on_->run();
    count();
  }
  int number() const { return number_; }

 protected:
  DLOCK_LOCKED("count:{this->number_}")
  virtual void count() { on_->run(); }
  stage* on_;
  int number_;
};

/// Options for all its functions.
class DLOCK_DEFAULTS(.wait = 0s, .prefix = "shelf") DLOCK_ON_BUSY(skip) shelf {
 public:
  explicit shelf(stage& on) : on_(&on) {}
  DLOCK_LOCKED("{n}")
  int put(int n) {
    on_->run();
    return n;
  }
  DLOCK_LOCKED("{n}", .prefix = "other")
  DLOCK_ON_BUSY(throw)
  int take(int n) {
    on_->run();
    return n;
  }

 private:
  stage* on_;
};

DLOCK_LOCKED("free:{name}")
int count(stage& on, std::string_view name, int n = 2);

}  // namespace bank
