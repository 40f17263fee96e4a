package act

import (
	"slices"

	"kpsim/engine"
	"kpsim/engine/debugger"
	"kpsim/engine/fprobe"
	"kpsim/engine/ftrace"
	"kpsim/engine/livepatch"
	"kpsim/engine/uprobe"
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// A family is operations that belong together, in the order of the documentation.
type family uint8

const (
	calls family = iota
	probes
	others // that patch text: labels, static calls, lock prefixes, alternatives
	modules
	sites // of ftrace
	debuggers
	users
	cpus
	waits
)

// A row is an operation and what it does.
type row struct {
	*scenario.Operation
	family family

	// do does operation i of the task, op. It may block, as what it calls may.
	do func(t Task, x *smp.Ctx, i int, op *scenario.Op)

	// boot is called once for each task's operation before the machine runs; nil: there is
	// nothing to be done.
	boot func(t Task, id kapi.TaskID)
}

var (
	rows = make(map[*scenario.Operation]*row)
	list []*scenario.Operation // in the order of All
)

// add adds a row behind those of its family and of the families before.
func add(r row) *scenario.Operation {
	at := 0
	for at < len(list) && rows[list[at]].family <= r.family {
		at++
	}
	rows[r.Operation], list = &r, slices.Insert(list, at, r.Operation)
	return r.Operation
}

// All returns the operations in the order of the documentation: by family, and in a family as
// its file has them.
func All() []*scenario.Operation { return slices.Clone(list) }

// Named returns the operation of that name, nil if there is none.
func Named(word string) *scenario.Operation {
	for _, k := range list {
		if k.Word == word {
			return k
		}
	}
	return nil
}

// Words are their names.
func Words() (words []string) {
	for _, k := range list {
		words = append(words, k.Word)
	}
	return words
}

// Do does operation i of a task. It may block.
func Do(t Task, x *smp.Ctx, i int, op *scenario.Op) { rows[op.Kind].do(t, x, i, op) }

// Boot prepares an operation of the task whose number is id.
func Boot(t Task, id kapi.TaskID, op *scenario.Op) {
	if r := rows[op.Kind]; r.boot != nil {
		r.boot(t, id)
	}
}

// Clients are what patches text beside the engine, or takes its breakpoints.
type Clients struct {
	Ftrace   *ftrace.Ftrace
	Tracer   ftrace.Client // of all sites, nil if there is no site
	Live     ftrace.Client // likewise, which may change where they go on
	Patches  *livepatch.Patches
	Debugger *debugger.Debugger
	Uprobes  *uprobe.Uprobes
	Fprobe   map[string]*fprobe.Fprobe
	Work     map[string]*kernel.DelayedWork // by the function that it calls
}

// A Task is what an operation is done on: the task, and the machine as the rig has built it.
type Task interface {
	Kernel() *kernel.Kernel
	Engine() engine.Engine
	Clients() *Clients
	Func(name string) arch.Addr             // where a function begins
	Site(name string) arch.Addr             // where its site of ftrace is, 0 if it has none
	Insn(op *scenario.Op) arch.Addr         // the place of a ParamInsn
	Module(name string) *kernel.Module      // nil if there is none
	Patch(op *scenario.Op) []livepatch.Func // what a live patch patches

	Call(x *smp.Ctx, i int)   // calls the function, and compares what it left
	Expect(x *smp.Ctx, i int) // compares memory
	SetLabel(x *smp.Ctx, name string, on bool)
	SetCall(x *smp.Ctx, name string, to arch.Addr)
	API(x *smp.Ctx, i int, verb uint64)    // calls the engine for a probe, or for several
	APIAll(x *smp.Ctx, i int, verb uint64) // calls it for an array

	// Answer takes the errno that the operation has answered.
	Answer(x *smp.Ctx, i, errno int)

	// Unrefused reports whether this is a run without probes, and the operation is to be
	// refused: then it isn't done, since nothing is in its way.
	Unrefused(op *scenario.Op) bool
}
