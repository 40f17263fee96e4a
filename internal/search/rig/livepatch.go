package rig

import (
	"kpsim/internal/scenario"
	"kpsim/smp/arch"
)

// addPatched says which functions tasks patch, and where these call ftrace.
func (r *Rig) addPatched() {
	sc := r.Scenario
	for i := range sc.Texts {
		t := &sc.Texts[i]
		if !sc.Patched(t.Name) && !sc.DoesTo(t.Name, scenario.OpUnpatchFunc) {
			continue
		}
		site := arch.Addr(0)
		for _, s := range sc.Sites {
			if s.Func == t.Name {
				site = t.At + arch.Addr(s.Offset)
			}
		}
		r.patches.AddFunc(t.At, site)
	}
}

// sizeOf is how many bytes the function has that begins at an address.
func (r *Rig) sizeOf(at arch.Addr) int {
	for i := range r.Scenario.Texts {
		if t := &r.Scenario.Texts[i]; t.At == at {
			return len(t.Code)
		}
	}
	return 0
}
