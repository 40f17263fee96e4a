package scenario

import (
	"encoding/binary"
	"slices"

	"kpsim/engine"
	"kpsim/kprobes/kpev"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Step is one step of a handler.
type Step struct {
	Kind   *StepKind
	Reg    arch.Reg
	Value  uint64
	Target string // the function, data or probe
	Off    int    // StepStore: from the start of the data
}

// A StepKind is a row: all that is known about one step that handlers may have. Language, printer,
// checks, docs/scenarios.md and the running code are made from it. Steps are of one kind if their pointers are equal.
type StepKind struct {
	Word   string      // its name in the language
	Params []StepParam // the parameters between its brackets, in order
	Says   string      // its paragraph in docs/scenarios.md; "": that of the operation with the same name
	Kernel []string    // the kernel's names for it
	Traits StepTraits
	Lacks  func(k *Probe) string // what a probe lacks that this step needs, and the remedy, or ""; nil: nothing
	// Setting is the setting of an edition that provides it; "": each edition has it.
	Setting string
	Of      func(r *engine.Row) bool // whether an engine provides it; nil: each does

	// do does the step, and reports whether the handler returns 1. nil: it does nothing more than
	// the event Handler says, which each handler emits.
	do func(r HandlerRun, x kapi.Context, st *Step) bool
}

// String returns the kind's name.
func (k *StepKind) String() string {
	if k == nil {
		return "no step"
	}
	return k.Word
}

// A StepParam is a parameter of a step.
type StepParam struct {
	Name string
	Kind StepParamKind
}

// A StepParamKind says which values the language accepts, and which field of Step holds it.
type StepParamKind uint8

// The constants are the kinds of parameter of steps, each with its field.
const (
	StepReg     StepParamKind = iota // Reg
	StepNumber                       // Value
	StepAddress                      // Target and Value: a place in a function, or Value alone
	StepFunc                         // Target
	StepData                         // Target and Off: a place in data
	StepProbe                        // Target
)

// StepTraits say how a step behaves, for checks, generator and the packages that run scenarios.
type StepTraits uint8

// The constants are the traits of steps.
const (
	StepMoves    StepTraits = 1 << iota // it changes the instruction pointer
	StepReturns1                        // the handler returns 1
	StepRuns                            // it runs a function of the scenario
	StepWrites                          // it writes data of the scenario
	StepRefused                         // a kernel forbids it in handlers: it breaks a property
	StepAPI                             // it calls the probes' API
	StepReads                           // it reads what the engine holds
)

// HandlerRun is the context of a running handler: the scenario as the rig has built it, and the
// hit.
type HandlerRun struct {
	Built
	engine.Hit
}

// Built is a scenario as the rig has built it.
type Built interface {
	Arch() *arch.Arch
	Func(name string) arch.Addr          // the address of a function
	Data(name string, cpu int) arch.Addr // the address of data; for per-CPU data, of that CPU's copy
	Call(x kapi.Context, verb uint64, probe string)
	ReadMissed(x kapi.Context, probe string)
	ReadContext(x kapi.Context, h engine.Hit) // what the handler finds of its CPU
}

// Do does a step, and reports whether the handler returns 1 because of it. Steps with StepRefused
// may block; a handler that does so breaks a property.
func (st *Step) Do(r HandlerRun, x kapi.Context) bool {
	return st.Kind.do != nil && st.Kind.do(r, x, st)
}

// Steps are all rows, in the order of the page.
var Steps = []*StepKind{
	StepCount, StepSetReg, StepSetIP, StepCall, StepNonzero, StepStore, StepSave, StepRestore, StepSleep,
	StepRegister, StepUnregister, StepEnable, StepDisable, StepReadMissed, StepReadContext,
}

// StepWords returns the names of all steps.
func StepWords() []string { return names(Steps, func(k **StepKind) string { return (*k).Word }) }

// The variables are the steps.
var (
	StepCount = &StepKind{Word: "count", Says: "count a hit"}

	StepSetReg = &StepKind{
		Word:   "set_reg",
		Params: []StepParam{{"reg", StepReg}, {"value", StepNumber}},
		Says:   "write `value` to the saved register `reg`, `\"rax\"` to `\"r15\"`",
		Kernel: []string{"regs_set_return_value", "regs_set_register"},
		do: func(r HandlerRun, _ kapi.Context, st *Step) bool {
			r.Regs.R[st.Reg] = uint64(r.Arch().Addr(arch.Addr(st.Value)))
			return false
		},
	}

	StepSetIP = &StepKind{
		Word:   "set_ip",
		Params: []StepParam{{"address", StepAddress}},
		Says:   "continue at `address`, a place in a function or a number",
		Kernel: []string{"instruction_pointer_set", "regs_set_return_ip"},
		Traits: StepMoves | StepReturns1,
		do: func(r HandlerRun, _ kapi.Context, st *Step) bool {
			r.Regs.IP = r.Func(st.Target) + arch.Addr(st.Value)
			return true
		},
	}

	StepCall = &StepKind{
		Word:   "call",
		Params: []StepParam{{"f", StepFunc}},
		Traits: StepRuns,
		do: func(r HandlerRun, x kapi.Context, st *Step) bool {
			x.Call(r.Func(st.Target))
			return false
		},
	}

	StepNonzero = &StepKind{
		Word: "nonzero",
		Says: "the handler returns 1. From an `entry`: this call isn't followed; from a `fault`: the fault is " +
			"handled",
		Traits: StepReturns1,
		do:     func(HandlerRun, kapi.Context, *Step) bool { return true },
	}

	StepStore = &StepKind{
		Word:   "store",
		Params: []StepParam{{"d", StepData}, {"value", StepNumber}},
		Says:   "write the eight bytes of `value` to `d`, a place in data",
		Traits: StepWrites,
		do: func(r HandlerRun, x kapi.Context, st *Step) bool {
			x.Memory().Store(r.Data(st.Target, x.CPU())+arch.Addr(st.Off), privateWord, st.Value)
			return false
		},
	}

	StepSave = &StepKind{
		Word:   "save",
		Params: []StepParam{{"reg", StepReg}},
		Says: "for a return probe with `data_size` of at least 8: store the saved register `reg` in the private " +
			"data of the call",
		Lacks: hasPrivate,
		do: func(r HandlerRun, _ kapi.Context, st *Step) bool {
			binary.LittleEndian.PutUint64(r.Private, r.Regs.R[st.Reg])
			return false
		},
	}

	StepRestore = &StepKind{
		Word:   "restore",
		Params: []StepParam{{"reg", StepReg}},
		Says:   "for a return probe as for `save`: read `reg` from the private data",
		Lacks:  hasPrivate,
		do: func(r HandlerRun, _ kapi.Context, st *Step) bool {
			r.Regs.R[st.Reg] = binary.LittleEndian.Uint64(r.Private)
			return false
		},
	}

	StepSleep = &StepKind{
		Word: "sleep",
		Says: "give up the CPU, which no handler may do. `register(k)`, `unregister(k)`, `enable(k)` and " +
			"`disable(k)` do so, too",
		Kernel: []string{"msleep", "might_sleep", "usleep_range"},
		Traits: StepRefused,
		do: func(_ HandlerRun, x kapi.Context, _ *Step) bool {
			c := x.(*smp.Ctx)
			if c.MightSleep(); !c.Atomic() {
				x.Sleep(kapi.Yield)
			}
			return false
		},
	}

	StepReadMissed = &StepKind{Word: "read_missed", Params: []StepParam{{"k", StepProbe}},
		Traits: StepReads,
		Of:     func(r *engine.Row) bool { return r.Reads },
		do: func(r HandlerRun, x kapi.Context, st *Step) bool {
			r.ReadMissed(x, st.Target)
			return false
		},
	}

	StepReadContext = &StepKind{Word: "read_context",
		Says: "read the preemption count and the interrupt flag, which must be as when the handler began, also after " +
			"a `call` that hits other probes",
		Kernel: []string{"preempt_count", "in_atomic", "irqs_disabled"},
		do: func(r HandlerRun, x kapi.Context, _ *Step) bool {
			r.ReadContext(x, r.Hit)
			return false
		},
	}

	StepRegister   = callsAPI("register", kpev.Register, "")
	StepUnregister = callsAPI("unregister", kpev.Unregister, "")
	StepEnable     = callsAPI("enable", kpev.Enable, "batches")
	StepDisable    = callsAPI("disable", kpev.Disable, "batches")
)

// callsAPI returns a step that no handler may do. It breaks a property: the first lock it takes is
// reported.
func callsAPI(word string, verb uint64, setting string) *StepKind {
	return &StepKind{Word: word, Params: []StepParam{{"k", StepProbe}}, Traits: StepRefused | StepAPI, Setting: setting,
		do: func(r HandlerRun, x kapi.Context, st *Step) bool {
			r.Call(x, verb, st.Target)
			return false
		}}
}

const privateWord = 8 // bytes of a register in a call's private data, and of a store

func hasPrivate(k *Probe) string {
	if k.Kind == ProbeKretprobe && k.DataSize >= privateWord {
		return ""
	}
	return "needs eight bytes of private data; give a kretprobe data_size = 8"
}

// AnyStep reports whether some handler of a probe has a step with one of these traits.
func (k *Probe) AnyStep(is StepTraits) bool {
	for _, steps := range k.Handlers() {
		if AnyStep(*steps, is) {
			return true
		}
	}
	return false
}

// AnyStep reports whether one of some steps has one of these traits.
func AnyStep(steps []Step, is StepTraits) bool {
	return slices.ContainsFunc(steps, func(st Step) bool { return st.Kind.Traits&is != 0 })
}

// Has reports whether a step has a parameter of a kind.
func (k *StepKind) Has(kind StepParamKind) bool {
	return slices.ContainsFunc(k.Params, func(p StepParam) bool { return p.Kind == kind })
}
