// SPDX-License-Identifier: BSL-1.0
// Every shape of a function that is locked or passed on.
#pragma once

#include <dlock/annotations.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#define SHAPES_API __attribute__((visibility("default")))

namespace shapes {
inline namespace v1 {

class part_id {
 public:
  explicit part_id(int value) : value_(value) {}
  int get() const { return value_; }

 private:
  int value_;
};

struct part {
  part_id id{0};
  std::unique_ptr<std::string> owner{};
  const part_id& key() const { return id; }
};

}  // namespace v1

namespace base {

using size_type = std::size_t;

class counter {
 public:
  virtual ~counter() = default;
  virtual size_type count(size_type from, std::string_view what = "all") const = 0;
  DLOCK_LOCKED("counter:{what}", .wait = 1s)
  virtual size_type reset(std::string_view what);
  virtual explicit operator std::string() const = 0;
};

}  // namespace base

class SHAPES_API plain_base {
 public:
  int plain(int n) { return n; }
  int hidden() const { return 1; }
  int shown() const { return 1; }
};

class SHAPES_API DLOCK_DEFAULTS(.form = proxy) depot : public base::counter, public plain_base, private part_id {
 public:
  depot() : part_id(1) {}
  using part_id::get;
  using number = int;
  enum class color { red, green };
  static constexpr number limit = 7;

  base::size_type count(base::size_type from, std::string_view what) const override;
  base::size_type reset(std::string_view what) override;

  // Overloads, const and reference qualifiers.
  DLOCK_LOCKED("part:{id}")
  SHAPES_API virtual void take(int id);
  DLOCK_LOCKED("part:{p.id.get()}")
  virtual void take(const part& p);
  DLOCK_LOCKED("part:{p->key().get()}")
  virtual void take(const part* p) const;
  DLOCK_LOCKED("part:{id}")
  void take(part_id, long id) &;
  DLOCK_LOCKED("part:{id}")
  std::string take(std::string text, long id) &&;

  // Results and parameters of all kinds.
  DLOCK_LOCKED("all")
  [[nodiscard]] virtual std::unique_ptr<part> move_in(std::unique_ptr<part> p, part&& other, std::vector<part> more);
  DLOCK_LOCKED("all")
  const std::string& name() const noexcept;
  DLOCK_LOCKED("all")
  auto trailing(number n = limit, color c = color::red) -> std::map<std::string, number>;
  DLOCK_LOCKED("all")
  virtual bool with_functions(int (*call)(int), std::function<void(int)> then, const int (&three)[3], int some[]);
  DLOCK_LOCKED("all")
  void (*gives_function(int n))(int);
  DLOCK_LOCKED("all")
  static int of_class(int n);
  DLOCK_LOCKED("all")
  constexpr int constant() const { return 1; }
  DLOCK_LOCKED("all")
  void operator()(int n);

  // A result that is left out.
  DLOCK_LOCKED("all")
  DLOCK_ON_BUSY(skip)
  virtual std::optional<int> maybe(int n);
  DLOCK_LOCKED("all")
  DLOCK_ON_BUSY(skip)
  int number_or_nothing();
  DLOCK_LOCKED("all")
  DLOCK_ON_BUSY(skip)
  bool yes_or_no();
  DLOCK_LOCKED("all")
  DLOCK_ON_BUSY(skip)
  void nothing();
  DLOCK_LOCKED("all")
  DLOCK_ON_BUSY(skip)
  part& reference(part& p);

  // Several keys, values of the object, texts with special characters.
  DLOCK_LOCKED("part:{from}")
  DLOCK_LOCKED("part:{to}", .wait = 3s)
  void swap(int from, int to);
  DLOCK_LOCKED("depot:{this->number_of()}:{{x}}:\"%\"")
  void close();
  DLOCK_LOCKED(
      "depot:"
      "{this->number_of()}",
      .prefix = "store")
  void open();
  DLOCK_LOCKED(.prefix = qualified_name)
  void sweep();
  DLOCK_LOCKED("{id}", .prefix = qualified_name, .ttl = std::chrono::seconds{30}, .retry = {.pause = 1ms, .limit = 3})
  void sweep(int id);

  // What is passed on.
  number number_of() const { return 3; }
  explicit operator bool() const { return true; }
  explicit operator std::string() const override { return {}; }
  bool operator==(const depot& other) const { return this == &other; }
  static int helper() { return 2; }
  template <class T>
  T convert(T value) const {
    return value;
  }
  void hidden(int) {}
  int deleted() = delete;
  depot& itself() { return *this; }
  static consteval int early() { return 1; }
  void* operator new(std::size_t size);
  depot& operator=(int n);
  virtual number unnamed(number, color = color::green, void (*)(int) = nullptr) const { return 0; }

 private:
  virtual void private_hook() {}
};

class outer {
 public:
  class inner {
   public:
    struct item {
      int id = 0;
    };
    DLOCK_LOCKED("item:{i.id}")
    void use(const item& i, const std::vector<item>& more = {});
  };
};

class DLOCK_DEFAULTS(.name = guarded_meter) meter {
 public:
  explicit meter(int start) : value_(start) {}
  virtual ~meter() = default;
  DLOCK_LOCKED("meter:{this->id()}")
  virtual int add(int n);
  DLOCK_LOCKED("meter:{this->value_}")
  virtual int twice(int n) { return add(n) + add(n); }
  double add(double n) { return n; }
  int id() const { return 1; }

 protected:
  DLOCK_LOCKED("meter")
  virtual void reset();
  int value_;
};

}  // namespace shapes

DLOCK_LOCKED("global:{n}")
DLOCK_ON_BUSY(call, shapes_fallback)
int shapes_function(int n, std::unique_ptr<int> p = nullptr);
int shapes_fallback(int n, std::unique_ptr<int> p);

extern "C" {
DLOCK_LOCKED("global:c")
DLOCK_ON_BUSY(skip)
void shapes_of_c(const char* text);
}
