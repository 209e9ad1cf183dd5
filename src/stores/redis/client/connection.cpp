// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/connection.hpp"

#include <array>
#include <utility>

namespace dlock::stores::redis {

namespace {
/// How a server that speaks TLS begins its complaint about what is none.
constexpr char tls_alert = 0x15;
}  // namespace

redis_connection::redis_connection(stream_socket socket, std::chrono::milliseconds timeout)
    : socket_(std::move(socket)) {
  socket_.set_timeout(timeout);
}

redis_connection::~redis_connection() {
  if (watched_by_ != nullptr) watched_by_->remove(watch_);
}

void redis_connection::watch_hang_up(std::shared_ptr<hangup_watch> by, std::function<void()> closed) noexcept {
  watched_by_ = std::move(by);
  watch_ = watched_by_->add(socket_.descriptor(), std::move(closed));
}

void redis_connection::interrupt() noexcept {
  usable_ = false;
  socket_.shut_down();
}

answer redis_connection::next() {
  for (;;) {
    if (auto found = reader_.next(); found || reader_.broken()) {
      if (reader_.broken()) ended_ = {"the server does not speak the protocol of Redis", true};
      return found;
    }
    if (answer_by_ != stream_socket::clock::time_point::max()) {
      const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(answer_by_ - stream_socket::clock::now());
      if (remaining.count() <= 0) return {};
      socket_.set_timeout(remaining);
    }
    std::array<char, 4096> room;
    const auto got = socket_.receive(room.data(), room.size());
    if (got == 0) note_end();
    if (got > 0 && !spoke_ && room[0] == tls_alert) {
      ended_ = {"the server speaks TLS on this port; write rediss: instead of redis:", true};
      return {};
    }
    spoke_ = spoke_ || got > 0;
    if (got == 0 || !reader_.feed(room.data(), got)) return {};
  }
}

void redis_connection::note_end() {
  if (auto why = socket_.tls_problem(); !why.text.empty()) {
    ended_ = {std::move(why.text), why.lasts};
  } else if (socket_.closed()) {
    ended_ = {"the server closed the connection; does it want TLS, or a client certificate?", false};
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
