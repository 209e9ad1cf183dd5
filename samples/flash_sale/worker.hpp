// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// A worker process: takes orders from its coordinator over a socket, serves them one after another.
///
///   coordinator -> worker   setup <number> <shop URL> <locks URL or empty> <think us> <ttl ms> <wait ms>
///                           order <index> <line> <order id> <customer> <sku> <quantity>
///                           end
///   worker -> coordinator   entered <index> <waited us> <1: the lock was taken over from a dead holder>
///                           answered <index> <sold|sold_out|duplicate>
///                           left <index>          unanswered; it will be tried again
///                           failed <index> <why>  tried often enough
///                           bye <leases lost> <stale writes refused> <orders tried again>

namespace flash_sale {

/// `socket`: connected to the coordinator. Returns the process's exit code.
int run_worker(int socket);

}  // namespace flash_sale
