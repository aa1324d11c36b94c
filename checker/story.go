package checker

// tell fills the violation's story and lanes, from its operations and the evidence around them. It may reduce v.Operations.
func tell(v *Violation, ev *evidence) {}
