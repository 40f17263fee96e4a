package smp

import (
	"slices"
	"testing"

	"kpsim/sim"
)

// A step has each object once, in the order of the first touches, however many
// there are; the next step begins with none.
func TestFootprintTouches(t *testing.T) {
	f := new(Footprint)
	var r sim.Rand
	r.Seed(1, 0)
	for step, n := range []int{3, 500, 20, 40, 500, 33} {
		f.mover = 0
		var want []sim.Touch
		for range 3 * n {
			o, write := sim.Object(r.N(n)), r.N(4) == 0
			f.add(o, write)
			if i := slices.IndexFunc(want, func(t sim.Touch) bool { return t.Object == o }); i >= 0 {
				want[i].Write = want[i].Write || write
			} else {
				want = append(want, sim.Touch{Object: o, Write: write})
			}
		}
		if !slices.Equal(f.touched, want) {
			t.Fatalf("step %d: %v, want %v", step, f.touched, want)
		}
		f.untouch()
	}
}
