package overhead

import (
	"fmt"
	"strings"

	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/cycles"
)

// A Scaled is what hits cost with so many CPUs at one probe.
type Scaled struct {
	CPUs   int     `json:"cpus"`
	Cycles float64 `json:"cycles_per_hit"` // that each CPU spends on a hit, waiting for others too
	Rate   float64 `json:"hits_per_cycle"` // of all CPUs together
}

// Scale runs a probe with each number of CPUs, 1 to 64, all of which call the function
// all the time: whoever's clock shows least goes next. edition is what machine() says of
// the engine, "" the probe's own.
func (p *Probe) Scale(cpus []int, edition string, costs *cycles.Profile) (list []Scaled, err error) {
	for _, n := range cpus {
		if n < 1 || n > sim.MaxCPUs {
			return nil, fmt.Errorf("%d CPUs: a machine has 1 to %d", n, sim.MaxCPUs)
		}
		var took [4]float64
		for i := range took {
			sc, err := p.contended(n, warm+hits*(i%2), i < 2, edition)
			if err != nil {
				return nil, err
			}
			r, err := newRunner(sc, costs)
			if err != nil {
				return nil, err
			}
			_, took[i], err = r.run(sched.NewTimed(sched.Params{Seed: 1}))
			r.Close()
			if err != nil {
				return nil, err
			}
		}
		each := (took[1] - took[0]) / hits
		s := Scaled{CPUs: n, Cycles: perHit(took)}
		if each > 0 {
			s.Rate = float64(n) / each
		}
		list = append(list, s)
	}
	return list, nil
}

// contended is Scenario with a task on each CPU. They begin when the probe is there.
func (p *Probe) contended(cpus, calls int, probe bool, edition string) (*scenario.Scenario, error) {
	machine := p.Machine
	if edition != "" {
		machine = edition
	}
	register, wait, _ := strings.Cut(p.ops, ", wait_optimized()")
	if register != p.ops {
		wait = "wait_optimized(), "
	}
	register += ", "
	if !probe {
		register, wait = "", ""
	}
	var b strings.Builder
	name := fmt.Sprintf("overhead-%s-%d", p.Name, cpus)
	fmt.Fprintf(&b, "scenario(%q, says = %q)\nmachine(cpus = %d, preempt = \"none\", fetch = \"coherent\", steps = 10000000, %s)\n%s%s", name, p.Says, cpus, machine, probed, p.probes)
	all := wait + strings.Repeat("call(f), ", calls)
	fmt.Fprintf(&b, "task(\"t0\", cpu = 0, ops = [%srelease(), %s])\n", register, all)
	for cpu := 1; cpu < cpus; cpu++ {
		fmt.Fprintf(&b, "task(\"t%d\", cpu = %d, ops = [spin(), %s])\n", cpu, cpu, all)
	}
	b.WriteString("never()\n")
	return scenario.Load(name+".star", []byte(b.String()), nil)
}
