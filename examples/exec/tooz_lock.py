"""OpenStack tooz's Redis lock as a child of lockbench.  lockbench run --exec '/usr/bin/python3 tooz_lock.py'"""
import json, sys

from tooz import coordination

coordinators, locks = {}, {}


def new(request):
    # The coordinator has the lease, in whole seconds: it parses lock_timeout as an integer.
    seconds = max(1, round(request["lease_ms"] / 1000))
    coordinator = coordination.get_coordinator(
        "redis://%s?lock_timeout=%d" % (request["servers"][0], seconds), request["owner"].encode())
    coordinator.start()
    return coordinator, coordinator.get_lock(request["key"])


for line in sys.stdin:
    request = json.loads(line)
    op, key, reply = request["op"], request.get("key"), {"id": request["id"], "ok": True}
    try:
        if op == "describe":
            reply.update(name="tooz", can=["extend"])
        elif op == "new":
            coordinators[key], locks[key] = new(request)
        elif op == "try" and not locks[key].acquire(blocking=False):
            reply = {"id": request["id"], "error": "busy"}
        elif op == "acquire" and not locks[key].acquire(blocking=request["wait_ms"] / 1000 if request.get("wait_ms") else True):
            reply = {"id": request["id"], "error": "busy"}
        elif op == "extend" and not locks[key].heartbeat():
            reply = {"id": request["id"], "error": "lost"}
        elif op == "release" and not locks[key].release():
            reply = {"id": request["id"], "error": "lost"}
    except Exception as e:
        # A failed "new" has sent no request of the lock; lockbench repeats it.
        word = "unavailable" if op == "new" and isinstance(e, coordination.ToozConnectionError) else "unknown"
        reply = {"id": request["id"], "error": word, "text": "%s: %s" % (type(e).__name__, e)}
    print(json.dumps(reply), flush=True)
