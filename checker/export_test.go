package checker

// Without switches a rule off.
func (o Options) Without(rule string) Options {
	o.without = rule
	return o
}
