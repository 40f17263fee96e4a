package kpsimtest_test // yours

import (
	"testing"

	"kpsim/kpsimtest"
	"kpsim/smp/smpev"
)

// Runs and their events are ranged over.
func TestStores(t *testing.T) {
	most := 0
	for run := range kpsimtest.Each(t, "jump-label-flip", kpsimtest.Runs(100)) {
		n := 0
		for range run.Events(smpev.TextStore) {
			n++
		}
		most = max(most, n)
		if run.Property != "" {
			kpsimtest.Save(t, "testdata/stores.kps", run.Trace())
			t.Fatalf("run %d breaks %s at %s: %s", run.Number, run.Property, run.Place, run.Message)
		}
	}
	t.Log("at most", most, "stores in a run")
}
