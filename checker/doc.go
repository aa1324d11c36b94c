// Package checker judges a recorded history.
package checker
