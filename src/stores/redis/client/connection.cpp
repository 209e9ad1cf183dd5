// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/connection.hpp"

#include <array>

namespace dlock::stores::redis {

namespace {
/// The first byte of a TLS server's error about plain text.
constexpr char tls_alert = 0x15;
}  // namespace

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

redis_connection::clock::time_point redis_connection::limit() const noexcept {
  return answer_by_ == clock::time_point::max() ? clock::now() + timeout_ : answer_by_;
}

answer redis_connection::next(waits how) {
  for (;;) {
    if (auto found = reader_.next(); found) return found;
    if (reader_.broken()) {
      problem_ = {"the server does not speak the protocol of Redis", true};
      break;
    }
    std::array<char, 16384> room;
    const auto got = socket_.receive(room.data(), room.size(), how == waits::yes ? limit() : stream_socket::no_wait);
    if (!got) return {};
    if (*got == 0) {
      problem_ = socket_.problem();
      if (socket_.closed() && !spoke_) problem_.text += "; does it want TLS, or a client certificate?";
      break;
    }
    if (!spoke_ && room[0] == tls_alert) {
      problem_ = {"the server speaks TLS on this port; write rediss: instead of redis:", true};
      break;
    }
    spoke_ = true;
    if (!reader_.feed(room.data(), *got)) break;
  }
  interrupt();
  return {};
}

std::vector<answer> redis_connection::ask(const command_text& commands) {
  std::vector<answer> answers(commands.commands());
  bool goes_on = usable();
  // A server that closes at once, because it has no free connection, has sent the reason before.
  const bool sent = goes_on && socket_.send(commands.text(), limit());
  for (auto at = answers.begin(); goes_on && at != answers.end(); ++at) {
    *at = next(waits::yes);
    goes_on = static_cast<bool>(*at);
  }
  if (!goes_on || !sent) interrupt();  // later data must not be taken for the reply to something else
  return answers;
}

answer redis_connection::ask(std::initializer_list<std::string_view> words) {
  command_text one;
  one.add(words);
  return std::move(ask(one).front());
}

bool redis_connection::send(const command_text& commands) noexcept {
  if (!usable() || !socket_.send(commands.text(), limit())) interrupt();
  return usable();
}

}  // namespace dlock::stores::redis
