// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/client/connection.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlock::stores::zookeeper {

on_answer request_round::slot(std::size_t which) {
  return [self = shared_from_this(), which](answer response) {
    const base::lock_guard lock(self->mutex_);
    self->answers_[which] = std::move(response);
    if (--self->open_ == 0) self->changed_.notify_all();
  };
}

std::vector<answer> request_round::wait(std::chrono::steady_clock::time_point until) {
  base::unique_lock lock(mutex_);
  while (open_ > 0 && !interrupted_) {
    if (changed_.wait_until(lock.native(), until) == std::cv_status::timeout) break;
  }
  return answers_;
}

void request_round::interrupt() noexcept {
  const base::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

void zookeeper_connection::interrupt() noexcept {
  std::shared_ptr<request_round> round;
  {
    const base::lock_guard lock(mutex_);
    interrupted_ = true;
    usable_ = false;  // otherwise each request of later statements would seem to have no answer
    round = current_;
  }
  if (round != nullptr) round->interrupt();
}

std::shared_ptr<request_round> zookeeper_connection::begin(std::size_t requests) {
  auto round = std::make_shared<request_round>(requests);
  const base::lock_guard lock(mutex_);
  if (interrupted_) round->interrupt();
  current_ = round;
  return round;
}

std::vector<answer> zookeeper_connection::finish(request_round& round) {
  auto answers = round.wait(std::chrono::steady_clock::now() + timeout_);
  // A request without an answer is in doubt; another connection finds out what became of it.
  if (std::any_of(answers.begin(), answers.end(), [](const answer& each) { return each.lost(); })) usable_ = false;
  const base::lock_guard lock(mutex_);
  current_ = nullptr;
  return answers;
}

answer zookeeper_connection::wait_connected(zookeeper_handle& handle) {
  if (handle.connected()) return {.code = ZOK};
  const auto round = begin(1);
  const auto number = handle.when_connected(round->slot(0));
  auto response = std::move(round->wait(std::chrono::steady_clock::now() + timeout_).front());
  handle.stop_waiting(number);  // an outage may be long, and each statement during it ends here
  const base::lock_guard lock(mutex_);
  current_ = nullptr;
  return response;
}

fault fault_of(int code, const std::string& doing) {
  fault why{.native = code, .text = fmt::format("{}: {}", doing, ::zerror(code))};
  switch (code) {
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZCLOSING:
      why.text = doing + ": no answer";
      why.transient = why.connection = true;
      break;
    // The engine ends at its next renewal what the servers have ended.
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZINVALIDSTATE:
    case ZTHROTTLEDOP: why.transient = true; break;
    default: break;
  }
  return why;
}

fault no_connection(const zookeeper_settings& settings, int code) {
  auto why = fault_of(code, "connect");
  if (!why.connection) return why;
  why.text = fmt::format(
      "no server answers at {} (a server closes each connection of a host that exceeds its maxClientCnxns, which is 60 "
      "unless set)",
      fmt::join(settings.servers, ","));
  return why;
}

reply not_done(const answer& response, const char* doing) {
  return {.result = response.lost() ? outcome::unknown : outcome::failed, .why = fault_of(response.code, doing)};
}

}  // namespace dlock::stores::zookeeper
