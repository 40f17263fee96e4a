package overhead

import (
	"fmt"
	"math/bits"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Scaled is the cost of hits of one probe by a number of CPUs at once.
type Scaled struct {
	CPUs   int     `json:"cpus"`
	Cycles float64 `json:"cycles_per_hit"` // that each CPU spends on a hit, including waits for others
	Rate   float64 `json:"hits_per_cycle"` // of all CPUs together
}

// In a contended run each CPU makes settle calls until the calls are spread over time, and then counted calls.
const settle, counted = 16, 32

// Scale runs a probe with each number of CPUs, 1 to 64, all of which call the function all the time: the CPU whose
// clock is furthest behind runs next. edition is the engine setting of machine(), "" the probe's own.
func (p *Probe) Scale(cpus []int, edition string, costs *cycles.Profile) (list []Scaled, err error) {
	bare, err := p.callCycles(1, false, edition, costs) // no CPU waits for another
	if err != nil {
		return nil, err
	}
	for _, n := range cpus {
		if n < 1 || n > sim.MaxCPUs {
			return nil, fmt.Errorf("%d CPUs: a machine has 1 to %d", n, sim.MaxCPUs)
		}
		call, err := p.callCycles(n, true, edition, costs)
		if err != nil {
			return nil, err
		}
		s := Scaled{CPUs: n, Cycles: float64(n)*call - bare}
		if call > 0 {
			s.Rate = 1 / call
		}
		list = append(list, s)
	}
	return list, nil
}

// callCycles returns the cycles between two ends of calls, over cpus CPUs together, with the probe or without. It
// counts only until the first CPU has finished its calls: after that the others would have an unfair lock to
// themselves.
//
// If another CPU, which was woken late, hasn't spread its calls by then, all make more of them: what it fetches at its
// beginning isn't what hits share.
func (p *Probe) callCycles(cpus int, probe bool, edition string, costs *cycles.Profile) (float64, error) {
	for calls := settle + counted; ; calls *= 2 {
		v, late, err := p.callCyclesOf(cpus, calls, probe, edition, costs)
		if !late || err != nil {
			return v, err
		}
	}
}

// mostCalls bounds the calls of a task.
const mostCalls = scenario.MaxOps - 10

// callCyclesOf is callCycles with that number of calls by each CPU; late: one hadn't spread them.
func (p *Probe) callCyclesOf(cpus, calls int, probe bool, edition string, costs *cycles.Profile) (v float64, late bool,
	err error) {
	sc, err := p.contended(cpus, calls, probe, edition)
	if err != nil {
		return 0, false, err
	}
	r, err := newRunner(sc, costs)
	if err != nil {
		return 0, false, err
	}
	defer r.Close()
	ends := &callEnds{m: r.Machine}
	r.Log.Subscribe(ends, smpev.CallEnd)
	if _, _, err := r.run(sched.NewTimed(sched.Params{Seed: 1})); err != nil {
		return 0, false, err
	}
	all := ends.of[:r.Machine.CPUs()]
	first, began, spread := all[0], sim.Time(0), sim.Time(0)
	for _, list := range all {
		if list[len(list)-1] < first[len(first)-1] {
			first = list
		}
		began = max(began, list[len(list)-1-calls])
		spread = max(spread, list[len(list)-1-calls+settle/2])
	}
	from, to := first[len(first)-1-counted], first[len(first)-1]
	if from < spread && 2*calls <= mostCalls {
		return 0, true, nil
	}
	if from < began {
		return 0, false, fmt.Errorf("%s: a CPU has begun %d cycles after another was done with %d of its %d calls",
			sc.Name, (began-from)/cycles.Unit, settle, calls)
	}
	if from == to {
		return 0, false, nil // nothing costs anything
	}
	n := 0
	for _, list := range all {
		for _, at := range list {
			if at > from && at <= to {
				n++
			}
		}
	}
	return float64(to-from) / cycles.Unit / float64(n), false, nil
}

// callEnds are the times at which each CPU's calls have ended.
type callEnds struct {
	m  *smp.Machine
	of [sim.MaxCPUs][]sim.Time
}

// Event implements traces.Sink.
func (c *callEnds) Event(e *traces.Event) *traces.Finding {
	c.of[e.CPU] = append(c.of[e.CPU], c.m.Clocks().Of(int(e.CPU)))
	return nil
}

// later is text that takes twice as many nominal cycles as the number in ecx: mov $n,%ecx; dec %ecx; jne to the dec;
// ret.
const later = "%s = text(%q, hex = \"b9%08x ffc9 75fc c3\")\n"

// contended is Scenario with a task on each CPU. They begin when the probe is registered, each with a call of begin.
// If the probe is to be optimized they sleep until it is, because a spinning CPU would prevent that; CPU 0 registers
// it before they check, and continues when the last of them has been woken.
func (p *Probe) contended(cpus, calls int, probe bool, edition string) (*scenario.Scenario, error) {
	machine := p.Machine
	if edition != "" {
		machine = edition
	}
	register, _, waits := strings.Cut(p.ops, ", wait_optimized()")
	first, others := register+", ", ""
	if waits {
		first += "wait_optimized(), call(last), "
		others = "call(registered), wait_optimized(), "
	}
	if !probe {
		first, others, waits = "", "", false
	}
	var b strings.Builder
	name := fmt.Sprintf("overhead-%s-%d", p.Name, cpus)
	fmt.Fprintf(&b, "scenario(%q, says = "+
		"%q)\nmachine(cpus = %d, preempt = \"none\", fetch = \"coherent\", steps = %d, "+
		"%s)\n%s%s", name, p.Says, cpus, scenario.MaxBudget, machine, p.probed(), p.probes)
	fmt.Fprintf(&b, "begin = text(\"begin\", hex = %q)\n", p.ret())
	if waits {
		fmt.Fprintf(&b, later, "registered", "registered", bits.ReverseBytes32(10_000))
		fmt.Fprintf(&b, later, "last", "last", bits.ReverseBytes32(uint32(2500*cpus)))
	}
	all := "call(begin), " + strings.Repeat("call(f), ", calls)
	fmt.Fprintf(&b, "task(\"t0\", cpu = 0, ops = [%srelease(), %s])\n", first, all)
	for cpu := 1; cpu < cpus; cpu++ {
		fmt.Fprintf(&b, "task(\"t%d\", cpu = %d, ops = [%sspin(), %s])\n", cpu, cpu, others, all)
	}
	b.WriteString("never()\n")
	return lang.Load(name+".star", []byte(b.String()), nil)
}
