package gen

import (
	"encoding/binary"
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp"
	"kpsim/smp/arch"
)

// This file draws patchers that are compiled code: they store to text by an alias, and call routines of the kernel.

// aliasAt is where functions are mapped a second time, two pages each.
const aliasAt arch.Addr = 0xffffffff81280000

// syncs are the routines of the kernel after which all CPUs have serialised. others are called beside them, and none of
// them promises that. waits sleep, so they aren't called while a breakpoint's handler spins.
var (
	syncs  = []string{"membarrier", "text_poke_sync", "smp_text_poke_sync_each_cpu"}
	others = []string{"mprotect", "__clear_cache", "sync_core"}
	waits  = []string{"sched_yield", "wait_for_completion", "synchronize_rcu", "synchronize_rcu_tasks",
		"synchronize_rcu_tasks_rude"}
)

// service adds a call of a routine of the kernel. membarrier gets the command by which all CPUs serialise.
func (f *function) service(name string) {
	to, _ := scenario.KernelExport(name)
	if name == "membarrier" {
		f.put(by32(f.g, byte(0xbf), 0xb8), 32, 0, 0, 0) // mov $32,%edi, or %eax
	}
	f.relative(to, 0xe8)
}

// synced adds what makes all CPUs serialise, to compiled code.
func (h *hand) synced(f *function) {
	if h.one(3) {
		f.service(others[h.rand.N(len(others))])
	}
	f.service(syncs[h.rand.N(len(syncs))])
	if h.one(6) && !h.spins {
		f.service(waits[h.rand.N(len(waits))])
	}
}

// compiled adds a function of the patcher's, and what calls it.
func (h *hand) compiled(body func(f *function)) {
	name := fmt.Sprint("compiled", len(h.sc.Texts))
	h.text(name, func(f *function) {
		f.put(0x55)
		body(f)
		f.put(0x5d)
		f.put(0xc3)
	})
	h.ops = append(h.ops, scenario.Op{Kind: act.Call, Target: name, Changed: true})
}

// aliased reports whether code of the patcher's stores to the function. Its text is then mapped a second time, once.
func (h *hand) aliased(f string) bool {
	i := slices.IndexFunc(h.sc.Aliases, func(a scenario.Alias) bool { return a.Of == f })
	switch {
	case i >= 0:
		h.alias = h.sc.Aliases[i].At
	case h.on.Memory == smp.TSO || !h.one(3):
		return false
	default:
		at := h.sc.Text(f).At
		h.alias = h.arch().Addr(aliasAt+2*scenario.Page*arch.Addr(len(h.sc.Aliases))) + at%scenario.Page
		h.sc.Aliases = append(h.sc.Aliases, scenario.Alias{Name: f + "alias", Of: f, At: h.alias})
	}
	return true
}

// bytes returns what a write stores, for code that stores it.
func (h *hand) bytes(f string, at int, set func(op *scenario.Op)) []byte {
	var op scenario.Op
	if set(&op); op.Form == scenario.FormBytes {
		return op.Bytes
	}
	to := h.sc.Text(op.Targets[0]).At + arch.Addr(op.Into)
	return binary.LittleEndian.AppendUint32(nil, uint32(to-h.sc.Text(f).At-arch.Addr(at+4)))
}

// store adds an instruction that stores one byte, or four.
func (f *function) store(at arch.Addr, b []byte) {
	op := byte(0xc6) // movb
	if len(b) == 4 {
		op = 0xc7 // movl
	}
	f.number(at, op, 0x04)
	f.code = append(f.code, b...)
}
