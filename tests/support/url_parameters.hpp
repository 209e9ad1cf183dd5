// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

namespace dlock::test {

/// The URL with more parameters, e.g. "prefix=x_&schema=verify".
inline std::string with_parameters(const std::string& url, const std::string& more) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + more;
}

}  // namespace dlock::test
