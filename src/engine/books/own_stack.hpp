// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace dlock::engine {

/// Whether what stands at `address` belongs to a call of this thread that has not returned: it lies on the thread's own
/// stack, above the present frame. False where that can't be known: on another stack than the one that the thread was
/// started with (a fibre, a signal's stack), and on platforms that don't tell where a thread's stack is.
/// Cost: some nanoseconds; a thread's first question asks the C library.
bool on_own_stack(const void* address) noexcept;

/// An address on this thread's stack above every frame of it, or null where the stack is not known.
const void* end_of_own_stack() noexcept;

}  // namespace dlock::engine
