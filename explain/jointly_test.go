package explain

import "testing"

// TestWhatWasLeftOutTogetherIsNamed: each finding names what was left out with it; of more than five others the first four by name.
func TestWhatWasLeftOutTogetherIsNamed(t *testing.T) {
	for _, row := range []struct {
		events []string
		want   string // what the second says
	}{
		{[]string{"a", "b"}, "b and a"},
		{[]string{"a", "b", "c"}, "b, a and c"},
		{[]string{"a", "b", "c", "d", "e"}, "b, a, c, d and e"},
		{[]string{"a", "b", "c", "d", "e", "f"}, "b, a, c, d, e and f"},
		{[]string{"a", "b", "c", "d", "e", "f", "g"}, "b, a, c, d, e and 2 other events"},
	} {
		var all []finding
		for _, e := range row.events {
			all = append(all, finding{text: sentence(e)})
		}
		if got := jointly(all)[1].text.Text(func(any) string { return "" }); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
