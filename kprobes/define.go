package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/kapi"
)

// The engine's own kinds of work.
const (
	WorkLookup  kapi.Work = 0  // look up the chain of an address's probe
	WorkStep    kapi.Work = 2  // send the CPU to a copy to step it
	WorkResume  kapi.Work = 3  // correct the effects of a step
	WorkWalk    kapi.Work = 5  // go to the next probe of an aggregator
	WorkEmulate kapi.Work = 8  // emulate an instruction
	WorkCall    kapi.Work = 9  // follow a call that begins
	WorkReturn  kapi.Work = 10 // follow its return
	WorkDetour  kapi.Work = 11 // run a detour's callback: to the handlers and back
)

// The stubs of jprobes. Traces contain the places of stubs.
const (
	jprobeRet   = "jprobe_return"
	jprobeEntry = "jprobe_handler_entry"
)

// Tests look stubs up while variables are initialised: an init function is too late.
var _ = define()

func define() bool {
	kapi.DefineWork(WorkLookup, "lookup", 36)
	kapi.DefineWork(WorkStep, "step", 20)
	kapi.DefineWork(WorkResume, "resume", 30)
	kapi.DefineWork(WorkWalk, "walk", 10)
	kapi.DefineWork(WorkEmulate, "emulate", 30)
	kapi.DefineWork(WorkCall, "call", 40)
	kapi.DefineWork(WorkReturn, "return", 40)
	kapi.DefineWork(WorkDetour, "detour", 20)

	kapi.DefineStub(kapi.Stub{Name: trampoline, Offset: 0, Size: 112})
	kapi.DefineStub(kapi.Stub{Name: jprobeRet, Offset: 0x80, Size: 16})
	kapi.DefineStub(kapi.Stub{Name: jprobeEntry, Offset: 0x90, Size: 16})
	return true
}

// Largest pieces of executable memory in an arena.
const (
	slotMost   = 32 // 15 bytes of instruction and a jump back
	detourMost = 256
)

// Memory returns the kinds of executable memory that the engine uses: slots for copied instructions, and detours.
// slot is the size of a slot in bytes: 16 until 5.12, 15 later, 0 for an arena. detour is the size of a detour, 0 for
// 256.
func Memory(slot, detour int) []kapi.Memory {
	list := []kapi.Memory{
		{What: kpev.SlotMem, Most: slotMost, Slot: slot, Mutex: "kprobe_insn_slots.mutex"},
		{What: kpev.DetourMem, Most: detourMost, Mutex: "kprobe_optinsn_slots.mutex"},
	}
	if slot > 0 {
		list[1].Slot = max(detour, 0)
		if detour <= 0 {
			list[1].Slot = detourMost
		}
	}
	for i := range list {
		m := &list[i]
		m.Alloc, m.Collect, m.Unmap = "alloc_insn_slot", "collect_garbage_slots", "collect_one_slot"
	}
	return list
}
