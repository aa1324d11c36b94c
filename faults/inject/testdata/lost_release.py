# Acquires and releases a lock with redis-py through the port in argv, and tells what its user sees.
import sys

import redis

r = redis.Redis(host="127.0.0.1", port=int(sys.argv[1]))
lock = r.lock("job", timeout=30)
print("acquire", lock.acquire(blocking=False))
for attempt in ("release", "again"):
    try:
        lock.release()
        print(attempt, "ok")
    except redis.exceptions.RedisError as e:
        print(attempt, type(e).__name__)
print("key left", r.exists("job"))
