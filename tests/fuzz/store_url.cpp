// SPDX-License-Identifier: BSL-1.0
// The URL of a store, which comes from a configuration file or the environment.

#include "dlock/store_interface/store_url.hpp"

#include <stdexcept>
#include <string>

#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    auto url = dlock::store_url::parse(fuzz::text_of(data, size));
    const auto shown = url.redacted();
    // A password of several letters that stands nowhere else in the URL must not be shown.
    if (url.password.size() > 8) {
      auto without = url;
      without.password = "x";
      if (without.redacted().find(url.password) == std::string::npos) {
        fuzz::require(shown.find(url.password) == std::string::npos, "the password is hidden");
      }
    }
    url.take_param("schema", "create");
    url.take_number("port", 1, 0, 65'535);
    url.expect_no_more_params();
  } catch (const std::invalid_argument& refused) {
    fuzz::require(*refused.what() != '\0', "a refusal has a text");
  }
  return 0;
}
