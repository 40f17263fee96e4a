package kernel_test

import (
	"kpsim/engine/ftrace"
	"kpsim/engine/jumplabel"
	"kpsim/engine/staticcall"
	"kpsim/smp/kapi"
)

// What an engine of these tests has defined.
const (
	slotMem   = 1 // two kinds of executable memory
	detourMem = 2
	ownerOwn  = 2 // the traps of its handlers
	syncOwn   = 4 // a place of sync
)

// Largest pieces of the two kinds.
const slotMost, detourMost = 32, 256

// memory returns the two kinds: caches of slots of so many bytes, 0 for arenas.
func memory(slot, detour int) []kapi.Memory {
	list := []kapi.Memory{
		{What: slotMem, Most: slotMost, Slot: slot, Mutex: "kprobe_insn_slots.mutex"},
		{What: detourMem, Most: detourMost, Slot: detour, Mutex: "kprobe_optinsn_slots.mutex"},
	}
	for i := range list {
		list[i].Alloc, list[i].Collect, list[i].Unmap = "alloc_insn_slot", "collect_garbage_slots", "collect_one_slot"
	}
	return list
}

// clients are the kernel's clients of text patching.
type clients struct {
	ftrace *ftrace.Ftrace
	calls  *staticcall.Calls
	labels *jumplabel.Labels
}

func (r *rig) bootClients() {
	k, cells := r.k, &r.Cells
	r.labels = jumplabel.New(k, &k.Text, &k.Traps, &k.Hotplug)
	r.calls = staticcall.New(staticcall.Deps{Boot: k, Cells: cells, Text: &k.Text, Traps: &k.Traps,
		CPUs: &k.Hotplug, Patch: &k.Poke})
	r.ftrace = ftrace.New(ftrace.Deps{Boot: k, Cells: cells, Text: &k.Text, Patch: &k.Poke, RCU: &k.RCU,
		Traps: &k.Traps, ModuleMutex: k.Modules.Mutex})
}
