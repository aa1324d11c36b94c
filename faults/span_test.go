package faults

import (
	"testing"
	"time"
)

func TestParseSpan(t *testing.T) {
	for _, row := range []struct {
		text string
		want Span
		bad  bool
	}{
		{text: "250ms", want: Span{Fixed: 250 * time.Millisecond}},
		{text: "1.5 lease", want: Span{Leases: 1.5}},
		{text: "-2 lease", want: Span{Leases: -2}},
		{text: "1 lease + 20ms", want: Span{Leases: 1, Fixed: 20 * time.Millisecond}},
		{text: "10000h", want: Span{Fixed: MaxFixed}},
		{text: "10000h+1ns", bad: true},
		{text: "2562047h+2562047h", bad: true}, // their sum overflows
		{text: "NaN lease", bad: true},         // no number
		{text: "Inf lease", bad: true},
		{text: "Inf lease + -Inf lease", bad: true},
		{text: "1e300 lease", bad: true},
		{text: "", bad: true},
		{text: "1", bad: true}, // without a unit
	} {
		got, err := parseSpan(row.text)
		if got != row.want || (err != nil) != row.bad {
			t.Errorf("ParseSpan(%q) = %+v, %v", row.text, got, err)
		}
	}
}

func FuzzParseSpan(f *testing.F) {
	f.Add("1 lease + 20ms")
	f.Add("1e5lease+-3lease")
	f.Add("1e6 lease") // an exponent with a plus could not be parsed
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSpan(text)
		if err != nil {
			return
		}
		if back, err := parseSpan(s.String()); err != nil || back != s {
			t.Errorf("%q is %+v, written as %q and read back as %+v, %v", text, s, s, back, err)
		}
	})
}
