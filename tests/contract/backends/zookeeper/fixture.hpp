// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <utility>

#include "contract/store_fixture.hpp"
#include "dlock/stores/zookeeper.hpp"
#include "support/zookeeper_server.hpp"

namespace dlock::test {

/// A free key leaves nothing behind, and fences are those of the whole ensemble.
class zookeeper_fixture : public url_fixture {
 public:
  using url_fixture::url_fixture;
  bool deletes_free_rows() const override { return true; }
  bool keeps_by_itself() const override { return true; }
  bool forgets_expired() const override { return true; }
  bool leaves_descriptors() const override { return true; }
};

/// With a server of its own. `parameters`: of the URL.
class zookeeper_server_fixture final : public zookeeper_fixture {
 public:
  explicit zookeeper_server_fixture(std::string parameters = {}) : parameters_(std::move(parameters)) {}
  std::string url() const override { return server_.url(parameters_); }

 private:
  const std::string parameters_;
  zookeeper_server server_{};
};

}  // namespace dlock::test
