package harness

import (
	"fmt"
	"testing"

	"kpsim/properties/scenario"
)

func TestDbg(t *testing.T) {
	sc, _ := scenario.LoadBuiltin("register-storm-none")
	res, err := Explore(Spec{Scenario: sc, Runs: 20000, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := PlayFile("x", res.Witness.File, true)
	fmt.Println(rep.Same, rep.Why, err, rep.Outcome)
	for i := range rep.Rig.Log.Events {
		e := &rep.Rig.Log.Events[i]
		if e.Seq > 0 && (e.Kind==15||e.Kind==16||e.Kind==8||e.Kind==9||e.Kind==10||e.Kind==18||e.Kind==19||e.Kind==17||e.Kind>=64) {
			fmt.Println(e)
		}
	}
	fmt.Println(rep.Rig.Machine.Dump())
}
