# SPDX-License-Identifier: BSL-1.0
# Locks a key as programs in Python do, by the class Lock of redis-py:
#   redis_py_lock.py SOCKET count KEY COUNTER SECONDS   adds 1 to the counter under the lock, again and again; prints how often
#   redis_py_lock.py SOCKET try KEY                     prints whether the key was to be had, and keeps it if it was
#   redis_py_lock.py SOCKET keep KEY SECONDS            holds it with that expiry, and ends
import sys
import time

import redis

client = redis.Redis(unix_socket_path=sys.argv[1])
what, key = sys.argv[2:4]
if what == "count":
    counter, seconds = sys.argv[4], float(sys.argv[5])
    until = time.time() + seconds
    done = 0
    while time.time() < until:
        with client.lock(key, timeout=30, sleep=0.002):
            value = int(client.get(counter) or 0)
            time.sleep(0.001)
            client.set(counter, value + 1)
        done += 1
    print(done)
elif what == "try":
    print(client.lock(key, timeout=30).acquire(blocking=False))
elif what == "keep":
    client.lock(key, timeout=float(sys.argv[4])).acquire()
