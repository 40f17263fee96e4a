package linux

import (
	"kpsim/engine"
	"kpsim/smp/arch"
)

// User says which probe's struct an address lies in, and the member there, "" for the
// struct itself; ok false: in none. It serves those that show a run.
func (e *Linux) User(a arch.Addr) (probe int, member string, ok bool) {
	probe = int(a-userBase) / userStep
	if e.k == nil || a < userBase || probe >= len(e.probes) {
		return 0, "", false
	}
	if a == e.probes[probe].at {
		return probe, "", true
	}
	of := "kprobe"
	if e.probes[probe].Kind == engine.Kretprobe {
		of = "kretprobe"
	}
	member, ok = e.k.Image.Types().Member(of, int(a-e.probes[probe].at))
	return probe, member, ok
}
