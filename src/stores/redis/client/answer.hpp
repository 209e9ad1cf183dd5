// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace dlock::stores::redis {

/// One answer of the server. Empty: there was none.
class answer {
 public:
  answer() = default;
  explicit answer(void* owned) noexcept : owned_(static_cast<redisReply*>(owned)), at_(owned_.get()) {}

  explicit operator bool() const noexcept { return at_ != nullptr; }
  bool is_error() const noexcept { return at_ != nullptr && at_->type == REDIS_REPLY_ERROR; }
  bool is_nothing() const noexcept { return at_ == nullptr || at_->type == REDIS_REPLY_NIL; }
  /// Of an error too. Empty: it is no text.
  std::string_view text() const noexcept {
    return at_ == nullptr || at_->str == nullptr ? std::string_view{} : std::string_view(at_->str, at_->len);
  }
  /// Of a number, or of a text that is one; else 0.
  std::int64_t number() const noexcept {
    if (at_ == nullptr) return 0;
    return at_->type == REDIS_REPLY_INTEGER ? at_->integer : number_in(text());
  }
  std::size_t size() const noexcept { return at_ == nullptr || at_->type != REDIS_REPLY_ARRAY ? 0 : at_->elements; }
  /// A part of an array; it lives as long as the whole. Empty: there is no such part.
  answer operator[](std::size_t which) const noexcept {
    answer part;
    if (which < size()) part.at_ = at_->element[which];
    return part;
  }

  static std::int64_t number_in(std::string_view text) noexcept;

 private:
  struct deleter {
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
  };
  std::unique_ptr<redisReply, deleter> owned_{};
  const redisReply* at_ = nullptr;
};

}  // namespace dlock::stores::redis
