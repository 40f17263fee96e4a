package harness

import (
	"reflect"

	"kpsim/kprobes"
	"kpsim/properties"
	"kpsim/smp"
	"kpsim/smp/isa"
	"kpsim/smp/kernel"
)

// atBoot is why what is set once and for all needn't count.
const atBoot = "doesn't change in a run"

// stateRules are the fields that don't count in a state, or not as their types
// say, by "package.Type.field". All others do. A field that is left out wrongly
// makes states equal that aren't, which the runs that go on from both of two
// equal states show (mergeCheck).
var stateRules = map[string]rule{
	"kernel.Kernel.M":         skip("smp.Machine.AddState has it"),
	"kernel.Symbols.k":        skip(atBoot),
	"kernel.Symbols.funcs":    skip(atBoot),
	"kernel.Symbols.named":    skip(atBoot),
	"kernel.Symbols.extable":  skip(atBoot),
	"kernel.Symbols.sites":    skip(atBoot),
	"kernel.Symbols.widest":   skip(atBoot),
	"kernel.Symbols.banned":   skip(atBoot),
	"kernel.Symbols.ranges":   skip(atBoot),
	"kernel.Symbols.sorted":   skip(atBoot),
	"kernel.Kernel.cfg":       skip(atBoot),
	"kernel.Kernel.gates":     skip(atBoot),
	"kernel.Kernel.onTimer":   skip(atBoot),
	"kernel.Kernel.onNMI":     skip(atBoot),
	"kernel.Kernel.plain":     skip(atBoot),
	"kernel.RCU.boot":         skip(atBoot),
	"kernel.RCU.spare":        as(aList, "begin fills in all of a spare one"),
	"kernel.grace.ended":      skip(atBoot),
	"kernel.grace.head":       as(anAddress, "what it points to is the engine's, and found there"),
	"kernel.Tasks.onExit":     skip(atBoot),
	"kernel.Tasks.onUnwind":   skip(atBoot),
	"kernel.Locks.names":      skip(atBoot),
	"kernel.Mutex.free":       skip(atBoot),
	"kernel.Spinlock.free":    skip(atBoot),
	"kernel.Hotplug.unread":   skip(atBoot),
	"kernel.Hotplug.open":     skip(atBoot),
	"kernel.Pager.waits":      skip("a task's own: what its routine sets it to follows from what that has read"),
	"kernel.Latch.is":         skip(atBoot),
	"kernel.Stacks.again":     skip(atBoot),
	"kernel.DelayedWork.f":    skip(atBoot),
	"kernel.DelayedWork.idle": skip(atBoot),
	"kernel.TextPoke.idle":    skip(atBoot),
	"kernel.Stop.Sync":        skip(atBoot),
	"kernel.Text.Sync":        skip(atBoot),
	"kernel.TextPoke.Sync":    skip(atBoot),
	"kernel.TextPoke.Mutants": skip(atBoot),
	"kernel.Stop.f":           skip("follows from what its caller has read, who waits until it is done"),
	"kernel.Stop.reached":     skip(atBoot),
	"kernel.Sync.waits":       skip("a task's own: what its routine sets it to follows from what that has read"),
	"kernel.Traps.chain":      skip(atBoot),
	"kernel.Traps.debugs":     skip(atBoot),
	"kernel.Traps.faults":     skip(atBoot),
	"kernel.Traps.PageIn":     skip(atBoot),
	"kernel.Traps.Unhandled":  skip(atBoot),

	"kprobes.Engine.d":           skip(atBoot),
	"kprobes.Engine.s":           skip(atBoot),
	"kprobes.Engine.code":        skip("the routine that has recovered it has read the text"),
	"kprobes.Engine.mutex":       skip(atBoot),
	"kprobes.Engine.work":        skip(atBoot),
	"kprobes.Engine.sysctl":      skip(atBoot),
	"kprobes.memory.looked":      skip("a copy of text and what follows from it, made anew if the text is another"),
	"kprobes.memory.pointPlaces": skip("those in use are among points"),
	"kprobes.memory.chainPlaces": skip("those in use are their points'"),
	"kprobes.memory.spans":       skip("made anew for each look"),
	"kprobes.memory.onWork":      skip(atBoot),
	"kprobes.memory.onCall":      skip(atBoot),
	"kprobes.memory.onBreak":     skip(atBoot),
	"kprobes.memory.onDebug":     skip(atBoot),
	"kprobes.memory.onFault":     skip(atBoot),
	"kprobes.Kprobe.Pre":         skip(atBoot),
	"kprobes.Kprobe.Post":        skip(atBoot),
	"kprobes.Kprobe.Fault":       skip(atBoot),
	"kprobes.busy.status":        during("current", "says nothing while no probe is hit"),
	"kprobes.busy.old":           during("current", "says nothing while no probe is hit"),
	"kprobes.busy.saved":         during("current", "says nothing while no probe is hit"),
	"kprobes.busy.copy":          during("current", "says nothing while no probe is hit"),
	"kprobes.kcb.regs":           during("busy", "says nothing while no probe is hit"),

	"properties.Scene.claimed":        skip("of the event under way"),
	"properties.Scene.popped":         skip("of the event under way"),
	"properties.Scene.called":         skip("of the event under way"),
	"properties.text.lately":          skip("where blocks were found: a memory of what can be found out"),
	"properties.text.loads":           skip(atBoot),
	"properties.text.linked":          skip(atBoot),
	"properties.text.built":           skip(atBoot),
	"properties.text.blocks":          as(aSet, "they are looked up by their base"),
	"properties.block.which":          skip(atBoot),
	"properties.block.linked":         skip(atBoot),
	"properties.block.orig":           skip(atBoot),
	"properties.block.start":          skip(atBoot),
	"properties.frame.seq":            ordinal("vector", "compared only, and of a breakpoint's frame only"),
	"properties.frames.tasks":         as(aTrimmed, "made when they are asked for"),
	"properties.accounted.flip":       as(aMark, "the ordinals of frames are compared with it"),
	"properties.accounted.tasks":      as(aTrimmed, "made when they are asked for"),
	"properties.tally.hits":           as(aTrimmed, "made when they are asked for"),
	"properties.tally.need":           as(aTrimmed, "made when they are asked for"),
	"properties.tally.got":            as(aTrimmed, "made when they are asked for"),
	"properties.noStartInside.stored": skip("says of a finding how likely it is"),
	"properties.noStartInside.kept":   skip("says of a finding how likely it is"),
	"properties.transparent.at":       skip("where to look first"),
	"properties.rightResult.next":     skip("where to look first"),
	"properties.rightResult.wants":    skip(atBoot),
}

// elsewhere are types that a pointer to is an address and nothing more: they
// don't change, or count where they lie.
var elsewhere = []reflect.Type{
	reflect.TypeFor[smp.Machine](), reflect.TypeFor[smp.Task](), reflect.TypeFor[smp.Source](), reflect.TypeFor[smp.Ctx](),
	reflect.TypeFor[kernel.Kernel](), reflect.TypeFor[kernel.Sync](), reflect.TypeFor[isa.Inst](), reflect.TypeFor[properties.Scene](),
	reflect.TypeFor[kprobes.Kprobe](), // the rig's own, each a root
}
