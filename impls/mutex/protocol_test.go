package mutex

import (
	"errors"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// writes is the text of the request with which each variant takes the lock.
var writes = map[string]string{
	"exists-set": "\nset\r", "setnx": "setnx", "setnx-expire": "setnx", "getset-timestamp": "setnx", "lua-nil": "eval",
	"lua-setnx-expire": "eval", "set-nx-ex": "set", "token-get-del": "set", "token": "set", "token-session": "eval",
}

func TestLostReplyIsUnknownNeverBusy(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a := join(t, s, v.Name, "a")
			if _, err := a.Ask(t); err == nil { // the script is known from here on
				redistest.WantErr(t, v.Name+": release", a.Release(t.Context()), nil)
			}
			a.LoseReply(writes[v.Name])
			_, err := a.Acquire(t.Context(), history.Exclusive)
			redistest.WantErr(t, v.Name+": acquire whose reply is lost", err, impls.ErrUnknownOutcome)
			if errors.Is(err, impls.ErrBusy) || errors.Is(err, impls.ErrUnavailable) {
				t.Errorf("%s: acquire whose reply is lost is more than unknown: %v", v.Name, err)
			}
			left := a.Redis.Exists(t.Context(), a.In.Key).Val() == 1
			if left != (v.Name != "lua-nil") {
				t.Errorf("%s: key left behind: %v", v.Name, left)
			}
			a.Redis.Del(t.Context(), a.In.Key)
		}
	})
}

func TestLostReleaseReplyIsUnknown(t *testing.T) {
	release := map[string]string{"token-get-del": "\nget\r", "token": "eval", "token-session": "eval"}
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range granted() {
			text := release[v.Name]
			if text == "" {
				text = "\ndel\r"
			}
			a := join(t, s, v.Name, "a")
			a.Hold(t)
			a.LoseReply(text)
			redistest.WantErr(t, v.Name+": release whose reply is lost", a.Release(t.Context()), impls.ErrUnknownOutcome)
			a.Redis.Del(t.Context(), a.In.Key)
		}
	})
}
