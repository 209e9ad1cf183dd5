// SPDX-License-Identifier: BSL-1.0
// The precompiled header needs a target with a source; it has nothing to say.
