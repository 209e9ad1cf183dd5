// SPDX-License-Identifier: BSL-1.0
// Empty: the target of the precompiled header needs a source.
