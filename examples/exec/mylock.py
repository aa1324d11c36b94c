"""redis-py's Lock as a child of lockbench.  lockbench run --exec 'python3 mylock.py'"""
import json, sys, redis

locks = {}
for line in sys.stdin:
    request = json.loads(line); op, key, reply = request["op"], request.get("key"), {"id": request["id"], "ok": True}
    if op == "describe": reply["can"] = ["extend"]
    try:
        if op == "new": locks[key] = redis.Redis.from_url("redis://" + request["servers"][0]).lock(key, request["lease_ms"] / 1000, sleep=request["poll_ms"] / 1000)
        elif op == "try" and not locks[key].acquire(blocking=False): reply = {"id": request["id"], "error": "busy"}
        elif op == "acquire" and not locks[key].acquire(blocking_timeout=request["wait_ms"] / 1000 if "wait_ms" in request else None): reply = {"id": request["id"], "error": "busy"}
        elif op == "extend": locks[key].reacquire()
        elif op == "release": locks[key].release()
    except redis.exceptions.LockError as e: reply = {"id": request["id"], "error": "lost", "text": str(e)}
    except redis.exceptions.RedisError as e: reply = {"id": request["id"], "error": "unknown", "text": str(e)}
    print(json.dumps(reply), flush=True)
