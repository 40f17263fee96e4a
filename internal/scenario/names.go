package scenario

import (
	"fmt"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// The words of the language for the enumerations of scenario.go, in the same
// order. If you add a constant there, add its word here.
var (
	NeedsWords   = []string{"nothing", "interrupt"}
	PreemptWords = []string{"none", "voluntary", "dynamic", "full", "lazy"}
	ModuleWords  = []string{"unload", "stay", "none"}
	FetchWords   = []string{"coherent", "stale", "mixing"}
	quiesceWords = []string{"none", "sched", "rcu", "tasks", "stack-check"}
	patchWords   = []string{"breakpoint", "stop_machine", "naive", "naive-tail-first"}
	StepWords    = []string{"count", "set_reg", "set_ip", "call", "nonzero", "store", "save", "restore", "sleep",
		"register", "unregister", "enable", "disable"}
	probeWords = []string{"kprobe", "kretprobe", "jprobe"}
	OpWords    = []string{"call", "schedule", "register", "unregister", "enable", "disable",
		"wait_optimized", "label_on", "label_off", "user", "expect", "optimization", "register_all", "unregister_all", "enabled", "hotplug", "spin", "release",
		"insmod", "rmmod", "tracer", "set_call", "smp_locks", "wait_signal", "signal"}
	sourceWords = []string{"timer", "nmi", "preempt"}
	RegWords    = target.Arch.RegNames
)

func (n Needs) String() string      { return nearest.Word(NeedsWords, uint8(n)) }
func (p Preempt) String() string    { return nearest.Word(PreemptWords, uint8(p)) }
func (f Fetch) String() string      { return nearest.Word(FetchWords, uint8(f)) }
func (l Loading) String() string    { return nearest.Word(ModuleWords, uint8(l)) }
func (q Quiesce) String() string    { return nearest.Word(quiesceWords, uint8(q)) }
func (p Patch) String() string      { return nearest.Word(patchWords, uint8(p)) }
func (e Edition) String() string    { return nearest.Word(EditionWords, uint8(e)) }
func (k StepKind) String() string   { return nearest.Word(StepWords, uint8(k)) }
func (k ProbeKind) String() string  { return nearest.Word(probeWords, uint8(k)) }
func (k OpKind) String() string     { return nearest.Word(OpWords, uint8(k)) }
func (k SourceKind) String() string { return nearest.Word(sourceWords, uint8(k)) }

func RegName(r arch.Reg) string { return nearest.Word(RegWords, uint8(r)) }

// SetFetch sets the model of instruction fetch by its name.
func (s *Scenario) SetFetch(name string) error {
	for i, w := range FetchWords {
		if w == name {
			s.Machine.Fetch = Fetch(i)
			return nil
		}
	}
	return fmt.Errorf("no fetch model is called %q; there are %s", name, strings.Join(FetchWords, ", "))
}
