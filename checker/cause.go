package checker

import "github.com/lockbench/lockbench/history"

// attribute names why a violation happened, from the commands and fault windows around it. history.CauseUnknown when the
// evidence does not tell.
func attribute(v *Violation, ev *evidence) history.Cause { return history.CauseUnknown }
