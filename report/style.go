package report

import "github.com/lockbench/lockbench/checker"

// Style is how text is dressed. The zero value is plain.
type Style struct {
	Colour bool // escape sequences may be written: a terminal reads this
}

// The colours are told apart by most colour-blind readers, and no meaning rests on them alone.
const (
	blue   = "\x1b[1;34m"
	red    = "\x1b[1;31m"
	orange = "\x1b[1;33m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	off    = "\x1b[0m"
)

func (s Style) paint(colour, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return colour + text + off
}

// word is the four-letter form of a verdict, which lines up.
func word(v checker.Result) string {
	switch v {
	case checker.Pass:
		return "pass"
	case checker.Fail:
		return "FAIL"
	case checker.NotApplicable:
		return "n/a "
	}
	return "????"
}

// headline is the long form of a verdict.
func headline(v checker.Result) string {
	switch v {
	case checker.Pass:
		return "PASS"
	case checker.Fail:
		return "FAIL"
	}
	return "INCONCLUSIVE"
}

func (s Style) verdict(v checker.Result, text string) string {
	switch v {
	case checker.Pass:
		return s.paint(blue, text)
	case checker.Fail:
		return s.paint(red, text)
	case checker.NotApplicable:
		return s.paint(dim, text)
	}
	return s.paint(orange, text)
}
