package scenario

import (
	"kpsim/internal/nearest"
	"kpsim/smp/fetch"
)

// The words of the language for the enumerations of scenario.go, in the same
// order. If you add a constant there, add its word here.
var (
	NeedsWords   = []string{"nothing", "interrupt"}
	PreemptWords = []string{"none", "voluntary", "dynamic", "full", "lazy"}
	ModuleWords  = []string{"unload", "stay", "none"}
	StepWords    = []string{"count", "set_reg", "set_ip", "call", "nonzero", "store", "save", "restore", "sleep",
		"register", "unregister", "enable", "disable"}
	probeWords = []string{"kprobe", "kretprobe", "jprobe"}
	OpWords    = []string{"call", "schedule", "register", "unregister", "enable", "disable",
		"wait_optimized", "label_on", "label_off", "user", "expect", "optimization", "register_all", "unregister_all", "enabled", "hotplug", "spin", "release",
		"insmod", "rmmod", "tracer", "set_call", "smp_locks", "wait_signal", "signal", "livepatch",
		"queue_work", "flush_work", "patch_func", "unpatch_func", "register_direct", "modify_direct", "unregister_direct", "offline", "online",
		"set_breakpoint", "clear_breakpoint",
		"register_fprobe", "unregister_fprobe", "apply_alternatives",
		"hit_uprobe"}
	sourceWords = []string{"timer", "nmi", "preempt"}
)

func (n Needs) String() string      { return nearest.Word(NeedsWords, uint8(n)) }
func (p Preempt) String() string    { return nearest.Word(PreemptWords, uint8(p)) }
func (l Loading) String() string    { return nearest.Word(ModuleWords, uint8(l)) }
func (k StepKind) String() string   { return nearest.Word(StepWords, uint8(k)) }
func (k ProbeKind) String() string  { return nearest.Word(probeWords, uint8(k)) }
func (k OpKind) String() string     { return nearest.Word(OpWords, uint8(k)) }
func (k SourceKind) String() string { return nearest.Word(sourceWords, uint8(k)) }

// SetFetch sets the model of instruction fetch by its name.
func (s *Scenario) SetFetch(name string) error {
	m, err := fetch.Parse(name)
	if err == nil {
		s.Machine.Fetch = m
	}
	return err
}
