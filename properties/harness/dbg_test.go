package harness

import (
	"fmt"
	"testing"

	"kpsim/properties/scenario"
	"kpsim/sched"
)

func TestDbg(t *testing.T) {
	sc, _ := scenario.LoadBuiltin("safe-none")
	r, _ := New(sc, "")
	r.Log.Store = true
	run := r.Run(new(sched.Default))
	fmt.Printf("%+v events %d\n", run.Counts, len(r.Log.Events))
	n := map[string]int{}
	for _, e := range r.Log.Events {
		n[e.Kind.String()]++
	}
	fmt.Println(n)
}
func BenchmarkDefault(b *testing.B) {
	sc, _ := scenario.LoadBuiltin("safe-none")
	r, _ := New(sc, "")
	for i := 0; i < b.N; i++ {
		r.Run(new(sched.Default))
	}
}
