// SPDX-License-Identifier: GPL-2.0-or-later
// The precompiled header needs a target with a source; it has nothing to say.
