// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <memory>
#include <new>

#include "stores/redis/client/answer.hpp"

namespace dlock::stores::redis {

/// Takes what a server sends apart.
class answer_reader {
 public:
  answer_reader() : reader_(redisReaderCreate()) {
    if (reader_ == nullptr) throw std::bad_alloc();
    static auto functions = limited(*reader_->fn);
    reader_->fn = &functions;
  }

  /// False: it is not the protocol.
  bool feed(const char* text, std::size_t size) noexcept {
    return redisReaderFeed(reader_.get(), text, size) == REDIS_OK;
  }
  /// Empty: the rest of it is still to come, unless it is broken().
  answer next() noexcept {
    void* found = nullptr;
    broken_ = redisReaderGetReply(reader_.get(), &found) != REDIS_OK;
    return broken_ || found == nullptr ? answer{} : answer(found);
  }
  bool broken() const noexcept { return broken_; }

 private:
  /// hiredis allocates an array when the server announces its length.
  static redisReplyObjectFunctions limited(redisReplyObjectFunctions all) noexcept {
    make_array = all.createArray;
    all.createArray = [](const redisReadTask* task, auto size) -> void* {
      return size > most_elements ? nullptr : make_array(task, size);
    };
    return all;
  }
  static constexpr int most_elements = 1'000'000;
  static inline decltype(redisReplyObjectFunctions::createArray) make_array = nullptr;

  struct deleter {
    void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
  };
  std::unique_ptr<redisReader, deleter> reader_;
  bool broken_ = false;
};

}  // namespace dlock::stores::redis
