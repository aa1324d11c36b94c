package results
