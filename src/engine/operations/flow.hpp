// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Operations as coroutines: a function that reads from top to bottom, behind the seam that drivers know.
///
///   task<bool> ask(flow& f, statement& of) {
///     co_await f.send(of);                                      // never interrupted
///     if (auto why = co_await f.wait(f.now() + 10ms)) co_return false;  // interrupted
///     co_return co_await another_coroutine(f);
///   }
///   coroutine_operation<bool> op(room, woken, ask, std::ref(of));
///
/// Rules: the flow is the first parameter, or the second one of a member function. Await a task where you make it, so
/// that frames end in the reverse order of their beginning. g++ 12 has faults, so write no braced list inside a
/// co_await expression, and no co_await inside ?:, && or || or in a default argument. A lambda with captures can't be a
/// coroutine.

#include <array>
#include <cassert>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/operations/operation.hpp"

namespace dlock::engine {

/// Bytes for frames. They are not written before a frame lies in them.
template <std::size_t size>
class frame_storage {
 public:
  frame_storage() noexcept {}  // NOLINT(modernize-use-equals-default): that would clear the bytes where {} makes it
  frame_storage(const frame_storage&) = delete;
  frame_storage& operator=(const frame_storage&) = delete;
  operator std::span<std::byte>() noexcept { return bytes_; }

 private:
  alignas(std::max_align_t) std::byte bytes_[size];  // NOLINT(modernize-avoid-c-arrays): std::array{} would be cleared
};

/// Memory for the frames of one operation, which lie one on top of the other: first in bytes of the call, then in
/// blocks of the heap. reserve() makes the block before the first statement is sent, and from then on nothing
/// allocates. If too little was reserved for a frame, an assertion fails. Without assertions the frame is allocated; if
/// that fails, it throws std::bad_alloc before its coroutine begins, and what was granted is cancelled, as after any
/// exception.
class frame_room {
 public:
  explicit frame_room(std::span<std::byte> bytes) noexcept : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  frame_room(const frame_room&) = delete;
  frame_room& operator=(const frame_room&) = delete;
  ~frame_room() {
    while (heap_ != nullptr) leave_block();
  }

  /// From now on frames of that many bytes need no allocation. Throws std::bad_alloc.
  void reserve(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - next_) < bytes) enter_block(bytes);
    reserved_ = true;
  }
  void* take(std::size_t bytes) {
    bytes = rounded(bytes);
    if (static_cast<std::size_t>(end_ - next_) < bytes) {
      assert(!reserved_ && "frame_room: too little was reserved");
      enter_block(bytes);
    }
    return std::exchange(next_, next_ + bytes);
  }
  /// The last one that was taken and not given back.
  void give_back(void* frame, std::size_t bytes) noexcept {
    auto* const at = static_cast<std::byte*>(frame);
    while (at + rounded(bytes) != next_) {
      assert(heap_ != nullptr && next_ == first_of(*heap_) && "frame_room: frames end in the reverse order");
      leave_block();
    }
    next_ = at;
  }

 private:
  struct block {
    block* outer;
    std::byte* next;  // of the outer one
    std::byte* end;
  };
  static constexpr std::size_t alignment = alignof(std::max_align_t);
  static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + alignment - 1) & ~(alignment - 1);
  }
  static std::byte* first_of(block& in) noexcept { return reinterpret_cast<std::byte*>(&in) + rounded(sizeof(block)); }
  void enter_block(std::size_t bytes) {
    auto* const made = static_cast<std::byte*>(::operator new(rounded(sizeof(block)) + rounded(bytes)));
    heap_ = ::new (made) block{heap_, next_, end_};
    next_ = first_of(*heap_);
    end_ = next_ + rounded(bytes);
  }
  void leave_block() noexcept {
    auto* const ended = heap_;
    next_ = ended->next;
    end_ = ended->end;
    heap_ = ended->outer;
    reserved_ = false;  // by those whose frames have ended
    ::operator delete(ended);
  }

  std::byte* next_;
  std::byte* end_;
  block* heap_ = nullptr;  // the one in use; null: the bytes of the call
  bool reserved_ = false;
};

/// One operation under way, as its coroutines see it: the time, what it waits for, and the memory for frames.
class flow {
 public:
  flow(std::span<std::byte> bytes, engine::waker& woken) noexcept : frames(bytes), waker_(woken) {}
  flow(const flow&) = delete;
  flow& operator=(const flow&) = delete;

  frame_room frames;

  /// The time when it was resumed.
  instant now() const noexcept { return now_; }
  /// Ends wait() early. Any thread may call it.
  engine::waker& waker() const noexcept { return waker_; }
  /// Why waits are interrupted, or none. There is at most one interruption, and it may come while it does not wait.
  const std::optional<interruption>& interrupted() const noexcept { return interrupted_; }
  /// Its statements are under way.
  bool sends() const noexcept { return wanted_.what == action::kind::send; }
  /// While it waits for a key: that one.
  const lock_key* waits_for() const noexcept { return waits_for_; }

  class sending;
  class waiting;
  /// Sends it, and goes on with the answer in `of`: the next sending of the same statement overwrites that.
  sending send(statement& of, bool with_polls = false) noexcept;
  sending send(std::span<statement* const> all, bool with_polls = false) noexcept;
  /// Continues when it was woken, when that time has come, or when it is interrupted. Returns the interruption, if that
  /// ended the wait. `key` is the key of another owner for which it waits, or null.
  waiting wait(instant until, const lock_key* key = nullptr) noexcept;

  // Of what runs it.
  /// What it wanted sent last is not sent: it will end where it stands.
  void withdraw() noexcept { wanted_ = {}; }
  action start(std::coroutine_handle<> root, instant at) {
    leaf_ = root;
    return resume(at);
  }
  action resume(instant at) {
    now_ = at;
    return go_on();
  }
  action interrupt(interruption why, instant at) {
    now_ = at;
    if (!interrupted_) interrupted_ = why;
    ended_by_ = why;
    return go_on();
  }

 private:
  action go_on() {
    wanted_ = {};
    leaf_.resume();
    return wanted_;
  }

  engine::waker& waker_;
  instant now_{};
  std::coroutine_handle<> leaf_{};  // the innermost one, which is resumed
  action wanted_{};                 // finished while a coroutine runs
  std::array<statement*, 1> alone_{};
  const lock_key* waits_for_ = nullptr;
  std::optional<interruption> interrupted_{};
  std::optional<interruption> ended_by_{};
};

// The constructor of an awaiter writes what it wants into the flow, so that little of it lies in a frame.

class [[nodiscard]] flow::sending {
 public:
  sending(flow& in, std::span<statement* const> all, bool with_polls) noexcept : in_(in) {
    if (!all.empty()) in_.wanted_ = action::send(all, with_polls);
  }
  bool await_ready() const noexcept { return in_.wanted_.what == action::kind::finished; }
  void await_suspend(std::coroutine_handle<> leaf) const noexcept { in_.leaf_ = leaf; }
  void await_resume() const noexcept {}

 private:
  flow& in_;
};

class [[nodiscard]] flow::waiting {
 public:
  waiting(flow& in, instant until, const lock_key* key) noexcept : in_(in) {
    in_.wanted_ = action::wait(until);
    in_.waits_for_ = key;
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> leaf) const noexcept { in_.leaf_ = leaf; }
  std::optional<interruption> await_resume() const noexcept {
    in_.waits_for_ = nullptr;
    return std::exchange(in_.ended_by_, std::nullopt);
  }

 private:
  flow& in_;
};

inline flow::sending flow::send(std::span<statement* const> all, bool with_polls) noexcept {
  return {*this, all, with_polls};
}
inline flow::sending flow::send(statement& of, bool with_polls) noexcept {
  alone_ = {&of};
  return {*this, alone_, with_polls};
}
inline flow::waiting flow::wait(instant until, const lock_key* key) noexcept { return {*this, until, key}; }

namespace coroutines {

/// The common part of the promises of all tasks.
class task_promise {
 public:
  template <class... Rest>
  static void* operator new(std::size_t bytes, flow& in, Rest&&...) {
    return take(bytes, in);
  }
  template <class Self, class... Rest>
  requires(!std::is_same_v<std::remove_cvref_t<Self>, flow>) static void* operator new(std::size_t bytes, Self&&,
                                                                                       flow& in, Rest&&...) {
    return take(bytes, in);
  }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    const auto size = rounded(bytes);
    auto* const frames = *std::launder(reinterpret_cast<frame_room**>(static_cast<std::byte*>(frame) + size));
    frames->give_back(frame, size + sizeof frames);
  }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  /// Resumes the coroutine that awaits it.
  struct caller_resumes {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      const auto next = ended.promise().caller;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  caller_resumes final_suspend() const noexcept { return {}; }

  std::coroutine_handle<> caller{};

 private:
  static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + alignof(frame_room*) - 1) & ~(alignof(frame_room*) - 1);
  }
  static void* take(std::size_t bytes, flow& in) {
    const auto size = rounded(bytes);
    auto* const frame = static_cast<std::byte*>(in.frames.take(size + sizeof(frame_room*)));
    ::new (frame + size) frame_room*(&in.frames);
    return frame;
  }
};

template <class T>
class result_promise : public task_promise {
 public:
  template <class From>
  void return_value(From&& from) {
    result_.template emplace<1>(std::forward<From>(from));
  }
  void unhandled_exception() noexcept { result_.template emplace<2>(std::current_exception()); }
  void check() const {
    if (const auto* const failure = std::get_if<2>(&result_)) std::rethrow_exception(*failure);
  }
  T take() {
    check();
    return std::move(*std::get_if<1>(&result_));
  }

 private:
  std::variant<std::monostate, T, std::exception_ptr> result_{};
};

template <>
class result_promise<void> : public task_promise {
 public:
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { failure_ = std::current_exception(); }
  void check() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }
  void take() const { check(); }

 private:
  std::exception_ptr failure_{};
};

}  // namespace coroutines

/// A coroutine that has not begun, or is under way. It begins when it is awaited, and returns or throws its result. Its
/// destructor destroys it wherever it stands, the innermost frame first.
template <class T>
class [[nodiscard]] task {
 public:
  struct promise_type : coroutines::result_promise<T> {
    task get_return_object() noexcept { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
  };

  task(task&& from) noexcept : handle_(std::exchange(from.handle_, {})) {}
  task& operator=(task&&) = delete;
  ~task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) const noexcept {
    handle_.promise().caller = caller;
    return handle_;
  }
  T await_resume() const { return handle_.promise().take(); }

  // For the code that runs it as the outermost one.
  std::coroutine_handle<> handle() const noexcept { return handle_; }
  bool done() const noexcept { return handle_.done(); }
  /// Precondition: done(). Throws the exception with which it has ended, if any.
  void check() const { handle_.promise().check(); }
  T result() const { return handle_.promise().take(); }

 private:
  explicit task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

/// A coroutine as an operation. All its data lies in frames; the constructor makes the outermost one. It may be
/// destroyed in any state, except while a statement is under way.
template <class T>
class coroutine_operation : public operation {
 public:
  /// Calls `body(flow, args...)`, which makes the task. `bytes` are for the frames, and must outlive it.
  template <class Body, class... Args>
  requires std::is_same_v<std::invoke_result_t<Body, flow&, Args...>, task<T>> coroutine_operation(
      std::span<std::byte> bytes, waker& woken, Body&& body, Args&&... args)
      : flow_(bytes, woken), body_(std::forward<Body>(body)(flow_, std::forward<Args>(args)...)) {}
  ~coroutine_operation() override {
    if (flow_.sends()) std::terminate();  // another thread works with that statement
  }

  action start(instant now) final { return checked(flow_.start(body_.handle(), now)); }
  action resume(instant now) final { return checked(flow_.resume(now)); }
  action interrupt(interruption why, instant now) final { return checked(flow_.interrupt(why, now)); }
  const lock_key* waits_for() const noexcept override { return flow_.waits_for(); }

  /// The last statements were not sent, and it will be destroyed where it stands.
  void withdraw() noexcept { flow_.withdraw(); }

  /// Call it once, after action::kind::finished.
  T result() const { return body_.result(); }

 private:
  action checked(const action& next) const {
    if (next.what == action::kind::finished) body_.check();
    return next;
  }

  flow flow_;
  task<T> body_;
};

}  // namespace dlock::engine
