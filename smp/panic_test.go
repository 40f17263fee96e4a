package smp_test

import (
	"testing"

	"kpsim/sim"
	"kpsim/smp"
)

// A panic in a routine comes out of Run, whichever routine drove the machine
// when it happened, and the machine can be reset, run and closed afterwards.
func TestPanicInRoutine(t *testing.T) {
	for culprit := range 3 {
		r := newRig(t, smp.Config{CPUs: 3})
		armed := false
		for c := range 3 {
			r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
				for i := range 5 {
					x.Step("p", i)
					if armed && c == culprit && i == 3 {
						sim.Bug("cpu%d", c)
					}
				}
			})
		}
		for name, ch := range schedules(5) {
			armed = true
			func() {
				defer func() {
					if _, ok := recover().(*sim.BugError); !ok {
						t.Errorf("%s: the panic on cpu%d didn't come out of Run", name, culprit)
					}
				}()
				r.run(ch)
			}()
			armed = false
			r.want(smp.Passed, sim.Always0{})
		}
	}
}

// Routines take turns in every order: each goes on where it stood.
func TestTurns(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 4})
	var at [4]int
	for c := range 4 {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			for i := range 20 {
				x.Step("p", i)
				if at[c]++; at[c] != i+1 {
					t.Fatalf("cpu%d is at step %d, want %d", c, at[c], i+1)
				}
			}
		})
	}
	for name, ch := range schedules(50) {
		at = [4]int{}
		r.want(smp.Passed, ch)
		if at != [4]int{20, 20, 20, 20} {
			t.Errorf("%s: steps %v", name, at)
		}
	}
	if k := r.Counts(); k.Switches > k.Boundaries {
		t.Errorf("%d switches of fibres at %d boundaries", k.Switches, k.Boundaries)
	}
}
