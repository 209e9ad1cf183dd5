// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What they include: compiled once, because most of the time goes there.
#include <dlock/dlock.hpp>
#include <exception>
#include <string>
