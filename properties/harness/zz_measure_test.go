package harness
import ("testing";"fmt";"time";"kpsim/properties/scenario";"kpsim/sched")
func TestMeasureZZ(t *testing.T) {
	for _, sc := range scenario.Builtin() {
		r, _ := New(sc, "")
		p := r.Run(new(sched.Default)).Counts.Points
		r.Close()
		st := time.Now()
		res, err := Explore(Spec{Scenario: sc, Runs: 400000, Strategy: "deviations", Cancelled: nil})
		fmt.Println(sc.Name, "default points", p, "deviations:", res.Runs, res.Complete, res.Schedules, res.Violations, time.Since(st), err)
	}
}
