// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What dlock's headers include of others: compiled once, because most of the time goes there.
#include <array>
#include <chrono>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
