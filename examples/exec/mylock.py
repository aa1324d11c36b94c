"""redis-py's Lock as a child of lockbench: lockbench suite --exec 'python3 mylock.py'"""
import json
import sys

import redis

locks = {}  # by key


def answer(op, key, request):
    if op == "describe":
        return {"ok": True, "can": ["extend"]}
    if op == "new":
        server = redis.Redis.from_url("redis://" + request["servers"][0])
        lease, poll = request["lease_ms"] / 1000, request["poll_ms"] / 1000
        locks[key] = server.lock(key, timeout=lease, sleep=poll)
    if op == "try" and not locks[key].acquire(blocking=False):
        return {"error": "busy"}
    if op == "acquire":
        wait = request["wait_ms"] / 1000 if "wait_ms" in request else None
        if not locks[key].acquire(blocking_timeout=wait):
            return {"error": "busy"}
    if op == "extend":
        locks[key].reacquire()
    if op == "release":
        locks[key].release()
    return {"ok": True}


for line in sys.stdin:
    request = json.loads(line)
    try:
        reply = answer(request["op"], request.get("key"), request)
    except redis.exceptions.LockError as e:  # another may hold it now
        reply = {"error": "lost", "text": str(e)}
    except redis.exceptions.RedisError as e:  # it may have had an effect
        reply = {"error": "unknown", "text": str(e)}
    print(json.dumps({"id": request["id"], **reply}), flush=True)
