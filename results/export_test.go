package results

var Redact = redact
