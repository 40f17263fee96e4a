package act

import (
	"slices"

	"kpsim/engine"
	"kpsim/engine/bpf"
	"kpsim/engine/debugger"
	"kpsim/engine/fprobe"
	"kpsim/engine/ftrace"
	"kpsim/engine/livepatch"
	"kpsim/engine/uprobe"
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/byhand"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// A family is operations that belong together, in the order of the documentation.
type family uint8

const (
	calls family = iota
	probes
	others // that patch text: labels, static calls, lock prefixes, alternatives
	hands  // text patched by hand
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

	// do does op, which is operation i of the task t, on the task's CPU. It may block.
	do func(t Task, x *smp.Ctx, i int, op *scenario.Op)

	// boot is called when the rig is built, once for each operation of each task, for what the
	// kernel must know before a run: which tasks end a wait, for example. nil: nothing is needed.
	boot func(t Task, id kapi.TaskID, op *scenario.Op)
	sets *Setter // nil: it sets no key
}

var (
	rows = make(map[*scenario.Operation]*row)
	list []*scenario.Operation // in the order of All
)

// add adds a row after those of its family and of earlier families.
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

// Do does operation i of a task. It may block.
func Do(t Task, x *smp.Ctx, i int, op *scenario.Op) { rows[op.Kind].do(t, x, i, op) }

// Boot prepares an operation of the task id, before the machine runs.
func Boot(t Task, id kapi.TaskID, op *scenario.Op) {
	if r := rows[op.Kind]; r.boot != nil {
		r.boot(t, id, op)
	}
}

// Clients are the other patchers of text, besides the engine, and the other owners of breakpoints.
type Clients struct {
	Ftrace     *ftrace.Ftrace
	Observed   *Observed     // ftrace for its clients
	Tracer     ftrace.Client // of all sites, nil if there is no site
	Live       ftrace.Client // another client of all sites; it may change where calls continue
	Patches    *livepatch.Patches
	Debugger   *debugger.Debugger
	Uprobes    *uprobe.Uprobes
	Hand       *byhand.Hand
	Fprobe     map[string]*fprobe.Fprobe
	Bpf        map[string]*bpf.Prog
	Dispatcher map[string]*bpf.Dispatcher     // by its function
	Tail       map[string]*bpf.TailCall       // by its function
	Work       map[string]*kernel.DelayedWork // by the function that it calls
}

// A Task is the task that does an operation, and the machine as the rig has built it. The rig's
// program implements it: an operation that needs more of the machine adds a method here and there.
type Task interface {
	Kernel() *kernel.Kernel
	Engine() engine.Engine
	Clients() *Clients
	Func(name string) arch.Addr             // where a function begins
	Site(name string) arch.Addr             // where its site of ftrace is, 0 if it has none
	Insn(op *scenario.Op) arch.Addr         // the place of a ParamInsn
	Module(name string) *kernel.Module      // nil if there is none
	Patch(op *scenario.Op) []livepatch.Func // what a live patch patches
	Subject(op *scenario.Op) uint64         // the fprobe or the direct call that op is about, as in Attach

	Place(op *scenario.Op) arch.Addr                    // that of a ParamPlace
	Goto(op *scenario.Op) arch.Addr                     // that of a ParamGoto
	Section(name string) kapi.Section                   // a function
	Data(name string) (at arch.Addr, n int)             // a block of data
	Written(x *smp.Ctx, op *scenario.Op) (bytes []byte) // the bytes of a ParamWritten
	ExpectText(x *smp.Ctx, i int)                       // compares text
	Hits(x *smp.Ctx, i int)                             // compares how often a probe was hit
	WaitEnded(x *smp.Ctx)                               // sleeps until the other tasks have ended

	Call(x *smp.Ctx, i int)   // calls the function, and compares what it left
	Expect(x *smp.Ctx, i int) // compares memory
	SetLabel(x *smp.Ctx, name string, on bool)
	SetCall(x *smp.Ctx, name string, to arch.Addr)
	API(x *smp.Ctx, i int, verb uint64)    // calls the engine for a probe, or for several
	APIAll(x *smp.Ctx, i int, verb uint64) // calls it for an array

	ReadMissed(x *smp.Ctx, probe string) // reads its nmissed, and reports it

	// Answer records the errno that operation i has returned, and compares it with the expected one.
	Answer(x *smp.Ctx, i, errno int)

	// Unrefused reports whether the scenario expects an errno of op, and this is the twin, the run
	// without probes. There nothing would refuse op, so the operation skips it.
	Unrefused(op *scenario.Op) bool
}
