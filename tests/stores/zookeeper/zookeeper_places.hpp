// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "contract/store/store_contract.hpp"
#include "dlock/stores/zookeeper.hpp"
#include "support/eventually.hpp"
#include "support/zookeeper_server.hpp"

namespace dlock::test {

/// Locks at a URL, wherever that leads.
class url_place final : public store_place {
 public:
  explicit url_place(std::string at) : url_(std::move(at)) {}
  std::shared_ptr<store> open() override {
    auto opened = open_store(url_);
    opened->prepare();
    return opened;
  }
  std::string url() const override { return url_; }
  bool counts_grants() const override { return false; }
  bool deletes_free_rows() const override { return true; }
  bool forgets_expired() const override { return true; }

 private:
  const std::string url_;
};

/// Who waits, as the engine does.
class counting_listener final : public key_listener {
 public:
  void may_be_free(bool works) noexcept override {
    works_ = works;
    ++told_;
  }
  int told() const { return told_; }
  bool works() const { return works_; }

 private:
  std::atomic<int> told_{0};
  std::atomic<bool> works_{false};
};

}  // namespace dlock::test
