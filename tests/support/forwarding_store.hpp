// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "dlock/store_interface/store.hpp"

namespace dlock::test {

/// Another store, call by call: whoever derives from it changes some of the calls.
class forwarding_store : public store {
 public:
  explicit forwarding_store(std::shared_ptr<store> inner) : inner_(std::move(inner)) {}

  const std::string& name() const noexcept override { return inner_->name(); }
  capabilities caps() const noexcept override { return inner_->caps(); }
  void prepare() override { inner_->prepare(); }
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return inner_->connect(limit, why);
  }
  void execute(connection& by, std::span<const request> requests, std::span<reply> replies) noexcept override {
    inner_->execute(by, requests, replies);
  }
  reply session(connection& by, session_verb action, const session_record& record) noexcept override {
    return inner_->session(by, action, record);
  }
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept override {
    inner_->watch(key, session, listener);
  }
  void unwatch(std::string_view key, const id128& session, key_listener& listener) noexcept override {
    inner_->unwatch(key, session, listener);
  }
  bool terminate(connection& by, const connection_identity& lost) noexcept override {
    return inner_->terminate(by, lost);
  }

 protected:
  store& inner() const noexcept { return *inner_; }

 private:
  const std::shared_ptr<store> inner_;
};

}  // namespace dlock::test
