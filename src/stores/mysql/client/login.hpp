// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>

#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::mysql {

/// One attempt to log in. Servers count refused logins, and after a few block an account for all programs. So after a
/// refusal this process does not try the same login again for 10 s. While it is unknown whether a login is accepted,
/// one thread tries it, and the others wait for its result within their mysql_io_bound.
class login_attempt {
 public:
  /// `account` is the user, password, server and TLS settings of the login.
  explicit login_attempt(const std::string& account);
  ~login_attempt();
  login_attempt(const login_attempt&) = delete;
  login_attempt& operator=(const login_attempt&) = delete;

  /// The reason why it must not be tried, or null.
  const fault* refusal() const noexcept { return refusal_.get(); }
  void accepted() noexcept;
  /// Adds to the fault of a refused login when the next attempt may be made. Keeps nothing of other faults.
  void failed(fault& why);

 private:
  struct state;
  struct book;
  static book& present();

  const std::shared_ptr<state> of_;
  std::unique_ptr<const fault> refusal_{};
  bool counts_ = false;
};

}  // namespace dlock::stores::mysql
