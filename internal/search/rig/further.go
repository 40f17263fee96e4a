package rig

import (
	"kpsim/linux"
	"kpsim/smp/arch"
)

// furtherNames names what a kernel's own engine has: the members of users' structs
// ("k->flags"), and the kernel's symbols.
func (r *Rig) furtherNames(k *linux.Kernel) func(a arch.Addr) (name string, off int, ok bool) {
	e, _ := r.config.Booted.(*linux.Linux)
	return func(a arch.Addr) (string, int, bool) {
		if i, member, ok := e.User(a); ok && i < len(r.Scenario.Probes) {
			name := r.Scenario.Probes[i].Name
			if member != "" {
				name += "->" + member
			}
			return name, 0, true
		}
		return k.Symbol(a)
	}
}
