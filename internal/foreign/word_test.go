package foreign

import "testing"

func TestNear(t *testing.T) {
	known := []string{"acquire.p50", "acquire.p99", "throughput", "token", "one-look", "run", "x1", "rw", "rode-tree"}
	for _, row := range []struct{ word, want string }{
		{"throughputs", "throughput"},  // one letter too many
		{"aquire.p99", "acquire.p99"},  // one too few
		{"acquire.p98", "acquire.p99"}, // one changed
		{"tokne", "token"},             // two that changed places count as two changes
		{"latency", ""},                // nothing similar
		{"aquire", "acquire.p50"},      // its beginning
		{"nope", ""},                   // a short beginning
		{"", ""},                       // an empty word
		{"rn", "run"},                  // one of two letters is missing
		{"x", ""},                      // a letter that is like any
		{"ru", "run"},                  // the beginning of a short one
		{"rx", ""},                     // half of the letters
		{"lose", ""},                   // the same, of four
	} {
		if got := near(row.word, known); got != row.want {
			t.Errorf("near(%q) = %q, want %q", row.word, got, row.want)
		}
	}
	if got := Hint("tokn", known); got != `; did you mean "token"?` {
		t.Errorf("Hint = %q", got)
	}
}
