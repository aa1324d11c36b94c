package mutex

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// TestCommands pins what each variant sends for one acquire and one release, with a lease of whole
// seconds and one of milliseconds: the form that its source prints. K is the key, T a token, D a
// deadline, S a script's digest.
func TestCommands(t *testing.T) {
	rows := []struct{ name, seconds, millis string }{
		{"exists-set", "exists K; set K 1; del K", "exists K; set K 1; del K"},
		{"setnx", "setnx K 1; del K", "setnx K 1; del K"},
		{"setnx-expire", "setnx K 1; expire K 2; del K", "setnx K 1; pexpire K 1500; del K"},
		{"getset-timestamp", "setnx K D; expire K 2; del K", "setnx K D; pexpire K 1500; del K"},
		{"lua-setnx-expire", "evalsha S 1 K 1 2; del K", "evalsha S 1 K 1 1500; del K"},
		{"set-nx-ex", "set K 1 ex 2 nx; del K", "set K 1 px 1500 nx; del K"},
		{"token-get-del", "set K T ex 2 nx; get K; del K", "set K T px 1500 nx; get K; del K"},
		{"token", "set K T nx px 2000; evalsha S 1 K T", "set K T nx px 1500; evalsha S 1 K T"},
		{"token-session", "evalsha S 1 K T 2; evalsha S 1 K T", "evalsha S 1 K T 1500; evalsha S 1 K T"},
	}
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, row := range rows {
			for lease, want := range map[time.Duration]string{2 * time.Second: row.seconds, 1500 * time.Millisecond: row.millis} {
				c := s.Client(t)
				env := c.Env(t, "a", lease)
				env.Key = "K"
				p := open(t, c, row.name, env)
				p.Hold(t) // the scripts are known from here on
				_ = p.Release(t.Context())
				sent := c.Record()
				p.Hold(t)
				_ = p.Release(t.Context())
				if diff := cmp.Diff(strings.Split(want, "; "), anonymous(sent.Take())); diff != "" {
					t.Errorf("%s, lease %v (-want +got):\n%s", row.name, lease, diff)
				}
			}
		}
	})
}

// anonymous replaces digests, tokens and deadlines by letters.
func anonymous(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		words := strings.Fields(line)
		for j, w := range words {
			switch {
			case words[0] == "evalsha" && j == 1:
				words[j] = "S"
			case len(w) >= 40:
				words[j] = "T"
			case len(w) == 12 || len(w) == 13: // milliseconds since 1970
				words[j] = "D"
			}
		}
		out[i] = strings.Join(words, " ")
	}
	return out
}

func TestLostReleaseReplyIsUnknown(t *testing.T) {
	release := map[string]string{"token-get-del": "\nget\r", "token": "eval", "token-session": "eval"}
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			if v.Name == "lua-nil" {
				continue // is never granted
			}
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
