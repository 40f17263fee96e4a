package overhead

import (
	"slices"
	"strings"
)

// In returns the probe with the engine of another edition, which boosts and optimizes as much as its own.
// scenario.Editions lists the editions; Probes says whether one has such a probe.
func (p Probe) In(edition string) Probe {
	for _, era := range eras {
		p.Machine = strings.Replace(p.Machine, `edition = "`+era+`"`, `edition = "`+edition+`"`, 1)
	}
	return p
}

// ProbesIn returns the probes of an edition's engine whose events have a cost on the machine, none if it has none.
// Detours in the kernel code of the profile of era 2.6, and jprobes in that of 4.15, aren't counted.
func (u *UserProfile) ProbesIn(edition string) (list []Probe) {
	before := edition == eras[0]
	if u.Era == eras[0] && !before {
		return nil
	}
	for _, p := range ProbesOn(u.Arch, !before) {
		if u.Era == eras[1] && strings.Contains(p.Name, "j") {
			continue
		}
		list = append(list, p.In(edition))
	}
	return slices.Clip(list)
}
