package history

import "testing"

func TestUnderWay(t *testing.T) {
	for _, tt := range []struct {
		name     string
		commands []Command
		want     int64
	}{
		{"within", []Command{{Name: "SET", Sent: 12, Replied: 15}}, 3},
		{"cut at both ends", []Command{{Name: "SET", Sent: 5, Replied: 25}}, 10},
		{"two at once count once", []Command{{Name: "SET", Sent: 11, Replied: 15}, {Name: "SET", Sent: 13, Replied: 17}}, 6},
		{"one inside another", []Command{{Name: "SET", Sent: 11, Replied: 18}, {Name: "SET", Sent: 13, Replied: 14}}, 7},
		{"one after the other", []Command{{Name: "SET", Sent: 11, Replied: 12}, {Name: "SET", Sent: 14, Replied: 16}}, 3},
		{"before and after", []Command{{Name: "SET", Sent: 1, Replied: 9}, {Name: "SET", Sent: 21, Replied: 22}}, 0},
		{"without a reply", []Command{{Name: "SET", Sent: 12}}, 0},
		{"at the server", []Command{{Name: "BLPOP", Sent: 12, Replied: 19}}, 0},
	} {
		if got := UnderWay(tt.commands, 10, 20); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
