"""A child of lockbench in ten lines: redis-py's own Lock.  lockbench run --exec 'python3 mylock.py'"""
import json, sys, redis

locks = {}
for line in sys.stdin:
    ask = json.loads(line); op, key, answer = ask["op"], ask.get("key"), {"id": ask["id"], "ok": True}
    if op == "describe": answer["can"] = ["extend"]
    try:
        if op == "new": locks[key] = redis.Redis.from_url("redis://" + ask["servers"][0]).lock(key, ask["lease_ms"] / 1000, sleep=ask["poll_ms"] / 1000)
        elif op == "try" and not locks[key].acquire(blocking=False): answer = {"id": ask["id"], "error": "busy"}
        elif op == "acquire" and not locks[key].acquire(blocking_timeout=ask["wait_ms"] / 1000 if "wait_ms" in ask else None): answer = {"id": ask["id"], "error": "busy"}
        elif op == "extend": locks[key].reacquire()
        elif op == "release": locks[key].release()
    except redis.exceptions.LockError as e: answer = {"id": ask["id"], "error": "lost", "text": str(e)}
    except redis.exceptions.RedisError as e: answer = {"id": ask["id"], "error": "unknown", "text": str(e)}
    print(json.dumps(answer), flush=True)
