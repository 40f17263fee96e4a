package overhead

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/cycles"
)

// A Probe is a way to probe a function, by the name that the documents' tables have
// for it.
type Probe struct {
	Name    string // k, b, o, r, rb, ro, kr, j, jr
	Says    string // the full name, as in the documents
	Machine string // the engine settings of machine()
	probes  string // the registrations, in their order
	ops     string
}

// The settings of machine(): the edition before boosting, and the one with detours, by how many of its features are
// used.
const (
	old     = `edition = "2.6"`
	stepped = `edition = "4.15", boost = "never", optprobes = False, ftrace = False`
	boosted = `edition = "4.15", optprobes = False, ftrace = False`
	detours = `edition = "4.15", ftrace = False`
)

// on32 are the additional settings for i386: with the first, as in the kernel of the 2005 figures, a probe is the
// trampoline of return probes, and nothing boosts.
const (
	on32  = `, arch = "i386"`
	old32 = on32 + `, boost = "never", old_trampoline = True`
)

const (
	aKprobe    = "k = kprobe(\"k\", at = f)\n"
	aKretprobe = "r = kretprobe(\"r\", at = f)\n"
	aJprobe    = "e = stub(\"e\", calls = \"jprobe_return\")\nj = jprobe(\"j\", at = f, entry = e)\n"
)

// onPower are those for ppc64: little-endian, where POWER5's kernel wasn't. Its jprobe's entry, which calls
// jprobe_return, is b.
const (
	onPower     = `, arch = "ppc64le"`
	jprobePower = "e = text(\"e\", at = 0xffffffff81000080, hex = \"49400180\")\nj = jprobe(\"j\", at = f, entry = e)\n"
)

// ProbesOn are Probes with the engine of an architecture: i386 and ppc64 have their own, all others use x86_64's.
func ProbesOn(arch string, detour bool) []Probe {
	list := Probes(detour)
	for i := range list {
		p := &list[i]
		switch {
		case arch == "ppc64":
			p.Machine += onPower
			p.probes = strings.Replace(p.probes, aJprobe, jprobePower, 1)
		case arch != "i386":
		case detour:
			p.Machine += on32
		default:
			p.Machine += old32
		}
	}
	return list
}

// Probes are those of one of figureEditions, by whether its machines have detours.
func Probes(detour bool) []Probe {
	if !detour {
		return []Probe{
			{"k", "kprobe", old, aKprobe, "register(k)"},
			{"j", "jprobe", old, aJprobe, "register(j)"},
			{"r", "return probe", old, aKretprobe, "register(r)"},
			{"kr", "kprobe and return probe", old, aKprobe + aKretprobe, "register(k), register(r)"},
			{"jr", "jprobe and return probe", old, aJprobe + aKretprobe, "register(j), register(r)"},
		}
	}
	return []Probe{
		{"k", "kprobe", stepped, aKprobe, "register(k)"},
		{"b", "boosted kprobe", boosted, aKprobe, "register(k)"},
		{"o", "optimized kprobe", detours, aKprobe, "register(k), wait_optimized()"},
		{"r", "return probe", stepped, aKretprobe, "register(r)"},
		{"rb", "boosted return probe", boosted, aKretprobe, "register(r)"},
		{"ro", "optimized return probe", detours, aKretprobe, "register(r), wait_optimized()"},
	}
}

// Title is the probe's full name, and the tables' in brackets.
func (p *Probe) Title() string { return p.Says + " (" + p.Name + ")" }

func probeNames(detour bool) (names []string) {
	for _, p := range Probes(detour) {
		names = append(names, p.Name)
	}
	return names
}

// probed is the function: 55 48 89 e5 53 is the region of a detour, and stdu is where a function of ppc64 begins. It
// isn't at the beginning of a page, or by the hash of 2.6 it would be in one chain with the trampoline, which is.
const (
	probed   = `f = text("f", at = 0xffffffff81000040, hex = "55 4889e5 53 5b 5d c3")` + "\n"
	probed32 = `f = text("f", at = 0x81000040, hex = "55 89e5 53 5b 5d c3")` + "\n"
	// stdu r1,-32(r1); addi r1,r1,32; blr
	probedPower = `f = text("f", at = 0xffffffff81000040, hex = "f821ffe1 38210020 4e800020")` + "\n"
)

// probed is the function as the probe's processor has it.
func (p *Probe) probed() string {
	switch {
	case strings.Contains(p.Machine, on32):
		return probed32
	case strings.Contains(p.Machine, onPower):
		return probedPower
	}
	return probed
}

// ret is a return of the probe's processor.
func (p *Probe) ret() string {
	if strings.Contains(p.Machine, onPower) {
		return "4e800020"
	}
	return "c3"
}

// Scenario returns the scenario that is run: calls calls of a function, with the probe or
// without.
func (p *Probe) Scenario(calls int, probe bool) (*scenario.Scenario, error) {
	var b strings.Builder
	name, f := "overhead-"+p.Name, p.probed()
	fmt.Fprintf(&b, "scenario(%q, says = %q)\nmachine(cpus = 1, preempt = \"none\", fetch = \"coherent\", %s)\n%s%s",
		name, p.Says, p.Machine, f, p.probes)
	ops := p.ops + ", "
	if !probe {
		ops = ""
	}
	fmt.Fprintf(&b, "task(\"t\", cpu = 0, ops = [%s%s])\nnever()\n", ops, strings.Repeat("call(f), ", calls))
	return lang.Load(name+".star", []byte(b.String()), nil)
}

// warm is the number of calls before the counted ones, hits the number of those.
const warm, hits = 8, 16

// A Hit has the mean events of a hit, and its cycles.
type Hit struct {
	Events [cycles.Events]float64
	Cycles float64
}

// Measure returns a hit, with costs, nil for the nominal ones: the difference between runs with more calls and with
// fewer, minus the same difference without a probe.
func (p *Probe) Measure(costs *cycles.Profile) (h Hit, err error) {
	var tallies [4]cycles.Tally
	var clocks [4]float64
	for i := range tallies {
		sc, err := p.Scenario(warm+hits*(i%2), i < 2)
		if err != nil {
			return h, err
		}
		r, err := newRunner(sc, costs)
		if err != nil {
			return h, err
		}
		tallies[i], clocks[i], err = r.run(new(sched.Default))
		r.Close()
		if err != nil {
			return h, err
		}
	}
	for e := range h.Events {
		var n [4]float64
		for i := range n {
			n[i] = float64(tallies[i][e])
		}
		h.Events[e] = perHit(n)
	}
	h.Cycles = perHit(clocks)
	return h, nil
}

// perHit returns the difference between a hit and a call, from runs with a probe, of fewer calls and of more, and the
// same without.
func perHit(n [4]float64) float64 { return (n[1] - n[0] - n[3] + n[2]) / hits }

// A runner makes runs of a scenario.
type runner struct {
	*rig.Rig
	tally [sim.MaxCPUs]cycles.Tally
}

func newRunner(sc *scenario.Scenario, costs *cycles.Profile) (*runner, error) {
	rig, err := rig.New(sc, "")
	if err != nil {
		return nil, err
	}
	r := &runner{Rig: rig}
	rig.Machine.Clocks().Costs(costs)
	rig.Machine.Clocks().Count(&r.tally)
	return r, nil
}

// run makes a run. It returns the events on CPU 0, and the cycle at which the last CPU was done.
func (r *runner) run(s sched.Strategy) (cycles.Tally, float64, error) {
	clear(r.tally[:])
	s.Begin(0)
	done := r.Run(s)
	if done.Outcome != smp.Passed {
		return cycles.Tally{}, 0, fmt.Errorf("%s: the run ended as %v: %v", r.Scenario.Name, done.Outcome, done.Err)
	}
	last := sim.Time(0)
	for cpu := range r.Machine.CPUs() {
		last = max(last, r.Machine.Clocks().Of(cpu))
	}
	return r.tally[0], float64(last) / cycles.Unit, nil
}

// In returns the probe with the engine of another edition, which boosts and optimizes as much as its own.
// scenario.Editions lists the editions; Probes says whether one has such a probe.
func (p Probe) In(edition string) Probe {
	for _, own := range figureEditions {
		p.Machine = strings.Replace(p.Machine, `edition = "`+own+`"`, `edition = "`+edition+`"`, 1)
	}
	return p
}

// ProbesIn returns the probes of an edition's engine whose events have a cost on the machine, none if it has none.
// Detours in the kernel code of the profile of edition 2.6, and jprobes in that of 4.15, aren't counted.
func (u *UserProfile) ProbesIn(edition string) (list []Probe) {
	before := edition == figureEditions[0]
	if u.Edition == figureEditions[0] && !before {
		return nil
	}
	for _, p := range ProbesOn(u.Arch, !before) {
		if u.Edition == figureEditions[1] && strings.Contains(p.Name, "j") {
			continue
		}
		list = append(list, p.In(edition))
	}
	return slices.Clip(list)
}
