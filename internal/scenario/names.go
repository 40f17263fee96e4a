package scenario

import (
	"fmt"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// The words of the language for the enumerations of scenario.go, in the same
// order. If you add a constant there, add its word here.
var (
	needsWords   = []string{"nothing", "interrupt"}
	preemptWords = []string{"none", "voluntary", "dynamic", "full", "lazy"}
	moduleWords  = []string{"unload", "stay", "none"}
	fetchWords   = []string{"coherent", "stale", "mixing"}
	quiesceWords = []string{"none", "sched", "rcu", "tasks", "stack-check"}
	patchWords   = []string{"breakpoint", "stop_machine", "naive", "naive-tail-first"}
	stepWords    = []string{"count", "set_reg", "set_ip", "call", "nonzero", "store", "save", "restore", "sleep",
		"register", "unregister", "enable", "disable"}
	probeWords = []string{"kprobe", "kretprobe", "jprobe"}
	opWords    = []string{"call", "schedule", "register", "unregister", "enable", "disable",
		"wait_optimized", "label_on", "label_off", "user", "expect", "optimization", "register_all", "unregister_all", "enabled", "hotplug", "spin", "release",
		"insmod", "rmmod", "tracer", "set_call", "smp_locks", "wait_signal", "signal"}
	sourceWords = []string{"timer", "nmi", "preempt"}
	regWords    = []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}
)

func (n Needs) String() string      { return word(needsWords, uint8(n)) }
func (p Preempt) String() string    { return word(preemptWords, uint8(p)) }
func (f Fetch) String() string      { return word(fetchWords, uint8(f)) }
func (l Loading) String() string    { return word(moduleWords, uint8(l)) }
func (q Quiesce) String() string    { return word(quiesceWords, uint8(q)) }
func (p Patch) String() string      { return word(patchWords, uint8(p)) }
func (e Edition) String() string    { return word(editionWords, uint8(e)) }
func (k StepKind) String() string   { return word(stepWords, uint8(k)) }
func (k ProbeKind) String() string  { return word(probeWords, uint8(k)) }
func (k OpKind) String() string     { return word(opWords, uint8(k)) }
func (k SourceKind) String() string { return word(sourceWords, uint8(k)) }

func word(words []string, n uint8) string {
	if int(n) >= len(words) {
		return fmt.Sprintf("%d?", n)
	}
	return words[n]
}

// lookup finds the value that a word stands for.
func lookup[T ~uint8](what, got string, words []string) (T, error) {
	for i, w := range words {
		if w == got {
			return T(i), nil
		}
	}
	return 0, fmt.Errorf("%s = %q isn't known; it is one of %s", what, got, quoted(words))
}

func regName(r arch.Reg) string { return word(regWords, uint8(r)) }

// quoted lists words as the language writes them.
func quoted(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", w)
	}
	return b.String()
}

// near ends a message about a name that isn't there with the names that are
// like it, or else with what there is.
func near(name string, names []string) string {
	const most = 5
	switch hint := image.DidYouMean(name, names); {
	case hint != "":
		return hint
	case len(names) == 0:
		return "there is none"
	case len(names) > most:
		return fmt.Sprintf("there are %s and %d more", quoted(names[:most]), len(names)-most)
	}
	return "there is " + quoted(names)
}

// SetFetch sets the model of instruction fetch by its name.
func (s *Scenario) SetFetch(name string) error {
	for i, w := range fetchWords {
		if w == name {
			s.Machine.Fetch = Fetch(i)
			return nil
		}
	}
	return fmt.Errorf("no fetch model is called %q; there are %s", name, strings.Join(fetchWords, ", "))
}
