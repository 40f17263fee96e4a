package sched

import "testing"

// draws counts what a test draws, and how many of the draws are too large for the test.
type draws struct{ drawn, large int }

// check fails a test that skipped more than a third of its draws, because it would then
// cover little but the smallest.
func (d *draws) check(t *testing.T) {
	t.Helper()
	if d.large > d.drawn/3+5 { // 5: under the race detector there are 20 in all
		t.Errorf("%d of %d programs were too large", d.large, d.drawn)
	}
}
