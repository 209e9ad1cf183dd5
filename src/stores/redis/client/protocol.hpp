// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The data on a connection: commands and replies.

#include <hiredis/hiredis.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::redis {

/// Commands in the form in which they are sent, one after the other: the protocol's arrays of strings.
class command_text {
 public:
  /// Begins a command with that many words, which follow.
  void begin(std::size_t words) {
    put('*', words);
    ++commands_;
  }
  void word(std::string_view text) {
    put('$', text.size());
    text_.append(text).append("\r\n", 2);
  }
  void add(std::initializer_list<std::string_view> words) {
    begin(words.size());
    for (const auto each : words) word(each);
  }
  /// Adds a call of a script: `how` is "EVALSHA" for its hash, or "EVAL" for its text. `words`: names of `keys` keys,
  /// then values.
  void call(std::string_view how, std::string_view script, std::size_t keys, std::span<const std::string_view> words) {
    begin(words.size() + 3);
    word(how);
    word(script);
    word(std::to_string(keys));
    for (const auto each : words) word(each);
  }
  /// Adds a complete command.
  void add(std::string_view command) {
    text_.append(command);
    ++commands_;
  }

  /// Reserves memory for commands of that many bytes.
  void reserve(std::size_t bytes) { text_.reserve(bytes); }

  std::string_view text() const noexcept { return text_; }
  std::size_t commands() const noexcept { return commands_; }

 private:
  void put(char kind, std::size_t count) {
    std::array<char, 24> head;
    head[0] = kind;
    char* const end = std::to_chars(head.data() + 1, head.data() + 22, count).ptr;
    end[0] = '\r';
    end[1] = '\n';
    text_.append(head.data(), static_cast<std::size_t>(end - head.data()) + 2);
  }

  std::string text_{};
  std::size_t commands_ = 0;
};

/// A reply of the server, empty if there was none.
class answer {
 public:
  answer() = default;
  explicit answer(void* owned) noexcept : owned_(static_cast<redisReply*>(owned)), at_(owned_.get()) {}

  explicit operator bool() const noexcept { return at_ != nullptr; }
  bool is_error() const noexcept { return at_ != nullptr && at_->type == REDIS_REPLY_ERROR; }
  /// Whether it came, and is no error.
  bool is_result() const noexcept { return at_ != nullptr && at_->type != REDIS_REPLY_ERROR; }
  bool is_nothing() const noexcept { return at_ == nullptr || at_->type == REDIS_REPLY_NIL; }
  /// The text of a reply or error, empty if it is no text.
  std::string_view text() const noexcept {
    return at_ == nullptr || at_->str == nullptr ? std::string_view{} : std::string_view(at_->str, at_->len);
  }
  /// A number, or a text that is one; otherwise 0.
  std::int64_t number() const noexcept {
    if (at_ == nullptr) return 0;
    return at_->type == REDIS_REPLY_INTEGER ? at_->integer : number_in(text());
  }
  std::size_t size() const noexcept { return at_ == nullptr || at_->type != REDIS_REPLY_ARRAY ? 0 : at_->elements; }
  /// A part of an array, which lives as long as the whole; empty if there is no such part.
  answer operator[](std::size_t which) const noexcept {
    answer part;
    if (which < size()) part.at_ = at_->element[which];
    return part;
  }

  static std::int64_t number_in(std::string_view text) noexcept {
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc{} && end == text.data() + text.size() ? value : 0;
  }

 private:
  struct deleter {
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
  };
  std::unique_ptr<redisReply, deleter> owned_{};
  const redisReply* at_ = nullptr;
};

/// Parses what a server sends.
class answer_reader {
 public:
  answer_reader() : reader_(redisReaderCreate()) {
    if (reader_ == nullptr) throw std::bad_alloc();
    static auto functions = limited(*reader_->fn);
    reader_->fn = &functions;
  }

  /// Returns false if it is not the protocol.
  bool feed(const char* text, std::size_t size) noexcept {
    return redisReaderFeed(reader_.get(), text, size) == REDIS_OK;
  }
  /// The next reply; empty if it is not complete yet or broken().
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

/// Whether the server does not have the script, as after SCRIPT FLUSH.
bool is_unknown_script(std::string_view error) noexcept;
/// Whether this server refuses everything, while another one may not.
bool is_elsewhere(std::string_view error) noexcept;
/// The fault for an error that the server sent. The command was certainly not executed: a server refuses a script
/// before its first write, or not at all.
fault fault_of_error(std::string_view error, const char* doing);
/// The fault of a connection that broke or timed out.
fault lost_connection(const std::string& text);
/// Throws store_error for a fault in the preparation of the store of that name.
[[noreturn]] void fail(const std::string& store, const fault& why);

/// The reply for an answer that is no result: an error, or none, so that the command was sent or may have been.
reply failure(const answer& response, const char* doing);
/// Returns yes if the answer is 1.
reply yes_or_no(const answer& response, const char* doing);

}  // namespace dlock::stores::redis
