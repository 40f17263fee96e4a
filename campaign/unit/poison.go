//go:build !faults

package unit

import "kpsim/campaign/plan"

// poison does nothing, except in programs built with the tag faults.
func poison(*plan.Unit) {}
