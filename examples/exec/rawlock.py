"""A child of lockbench without a Redis library: SET NX PX and a release script that compares the token. The argument "blind" releases with a
plain DEL, "keeps" by a script that is sent another name and frees nothing, and "denies" likewise, and says so. "counts" takes the lock for its own after 64
tries in vain. "renews" starts a thread that renews the lease until the release, "stays" one that renews it for ever, whoever has it, and "dies" one that
ends with the first connection error.
lockbench explore --exec 'python3 rawlock.py blind'"""
import json, socket, sys, threading, time, uuid

RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
RENEW = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0'
MODE = sys.argv[1] if len(sys.argv) > 1 else ""


class Lock:
    def __init__(self, request):
        self.request, self.done = request, threading.Event()
        self.key, self.lease, self.poll, self.server, self.redis = request["key"], int(request["lease_ms"]), request["poll_ms"] / 1000, request["servers"][0], None

    def call(self, *args):
        if not self.redis:
            host, port = self.server.rsplit(":", 1)
            self.redis = socket.create_connection((host, int(port))).makefile("rwb")
        words = [str(a).encode() for a in args]
        try:
            self.redis.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
            self.redis.flush()
            line = self.redis.readline()
        except OSError:
            line = b""
        if not line:
            self.redis = None
            raise OSError("the connection was closed")
        if line[:1] == b"-":
            raise OSError(line.decode().strip())
        return int(line[1:]) if line[:1] == b":" else line[:3] != b"$-1"

    def acquire(self, wait):
        end, tries = time.monotonic() + wait, 0
        while MODE != "counts" or tries <= 64:
            tries += 1
            self.token = uuid.uuid4().hex
            if self.call("SET", self.key, self.token, "NX", "PX", self.lease):
                if MODE in ("renews", "stays", "dies"):
                    self.done = threading.Event()
                    threading.Thread(target=Lock(self.request).renew, args=(self.token, self.done), daemon=True).start()
                return True
            if time.monotonic() + self.poll > end:
                return False
            time.sleep(self.poll)
        return True

    def renew(self, token, done):
        while not done.wait(self.lease / 3000):
            try:
                self.call("PEXPIRE", self.key, self.lease) if MODE == "stays" else self.call("EVAL", RENEW, 1, self.key, token, self.lease)
            except OSError:
                if MODE == "dies":
                    return

    def close(self):
        if MODE in ("renews", "dies"):
            self.done.set()

    def release(self):
        self.close()
        if MODE == "blind":
            return self.call("DEL", self.key)
        if MODE in ("keeps", "denies"):
            return self.call("EVAL", RELEASE, 1, "app:" + self.key, self.token) or MODE == "keeps"
        return self.call("EVAL", RELEASE, 1, self.key, self.token)


locks = {}
for line in sys.stdin:
    request = json.loads(line)
    op, key, reply = request["op"], request.get("key"), {"id": request["id"], "ok": True}
    try:
        if op == "new":
            locks[key] = Lock(request)
        elif op == "close":
            locks[key].close()
        elif op in ("try", "acquire") and not locks[key].acquire(request.get("wait_ms", 0) / 1000):
            reply = {"id": request["id"], "error": "busy"}
        elif op == "release" and not locks[key].release():
            reply = {"id": request["id"], "error": "lost"}
    except OSError as e:
        reply = {"id": request["id"], "error": "unknown", "text": str(e)}
    print(json.dumps(reply), flush=True)
