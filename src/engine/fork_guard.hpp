// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

namespace dlock::engine {

/// How many forks lie between this process and the first one that asked: a child sees another number than its
/// parent. An atomic load; the counting is done by a pthread_atfork handler.
unsigned fork_generation() noexcept;

}  // namespace dlock::engine
