package kprobes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	processors "kpsim/smp/arch/target"
	"kpsim/smp/kernel"
)

// A specRule is a rule of the specification and what holds it: run in each
// edition that has the rule, and once more with each mutant, which must make it
// fail there.
type specRule struct {
	rule    string          // its number
	says    string          // what is looked at, in a few words
	in      []rules.Edition // nil: all
	mutants []specMutant
	none    string // why there is no mutant
	holds   func(t *specT)

	needs processors.Service // it is of processors whose kernels have that
	x86   string             // why it is of x86 alone; "": it isn't
}

// Where mutants change something: the probe on the trampoline is x86-64's, where breakpoints leave ip behind them x86;
// stop_machine, with which riscv64 and arm64 write probes, leaves no races.
var (
	onX8664   = []processors.Processor{processors.X8664}
	onX86     = []processors.Processor{processors.X8664, processors.I386}
	onParcels = append(onX86[:2:2], processors.RISCV64)
	unstopped = append(onX86[:2:2], processors.PPC64LE)
)

// withJumps is what rules about jump optimization need.
const withJumps = processors.Jumps

// withFtrace is what rules about probes at sites of ftrace need.
const withFtrace = processors.FtraceProbes

// Why rules are of x86 alone.
const (
	ofStrings  = "no instruction repeats itself elsewhere"
	ofStacks   = "the simulator unwinds by words of the stack; elsewhere a leaf's caller is in a register"
	ofPushes   = "the code pushes an address and returns to it"
	ofIBT      = "endbr64"
	ofRegions  = "elsewhere a region is one instruction: nothing else is in it"
	ofModules  = "scenarios have modules on x86 alone"
	ofBoosting = "nothing is boosted elsewhere"
	ofCosts    = "the ways of a hit are counted; docs/processors.md has those of the others"
	ofNMIs     = "an NMI comes while a copy is stepped"
)

// of reports whether a rule is of a processor.
func (r *specRule) of(p processors.Processor) bool {
	return p <= processors.I386 || r.x86 == "" && p.Serves(r.needs)
}

// A specMutant breaks a rule: it is a mutant of kprobes/mutants, settings, or what
// the kernel beside the engine is.
type specMutant struct {
	name string
	row  string // of kprobes/mutants; "": none
	do   func(s *Settings)
	wire func(k *kernel.Kernel, d *Deps)
	in   []rules.Edition        // where it can be seen; nil: wherever the rule is
	on   []processors.Processor // where it changes something; nil: wherever the rule is
}

// spec is all of them.
var spec = [][]specRule{
	spec1,
	specStep,
	specBoost,
	spec2,
	spec3,
	spec4,
	spec5,
	spec6,
	spec7,
	spec8,
	specFtrace,
	specCover, specLocked, specGone, spec26, specBug, specHand, specHandRet,
}

// A specT is what a rule is run with: a testing.TB that the failure of a rule
// doesn't end, so that a mutant can be seen to make it fail.
type specT struct {
	testing.TB
	Edition    rules.Edition
	Preemption bool
	Settings   Settings // those of the edition and of the mutant
	wire       func(k *kernel.Kernel, d *Deps)
	row        string // of kprobes/mutants
	broken     string
}

// specFailed is what a rule that fails ends with.
type specFailed struct{}

func (t *specT) Errorf(format string, args ...any) { t.broken += fmt.Sprintf(format, args...) }
func (t *specT) FailNow()                          { panic(specFailed{}) }
func (t *specT) Failed() bool                      { return t.broken != "" }

// Fatalf is Errorf and FailNow.
func (t *specT) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	t.FailNow()
}

// bench is newBench with the settings of t, which a rule may have changed.
func (t *specT) bench(codes []code, programs ...func(b *bench, x *smp.Ctx)) *bench {
	return t.boot(codes, func(*bench) {}, programs...)
}

// boot is bootBench with the settings of t.
func (t *specT) boot(codes []code, boot func(b *bench), programs ...func(b *bench, x *smp.Ctx)) *bench {
	b := bootBench(t, t.Settings, codes, boot, programs...)
	b.wire = t.wire
	return b
}

// run runs one program in the default schedule.
func (t *specT) run(codes []code, program func(b *bench, x *smp.Ctx)) {
	t.Helper()
	t.pass(t.bench(codes, program))
}

// pass runs the programs of a bench in the default schedule; its end is part of
// the rule.
func (t *specT) pass(b *bench) {
	t.Helper()
	require.Equal(t, smp.Passed, b.run(new(sched.Default)), "%v %v", b.m.Refusal(), b.log.Found)
	b.kept(t)
}

// try runs a rule, and says how it fails, "" if it holds. A machine or an engine
// that a mutant makes panic has noticed it, too.
func (r *specRule) try(tb testing.TB, ed rules.Edition, m *specMutant) (broken string) {
	full := ed != rules.EditionDocumented // of which there is no other
	t := &specT{TB: tb, Edition: ed, Preemption: full, Settings: settingsOf(ed, full)}
	if m != nil {
		if t.wire, t.row = m.wire, m.row; m.do != nil {
			m.do(&t.Settings)
		}
	}
	defer func() {
		switch p := recover(); {
		case p == nil:
		case p == any(specFailed{}):
			broken = t.broken
		case m == nil && specArch <= processors.I386:
			panic(p)
		default:
			broken = fmt.Sprint(p)
		}
	}()
	r.holds(t)
	return t.broken
}

// editions are those that have the rule, of a processor. Of riscv64, arm64 and ppc64le the newest edition is tested.
func (r *specRule) editions(p processors.Processor) []rules.Edition {
	switch {
	case !r.of(p):
		return nil
	case r.in == nil && p <= processors.I386:
		return every
	case p > processors.I386 && r.in != nil && !slices.Contains(r.in, rules.Edition69):
		return nil
	case p > processors.I386:
		return []rules.Edition{rules.Edition69}
	}
	return r.in
}

// editions are those in which a mutant makes the test of its rule fail, of a processor.
func (m *specMutant) editions(r *specRule, p processors.Processor) []rules.Edition {
	if m.on != nil && !slices.Contains(m.on, p) {
		return nil
	}
	in := r.editions(p)
	if m.in != nil {
		in = slices.DeleteFunc(slices.Clone(in), func(ed rules.Edition) bool { return !slices.Contains(m.in, ed) })
	}
	return in
}

var every = rules.AllEditions()

// since are the editions from one on.
func since(e rules.Edition) []rules.Edition { return every[e-rules.Edition26:] }

func TestSpec(t *testing.T) {
	for _, part := range spec {
		for i := range part {
			r := &part[i]
			for _, ed := range r.editions(specArch) {
				t.Run(fmt.Sprintf("%s/%s/%v", r.rule, r.says, ed), func(t *testing.T) {
					if broken := r.try(t, ed, nil); broken != "" {
						t.Error(broken)
					}
				})
			}
		}
	}
}

// TestSpecMutants: each rule's test can fail.
func TestSpecMutants(t *testing.T) {
	for _, part := range spec {
		for i := range part {
			r := &part[i]
			require.True(t, len(r.mutants) > 0 || r.none != "", "%s, %s: no mutant, and no reason", r.rule, r.says)
			for j := range r.mutants {
				m := &r.mutants[j]
				for _, ed := range m.editions(r, specArch) {
					t.Run(fmt.Sprintf("%s/%s/%v/%s", r.rule, r.says, ed, m.name), func(t *testing.T) {
						if r.try(t, ed, m) == "" {
							t.Errorf("the mutant %s doesn't break it", m.name)
						}
					})
				}
			}
		}
	}
}
