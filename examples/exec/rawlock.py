"""A child of lockbench without a Redis library: SET NX PX and a script that compares. With the argument "blind" it releases with DEL,
whoever holds by then; with "renews" a thread renews the lease until the release, and with "stays" for ever.
lockbench explore --exec 'python3 rawlock.py blind'"""
import json, socket, sys, threading, time, uuid

RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
RENEW = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0'
MODE = sys.argv[1] if len(sys.argv) > 1 else ""


class Lock:
    def __init__(self, ask):
        self.ask, self.over = ask, threading.Event()
        self.key, self.lease, self.poll, self.server, self.redis = ask["key"], int(ask["lease_ms"]), ask["poll_ms"] / 1000, ask["servers"][0], None

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
            raise OSError("the connection is gone")
        if line[:1] == b"-":
            raise OSError(line.decode().strip())
        return int(line[1:]) if line[:1] == b":" else line[:3] != b"$-1"

    def acquire(self, wait):
        end = time.monotonic() + wait
        while True:
            self.token = uuid.uuid4().hex
            if self.call("SET", self.key, self.token, "NX", "PX", self.lease):
                if MODE in ("renews", "stays"):
                    self.over = threading.Event()
                    threading.Thread(target=Lock(self.ask).renew, args=(self.token, self.over), daemon=True).start()
                return True
            if time.monotonic() + self.poll > end:
                return False
            time.sleep(self.poll)

    def renew(self, token, over):
        while not over.wait(self.lease / 3000):
            try:
                self.call("PEXPIRE", self.key, self.lease) if MODE == "stays" else self.call("EVAL", RENEW, 1, self.key, token, self.lease)
            except OSError:
                pass

    def close(self):
        if MODE == "renews":
            self.over.set()

    def release(self):
        self.close()
        if MODE == "blind":
            return self.call("DEL", self.key)
        return self.call("EVAL", RELEASE, 1, self.key, self.token)


locks = {}
for line in sys.stdin:
    ask = json.loads(line)
    op, key, answer = ask["op"], ask.get("key"), {"id": ask["id"], "ok": True}
    try:
        if op == "new":
            locks[key] = Lock(ask)
        elif op == "close":
            locks[key].close()
        elif op in ("try", "acquire") and not locks[key].acquire(ask.get("wait_ms", 0) / 1000):
            answer = {"id": ask["id"], "error": "busy"}
        elif op == "release" and not locks[key].release():
            answer = {"id": ask["id"], "error": "lost"}
    except OSError as e:
        answer = {"id": ask["id"], "error": "unknown", "text": str(e)}
    print(json.dumps(answer), flush=True)
