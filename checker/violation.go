package checker

// explain completes a violation that a property found: its cause and, unless it is to stay bare, its story.
func explain(v *Violation, ev *evidence, bare bool) {
	s, cause := investigate(v, ev)
	v.Cause = cause
	if !bare {
		tell(v, ev, s)
	}
}
