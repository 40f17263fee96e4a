//go:build !faults

package unit

import "kpsim/campaign/plan"

// poison does nothing, but in programs built to be broken.
func poison(*plan.Unit) {}
