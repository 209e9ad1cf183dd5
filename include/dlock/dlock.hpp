// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Everything that locking needs. Beside it: spdlog_observer.hpp (needs spdlog), lock_key_formatter.hpp
/// (needs fmt), stores/ (the stores as classes), store.hpp (to write another one).

#include "dlock/append_part.hpp"
#include "dlock/distributed_mutex.hpp"
#include "dlock/distributed_semaphore.hpp"
#include "dlock/distributed_shared_mutex.hpp"
#include "dlock/error.hpp"
#include "dlock/fenced.hpp"
#include "dlock/key.hpp"
#include "dlock/key_of.hpp"
#include "dlock/leader.hpp"
#include "dlock/leader_watch.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/locked.hpp"
#include "dlock/macros.hpp"
#include "dlock/multi_lease.hpp"
#include "dlock/observer.hpp"
#include "dlock/owner.hpp"
#include "dlock/service_options.hpp"
#include "dlock/store_interface/holder_info.hpp"
#include "dlock/version.hpp"
#include "dlock/with_lock.hpp"
