package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const hostileHeader = `{"schema":"lockbench/history/v1","lock":"token","kind":"mutex","lease":2000000000}` + "\n"

// held is one hold of a client, from the acquire's return to the release's call.
func held(client string, id int, from, to int64) string {
	return fmt.Sprintf(`{"id":%d,"client":%q,"op":"acquire","key":"job","call":%d,"return":%d,"outcome":"ok"}`+"\n"+
		`{"id":%d,"client":%q,"op":"release","key":"job","call":%d,"return":%d,"outcome":"ok"}`+"\n", id, client, from-1, from, id, client, to, to+1)
}

func manyClients(n int64) string {
	var text strings.Builder
	text.WriteString(hostileHeader)
	for i := range n {
		text.WriteString(held(fmt.Sprint("client-", i), 1, 10*i+1, 10*i+5))
	}
	return text.String()
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	must(t, err)
	return w.EncodeAll([]byte(text), nil)
}

// TestHostileHistories returns check files that are damaged, endless or absurd: it says what is
// wrong and where, or judges rightly, and never allocates more than 512 MiB to find out.
func TestHostileHistories(t *testing.T) {
	many := manyClients(100_000)
	whole := compressed(t, many)
	endless := compressed(t, strings.Repeat("x", 64<<20)) // again and again, 10 GiB of one line in 160 frames
	for _, row := range []struct {
		name string
		file []byte
		exit int
		says string // on stdout or stderr
	}{
		{"100,000 clients", []byte(many), exitOK, "PASS"},
		{"a compressed file that is cut off", whole[:len(whole)*2/3], exitInconclusive, "the end of the history is cut off"},
		{"a compressed file that is damaged", append(append(bytes.Clone(whole[:1000]), "damage"...), whole[1006:]...), exitUsage, "history:"},
		{"a line of 10 GiB, compressed", append(compressed(t, hostileHeader), bytes.Repeat(endless, 160)...), exitUsage, "history:2: a line longer than 1048576 bytes"},
		{"a frame that asks for a window of 2 GiB", []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 1, 0, 0}, exitUsage, "window"},
		{"times before the start", []byte(hostileHeader + held("a", 1, -900, -500) + held("b", 2, -700, -300)), exitUsage, "history:2: call -901 is negative"},
		{"every id the same", []byte(hostileHeader + held("a", 7, 1, 5) + held("b", 7, 8, 9)), exitOK, "PASS"},
		{"NaN for a time", []byte(hostileHeader + strings.Replace(held("a", 1, 4, 8), `"call":3`, `"call":NaN`, 1)), exitUsage, `history:2:56: expected an integer, found NaN`},
		{"no newline and no end", []byte(hostileHeader + `{"id":1,"client":"a`), exitInconclusive, "cut off"},
		{"not text", bytes.Repeat([]byte{0, 255, 10}, 1000), exitUsage, "history:1:1: expected the header as a JSON object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history")
			must(t, os.WriteFile(path, row.file, 0o600))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := newWorld("")
			code := execute(t.Context(), []string{"lockbench", "check", path}, w.world)
			runtime.ReadMemStats(&after)
			if said := w.out.String() + w.err.String(); code != row.exit || !strings.Contains(said, row.says) {
				t.Errorf("exit %d, want %d; want to be told %q:\n%.2000s", code, row.exit, row.says, said)
			}
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 512 {
				t.Errorf("%d MiB were allocated", mib)
			}
		})
	}
}
