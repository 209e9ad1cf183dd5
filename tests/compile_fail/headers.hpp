// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What most of them include: compiled once, because most of the time goes there.
#include <dlock/dlock.hpp>
