package history_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/history"
)

// FuzzReader feeds any bytes to the reader: it never panics, and what it accepts is written and
// read back the same.
func FuzzReader(f *testing.F) {
	f.Add([]byte(header + `{"id":1,"client":"c1","op":"acquire","key":"job","mode":"exclusive","call":1000,"return":2000,"outcome":"ok","token":"t1","valid_until":2000001000,"fence":1}`))
	f.Add([]byte(header + `{"client":"\u0041\n","op":"write","key":"","call":-1,"return":0,"outcome":"rejected","read":-7,"wrote":8,"x":[{},[],"",1e9,null]}`))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		h, ops, err := readAll(bytes.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		w := history.NewWriter(&again, h)
		for i := range ops {
			_ = w.Write(&ops[i]) // a bytes.Buffer does not fail
		}
		_ = w.Close()
		h2, ops2, err := readAll(&again)
		if err != nil || h2 != h || !cmp.Equal(ops, ops2) {
			t.Fatalf("%v\n%+v\n%+v\n%s", err, h, h2, cmp.Diff(ops, ops2))
		}
	})
}

// FuzzSidecars feeds any line to the readers of commands and fault windows.
func FuzzSidecars(f *testing.F) {
	f.Add(`{"client":"c","node":0,"conn":3,"sent":1,"replied":2,"name":"SET","args":["k","v"],"reply":"OK"}`)
	f.Add(`{"digest":"ab","source":"return 1"}`)
	f.Add(`{"fault":"kill-server","node":1,"start":1,"end":2,"effects":[{"node":1,"at":2,"what":"restarted","known":true,"turn":3,"lost":["k"]}]}`)
	f.Add(`{"fault":"pause-client","node":-1,"start":1,"end":2,"confirmed":true}`)
	f.Fuzz(func(t *testing.T, line string) {
		_ = history.ReadCommands(strings.NewReader(`{"schema":"lockbench/commands/v2"}`+"\n"+line), func(c history.Command) {
			if len(c.Args) > history.MaxArgs || c.Name == "" {
				t.Errorf("accepted %+v", c)
			}
		})
		windows, _ := history.ReadWindows(strings.NewReader(`{"schema":"lockbench/faults/v1"}` + "\n" + line))
		for _, w := range windows {
			if w.Fault == "" || w.End != 0 && w.End < w.Start {
				t.Errorf("accepted %+v", w)
			}
		}
	})
}
