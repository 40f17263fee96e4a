package mutants

import (
	"kpsim/engine/fprobe"
	"kpsim/engine/ftrace"
	"kpsim/engine/livepatch"
	"kpsim/engine/uprobe"
	"kpsim/kprobes"
	"kpsim/kprobes/rules"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// Wiring is what a mutant may change before the engine is built for a run.
type Wiring struct {
	Kernel  *kernel.Kernel
	Ftrace  *ftrace.Ftrace
	Klp     *livepatch.Patches
	Fprobes *fprobe.Probes
	Deps    *kprobes.Deps // the engine's; jump labels use Patch, too
	Engine  *kprobes.Settings

	Uprobes *uprobe.Uprobes

	Edition rules.Edition // the scenario's, if it has one: for AsShipped
}

// A Mutant is one fault put in on purpose.
type Mutant struct {
	Name string
	Says string
	// the fault of history that it brings back: its number in our collection (R, K, M), the kernel's
	// function, the releases, or the rule of the specification that it breaks
	Source   string
	Scenario string   // shows it
	Property string   // and which property must notice
	Also     []string // properties that may notice first, since the step serves them too
	Apply    func(w *Wiring)

	NeedsJump bool // it shows only if a breakpoint becomes a jump

	Barrier kapi.Barrier // for Barriers: the order that it removes; otherwise kapi.Once

	// Equivalent says why no property can notice; Property then names the one that would. It is nil for all but a
	// few.
	Equivalent *Equivalent
	_          struct{}
}

// Equivalent is why a mutant changes nothing that can be seen in its scenario.
type Equivalent struct {
	Proof       string // in words
	Certificate bool   // every schedule of the scenario can be run, too (verify --full), and shows nothing
}

// MostEquivalent is how many mutants may be marked equivalent.
const MostEquivalent = 5

// NeedsJump reports whether a mutant shows only if a breakpoint becomes a jump: it breaks the optimizer, a detour, or
// the removal of a jump. Mutants that change which probes are optimized aren't among them.
func NeedsJump(name string) bool {
	m, ok := find(name)
	return ok && m.NeedsJump
}

// ByName returns the mutant of that name, AsShipped and Barriers included.
func ByName(name string) (*Mutant, bool) {
	if name == AsShipped {
		return &Mutant{Name: name, Says: "the faults that the kernels of the scenario's edition had",
			Apply: applyShipped}, true
	}
	if m, ok := find(name); ok {
		return m, true
	}
	return barrier(name)
}

func find(name string) (*Mutant, bool) {
	for i := range All {
		if All[i].Name == name {
			return &All[i], true
		}
	}
	return nil, false
}

// Names returns the names of the mutants of All.
func Names() []string {
	var names []string
	for i := range All {
		names = append(names, All[i].Name)
	}
	return names
}
