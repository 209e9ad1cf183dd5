// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/redis/client/connection.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace dlock::stores::redis {

std::int64_t answer::number_in(std::string_view text) noexcept {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc{} && end == text.data() + text.size() ? value : 0;
}

redis_connection::redis_connection(stream_socket socket, std::chrono::milliseconds timeout)
    : socket_(std::move(socket)) {
  socket_.set_patience(timeout);
}

void redis_connection::interrupt() noexcept {
  usable_ = false;
  socket_.shut_down();
}

answer redis_connection::next() {
  for (;;) {
    if (auto found = reader_.next(); found || reader_.broken()) return found;
    std::array<char, 4096> room;
    const auto got = socket_.receive(room.data(), room.size());
    if (got == 0 || !reader_.feed(room.data(), got)) return {};
  }
}

std::vector<answer> redis_connection::ask(const command_text& commands) {
  std::vector<answer> answers(commands.commands());
  bool goes_on = usable();
  // A server that closes at once, because it has no connection to give, has said so before.
  const bool sent = goes_on && socket_.send(commands.text());
  for (auto at = answers.begin(); goes_on && at != answers.end(); ++at) {
    *at = next();
    goes_on = static_cast<bool>(*at);
  }
  if (!goes_on || !sent) interrupt();  // what comes later must not be taken for the answer to something else
  return answers;
}

bool redis_connection::send(const command_text& commands) noexcept {
  if (!usable() || !socket_.send(commands.text())) interrupt();
  return usable();
}

answer redis_connection::sent_meanwhile() {
  for (bool asked = false;; asked = true) {
    if (auto found = reader_.next(); found) return found;
    if (reader_.broken()) break;
    if (asked || socket_.quiet()) return {};
    std::array<char, 4096> room;
    const auto got = socket_.receive(room.data(), room.size());
    if (got == 0 || !reader_.feed(room.data(), got)) break;
  }
  interrupt();
  return {};
}

answer redis_connection::ask(std::initializer_list<std::string_view> words) {
  command_text one;
  one.add(words);
  return std::move(ask(one).front());
}

}  // namespace dlock::stores::redis
