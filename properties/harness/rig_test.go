package harness

import (
	"fmt"
	"testing"

	"kpsim/properties/scenario"
	"kpsim/sched"
)

func TestDefaultRuns(t *testing.T) {
	for _, sc := range scenario.Builtin() {
		r, err := New(sc, "")
		if err != nil {
			t.Errorf("%s: %v", sc.Name, err)
			continue
		}
		run := r.Run(new(sched.Default))
		name := ""
		if run.Property != nil {
			name = run.Property.Name
		}
		fmt.Println(sc.Name, run.Outcome, name, run.Finding, run.Err, fmt.Sprintf("%+v %x", run.Counts, run.Digest))
		r.Close()
	}
}
