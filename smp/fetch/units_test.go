package fetch_test

import "kpsim/smp/fetch"

// newText is NewText of the units that x86 promises: a chunk under Stale, a byte under Mixing.
func newText(model fetch.Model, cpus int) *fetch.Text {
	unit := 8
	if model == fetch.Mixing {
		unit = 1
	}
	return fetch.NewText(model, cpus, unit)
}
