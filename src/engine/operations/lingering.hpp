// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include "engine/operations/flow.hpp"
#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

// A key that lingers (lock_options::linger) is still granted to this process, by a session that renews itself and a
// nonce that names all grants of its tenure. The row's fence is the last token that may be handed out; each grant shows
// its own.

/// The next grant of a key that lingers, without a statement. `kept` is its last grant, from lingering_keys::take().
/// Returns null if the key can't be had in this way: then the store must be asked about `kept`, or, if that is null by
/// now, about the key. Throws std::bad_alloc. Precondition: the caller has the turn of the key.
std::shared_ptr<grant> enter_lingering(engine_services& services, const lock_key& key, const lock_request& request,
                                       queue_turn& turn, std::shared_ptr<grant>& kept, instant now);

/// Asks the store about it, and takes it from `kept`: reserves more tokens and returns the next grant; or frees the key
/// and returns null, because this request needs another kind of grant, or the store did not do it.
task<std::shared_ptr<grant>> ask_for_lingering(flow& f, engine_services& services, const lock_key& key,
                                               const lock_request& request, queue_turn& turn,
                                               std::shared_ptr<grant>& kept);

/// Frees keys that have lingered long enough, or for which another process waits.
task<void> watch_lingering(flow& f, engine_services& services);

}  // namespace dlock::engine
