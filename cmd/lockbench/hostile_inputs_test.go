//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Limits of a hostile input. The address space is more than what may be used: the runtime reserves
// half a gigabyte that it does not touch.
const (
	hostileMemory = 1 << 30          // bytes in use, of lockbench and of every process that it starts
	hostileSpace  = 3 << 20          // KiB of address space
	hostileTime   = 45 * time.Second // for a whole command on a busy machine
	interruptTime = 5 * time.Second  // from the first interrupt to the end
)

// TestHostileInputs runs the command lines of testdata/hostile.txt under a limit of memory and
// time: each exits with one of the codes that are right, and none with 70, by a signal, by running
// out of memory, or never.
func TestHostileInputs(t *testing.T) {
	text, err := os.ReadFile("testdata/hostile.txt")
	must(t, err)
	dir := t.TempDir()
	hostileFiles(t, dir)
	names := hostileServers(t)
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		codes, command, _ := strings.Cut(line, " ")
		t.Run(fmt.Sprintf("line %d", n+1), func(t *testing.T) {
			t.Parallel()
			runHostile(t, dir, names.Replace(command), strings.Split(codes, ","))
		})
	}
}

func runHostile(t *testing.T, dir, command string, want []string) {
	var after time.Duration
	if rest, ok := strings.CutPrefix(command, "^"); ok {
		word, rest, _ := strings.Cut(rest, " ")
		var err error
		if after, err = time.ParseDuration(word); err != nil {
			t.Fatal(err)
		}
		command = rest
	}
	if strings.Contains(command, "--server process") {
		if _, err := exec.LookPath("redis-server"); err != nil {
			t.Skip("no redis-server")
		}
	}
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", fmt.Sprintf("ulimit -v %d; exec lockbench %s", hostileSpace, command))
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	limit, interrupted := hostileTime, time.Time{}
	if after > 0 {
		// a busy machine starts it late, and what it started may keep its output open
		limit = after + interruptTime + 2*time.Second
		defer time.AfterFunc(after, func() {
			interrupted = time.Now()
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		}).Stop()
	}
	hung := time.AfterFunc(limit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	said := func() string { return out.String()[:min(out.Len(), 3000)] }
	if !hung.Stop() {
		t.Fatalf("lockbench %s\nhas not ended after %v, interrupted %v:\n%s", command, limit, !interrupted.IsZero(), said())
	}
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if code := strconv.Itoa(cmd.ProcessState.ExitCode()); !slices.Contains(want, code) {
		t.Errorf("lockbench %s\n%s, want %s:\n%s", command, cmd.ProcessState, strings.Join(want, " or "), said())
	}
	if used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; used > hostileMemory {
		t.Errorf("lockbench %s\nused %d MiB", command, used>>20)
	}
	if bytes.Contains(out.Bytes(), []byte("goroutine ")) || bytes.Contains(out.Bytes(), []byte("internal error")) {
		t.Errorf("lockbench %s\nshows its inside:\n%s", command, said())
	}
}

// hostileFiles fills a folder with what no reader expects.
func hostileFiles(t *testing.T, dir string) {
	t.Helper()
	in := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, parts ...string) {
		t.Helper()
		must(t, errors.Join(os.MkdirAll(filepath.Dir(in(name)), 0o755), os.WriteFile(in(name), []byte(strings.Join(parts, "")), 0o644)))
	}
	pipe := func(name string) {
		t.Helper()
		must(t, errors.Join(os.MkdirAll(filepath.Dir(in(name)), 0o755), syscall.Mkfifo(in(name), 0o644)))
	}
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	pipe("pipe")
	put("dir/file", "x")
	must(t, os.Symlink("loop", in("loop")))
	put("zeros.zst", string(compressed(t, many("\x00", 64<<20))))
	put("deep.jsonl", hostileHeader, many(`{"a":`, 200_000), "\n")
	put("deep.edn", many("[", 1_000_000))
	put("wide.edn", "[", many("{:type :invoke, :f :acquire, :process 1}\n", 100_000))
	put("deep.yaml", "name: x\nfaults: ", many("[", 100_000))
	put("dashes.yaml", "name: x\nfaults:\n  ", many("- ", 100_000), "x\n")
	put("huge.yaml", "name: x\nabout: ", many("x", 8<<20))
	put("alias.yaml", "a: &a [x,x,x,x,x,x,x,x,x]\n", func() (s string) {
		for c := 'b'; c < 'k'; c++ {
			s += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, many(fmt.Sprintf("*%c,", c-1), 8), c-1)
		}
		return s
	}(), "name: x\nclients: *j\n")
	put("deep.json", `{"schema":"lockbench/suite/v1","cells":`, many("[", 5_000_000))
	put("wide.json", `{"schema":"lockbench/suite/v1","verdict":"pass","cells":[{}`, many(",{}", 10_000_000), `]}`)
	put("bench.json", `{"schema":"lockbench/bench/v1","verdict":"pass","rows":[]}`)
	tape := func(name, from, to string) {
		t.Helper()
		text := `{"schema":"lockbench/tape/v2","program":{"lock":"token","workload":"spread","config":{"Ops":2,"Lease":1000000000,"Think":200000000,"Slow":0,"Pause":20000000,` +
			`"AcquireWait":3000000000,"Keys":2,"Amounts":[0,0]},"clients":2,"topology":"standalone","nodes":1,"poll":200000000,"permits":1,"horizon":60000000000,"seed":1},` +
			`"bounds":{"max_faults":2,"max_waits":2,"max_delay":50000000,"max_steps":2000,"clients":2,"operations":2},"choices":[],"hash":"b2ef4b8b4a3136e3","property":"mutual-exclusion"}`
		if from != "" && !strings.Contains(text, from) {
			t.Fatalf("no %s in the tape", from)
		}
		put(name, strings.Replace(text, from, to, 1))
	}
	tape("keys.tape", `"Keys":2`, `"Keys":1000000000`)
	tape("clients.tape", `"clients":2`, `"clients":1000000000`)
	tape("ops.tape", `"Ops":2`, `"Ops":1000000000000`)
	tape("nodes.tape", `"nodes":1`, `"nodes":1000000000`)
	tape("permits.tape", `"permits":1`, `"permits":9223372036854775807`)
	tape("lease.tape", `"Lease":1000000000`, `"Lease":1`)
	tape("horizon.tape", `"horizon":60000000000`, `"horizon":9223372036854775807`)
	tape("delay.tape", `"max_delay":50000000`, `"max_delay":9223372036854775807`)
	tape("steps.tape", `"max_steps":2000`, `"max_steps":9223372036854775807`)
	tape("wide.tape", `"choices":[`, `"choices":[{}`+many(`,{}`, 10_000_000))
	tape("deep.tape", `"choices":[`, `"choices":`+many(`[`, 5_000_000))
	// runs that cannot be read, each in its own way
	run := `{"schema":"lockbench/run/v1","id":"abc","lock":"token","scenario":"steady","server":"sim","phase":"driven","argv":["lockbench"],"start":"2026-01-01T00:00:00Z"}`
	for name, text := range map[string]string{"empty": "", "deep": many("[", 5_000_000), "schema": `{"schema":"x"}`, "good": run, "binary": "\x00\xff"} {
		put("runs/"+name+"/run.json", text)
	}
	for _, name := range []string{"run.json", "suite.json", "bench.json"} {
		pipe("runs/pipe-" + name + "/" + name)
	}
	for _, name := range []string{"result.json", "history.jsonl.zst", "commands.jsonl.zst", "server.jsonl.zst", "faults.jsonl", "scenario.yaml", "recording"} {
		put("pipes/"+name+"/run.json", run)
		if name != "history.jsonl.zst" {
			put("pipes/"+name+"/history.jsonl.zst", string(compressed(t, hostileHeader+held("c1", 1, 10, 20))))
		}
		pipe("pipes/" + name + "/" + name)
	}
	// a log of more histograms than memory has room for
	text, err := hdr.New(1, 3_600_000_000_000, 3).Encode(hdr.V2CompressedEncodingCookieBase)
	must(t, err)
	var tags []string
	for i := range 15_000 {
		tags = append(tags, fmt.Sprintf("Tag=t%d,0.0,1.0,1.0,%s\n", i, text))
	}
	put("many-latencies/run.json", run)
	put("many-latencies/history.jsonl", hostileHeader, held("c1", 1, 10, 20))
	put("many-latencies/latency.hlog", tags...)
	put("bomb/run.json", run)
	put("bomb/history.jsonl.zst", string(compressed(t, hostileHeader+held("c1", 1, 10, 20))))
	command := `{"client":"c1","node":0,"conn":1,"sent":1,"replied":2,"name":"SET","args":["a","b"],"reply":"OK"}` + "\n"
	block := compressed(t, many(command, 100_000))
	put("bomb/commands.jsonl.zst", string(compressed(t, `{"schema":"lockbench/commands/v1"}`+"\n")), many(string(block), 300))
	put("windows/run.json", run)
	put("windows/history.jsonl", hostileHeader, held("c1", 1, 10, 20))
	put("windows/faults.jsonl", `{"schema":"lockbench/faults/v1"}`+"\n", many(`{"fault":"pause-client","client":"c1","node":-1,"start":1,"end":2,"confirmed":true}`+"\n", 500_000))
}

// hostileServers starts servers that speak Redis' protocol, nearly, and returns what replaces their
// names by their addresses.
func hostileServers(t *testing.T) *strings.Replacer {
	t.Helper()
	endless := func(s string) func(io.Writer) error {
		piece := []byte(strings.Repeat(s, 1000))
		return func(w io.Writer) error {
			for {
				if _, err := w.Write(piece); err != nil {
					return err
				}
			}
		}
	}
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	var pairs []string
	for name, reply := range map[string]func(io.Writer) error{
		"array": text("*2147483647\r\n"), "bulk": text("$9999999999\r\n"), "map": text("%1000000000\r\n"), "nested": endless("*1000000\r\n"), "deep": endless("*1\r\n"),
		"line": endless("x"), "simple": func(w io.Writer) error { return errors.Join(text("+")(w), endless("x")(w)) }, "junk": endless("\x00\xff\n"), "negative": text("$-7\r\n"),
		"silent": text(""), "nil": text("$-1\r\n"), "error": text("-ERR no\r\n"), "many": endless("+OK\r\n"),
	} {
		pairs = append(pairs, "{"+name+"}", "redis://"+hostileServer(t, false, reply), "{late-"+name+"}", "redis://"+hostileServer(t, true, reply))
	}
	pairs = append(pairs, "{refused}", "redis://127.0.0.1:1")
	return strings.NewReplacer(pairs...)
}

// hostileServer answers each request with reply; if polite, PING, INFO, HELLO and the like as Redis
// does.
func hostileServer(t *testing.T, polite bool, reply func(io.Writer) error) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = answerHostile(c, polite, reply) // the client may go at any time
			}()
		}
	}()
	return l.Addr().String()
}

func answerHostile(c net.Conn, polite bool, reply func(io.Writer) error) error {
	in := bufio.NewReader(c)
	for {
		words, err := readWords(in)
		if err != nil {
			return err
		}
		answer := reply
		if polite {
			switch info := "redis_version:7.0.0\r\n"; strings.ToUpper(words[0]) {
			case "PING":
				answer = func(w io.Writer) error { _, err := io.WriteString(w, "+PONG\r\n"); return err }
			case "INFO":
				answer = func(w io.Writer) error { _, err := fmt.Fprintf(w, "$%d\r\n%s\r\n", len(info), info); return err }
			case "HELLO", "CLIENT":
				answer = func(w io.Writer) error { _, err := io.WriteString(w, "-ERR unknown command\r\n"); return err }
			}
		}
		if err := answer(c); err != nil {
			return err
		}
	}
}

// readWords reads a request, an array of strings.
func readWords(in *bufio.Reader) (words []string, err error) {
	number := func() (n int, err error) {
		line, err := in.ReadString('\n')
		if err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(line[1:]))
		}
		return n, err
	}
	n, err := number()
	if err != nil || n < 1 {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	for range n {
		size, err := number()
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words = append(words, string(word[:size]))
	}
	return words, nil
}
