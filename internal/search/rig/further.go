package rig

import (
	"bytes"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/linux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// furtherNames returns a function that names what only a kernel's own engine has: the members
// of users' structs ("k->flags"), and the kernel's symbols.
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

// Code returns a function's text as the machine's kernel has it: bytes that are rewritten
// later hold that kernel's own nop.
func (r *Rig) Code(t *scenario.Text) []byte {
	nop, common := r.arch.BranchNop, target.Arch.BranchNop
	if nop == common {
		return t.Code
	}
	code := slices.Clone(t.Code)
	put := func(name string, off int) {
		if name == t.Name && bytes.HasPrefix(code[off:], common.Bytes()) {
			copy(code[off:], nop.Bytes())
		}
	}
	for _, s := range r.Scenario.Sites {
		put(s.Func, s.Offset)
	}
	for i := range r.Scenario.Labels {
		put(r.Scenario.Labels[i].Func, r.Scenario.Labels[i].Offset)
	}
	return code
}
