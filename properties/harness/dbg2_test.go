package harness

import (
	"fmt"
	"testing"

	"kpsim/properties/scenario"
)

func TestDbgEvents(t *testing.T) {
	sc, _ := scenario.LoadBuiltin("second-instruction")
	res, err := Explore(Spec{Scenario: sc, Runs: 20000})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := PlayFile("x", res.Witness.File, true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rep.Rig.Log.Events {
		e := &rep.Rig.Log.Events[i]
		if e.Kind == 2 || e.Kind == 4 || e.Kind == 6 || e.Kind == 3 && e.A < 0xffffffff81001000 || e.Kind >= 64 {
			fmt.Println(e)
		}
	}
	fmt.Println(res.Witness.Schedule, rep.Same)
}
