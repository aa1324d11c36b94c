"""OpenStack tooz's Redis lock as a child of lockbench.  lockbench run --exec '/usr/bin/python3 tooz_lock.py'"""
import json, sys

from tooz import coordination

coordinators, locks = {}, {}


def new(ask):
    # The lease is the coordinator's, in whole seconds at least: lock_timeout is parsed as an integer.
    seconds = max(1, round(ask["lease_ms"] / 1000))
    coordinator = coordination.get_coordinator(
        "redis://%s?lock_timeout=%d" % (ask["servers"][0], seconds), ask["owner"].encode())
    coordinator.start()
    return coordinator, coordinator.get_lock(ask["key"])


for line in sys.stdin:
    ask = json.loads(line)
    op, key, answer = ask["op"], ask.get("key"), {"id": ask["id"], "ok": True}
    try:
        if op == "describe":
            answer.update(name="tooz", can=["extend"])
        elif op == "new":
            coordinators[key], locks[key] = new(ask)
        elif op == "try" and not locks[key].acquire(blocking=False):
            answer = {"id": ask["id"], "error": "busy"}
        elif op == "acquire" and not locks[key].acquire(blocking=ask["wait_ms"] / 1000 if ask.get("wait_ms") else True):
            answer = {"id": ask["id"], "error": "busy"}
        elif op == "extend" and not locks[key].heartbeat():
            answer = {"id": ask["id"], "error": "lost"}
        elif op == "release" and not locks[key].release():
            answer = {"id": ask["id"], "error": "lost"}
    except Exception as e:
        # A handle that can't be made has sent no request of the lock; lockbench asks for it again.
        word = "unavailable" if op == "new" and isinstance(e, coordination.ToozConnectionError) else "unknown"
        answer = {"id": ask["id"], "error": word, "text": "%s: %s" % (type(e).__name__, e)}
    print(json.dumps(answer), flush=True)
