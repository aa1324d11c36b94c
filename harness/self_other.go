//go:build !linux

package harness

import "github.com/lockbench/lockbench/faults"

// selfBody lets the package build; clients as processes are refused before any is started.
type selfBody struct{ tell func(news) }

func (selfBody) Stop(faults.Spec, string, func()) bool { return false }

func (selfBody) Kill(faults.Spec, string) bool { return false }
