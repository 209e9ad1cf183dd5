// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>

#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::mysql {

/// One attempt to log in. Servers count refused logins, and block an account, for all programs, after a few. So after a
/// refusal this process tries the same login no more for 10 s. As long as it is not known whether a login is accepted,
/// one thread tries it, and the others wait for its result, as long as their mysql_io_bound lets them.
class login_attempt {
 public:
  /// `account`: who logs in, by which password, where and how.
  explicit login_attempt(const std::string& account);
  ~login_attempt();
  login_attempt(const login_attempt&) = delete;
  login_attempt& operator=(const login_attempt&) = delete;

  /// Why it must not be made. Null: it may.
  const fault* refusal() const noexcept { return refusal_.get(); }
  void accepted() noexcept;
  /// Adds to the fault of a refused login when the next one is tried; of another fault nothing is kept.
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
