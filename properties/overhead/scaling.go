package overhead

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/properties/harness"
	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Chains are those of the kernel's table of probes (KPROBE_TABLE_SIZE).
const (
	chainBits = 6
	Chains    = 1 << chainBits
)

// ProbesProvenance says where a ProbesPoint is from. The engine finds a probe in a table
// that has no chains, and a lookup costs it the same however many probes there are.
const ProbesProvenance = "model, not simulated"

// A Cache says what a node of a chain costs by where it is found. All of it is assumed;
// the latencies are typical of the 2010s.
type Cache struct {
	NodeBytes    float64 `json:"node_bytes"` // a line: what a lookup reads of a probe
	L1Bytes      float64 `json:"l1_bytes"`
	L2Bytes      float64 `json:"l2_bytes"`
	L1Cycles     float64 `json:"l1_cycles"`
	L2Cycles     float64 `json:"l2_cycles"`
	MemoryCycles float64 `json:"memory_cycles"`
}

// NominalCache is like that of a core of the Xeon E5410 (assumed).
var NominalCache = Cache{NodeBytes: 64, L1Bytes: 32 << 10, L2Bytes: 6 << 20, L1Cycles: 4, L2Cycles: 14, MemoryCycles: 200}

// node returns what a node costs of so many that are gone to again and again, alike
// often: what of them fits is found in the nearer cache.
func (c *Cache) node(nodes float64) float64 {
	bytes := nodes * c.NodeBytes
	l1, l2 := min(1, c.L1Bytes/bytes), min(1, c.L2Bytes/bytes)
	l2 = max(l1, l2)
	return l1*c.L1Cycles + (l2-l1)*c.L2Cycles + (1-l2)*c.MemoryCycles
}

// A ProbesPoint is what a hit costs with so many probes in the table.
type ProbesPoint struct {
	Provenance string  `json:"provenance"`
	Probes     int     `json:"probes"`
	Nodes      float64 `json:"nodes_visited"` // by a lookup that finds its probe, in the mean
	Hashed     float64 `json:"nodes_hashed"`  // the same, counted for functions 16 to 256 bytes apart, by the kernel's hash
	Longest    int     `json:"longest_chain"` // of those

	// One probe is hit over and over, in the middle of its chain; or all are, in turn.
	OneNodeCycles float64 `json:"one_probe_node_cycles"`
	OneHitCycles  float64 `json:"one_probe_hit_cycles"`
	AllNodeCycles float64 `json:"all_probes_node_cycles"`
	AllHitCycles  float64 `json:"all_probes_hit_cycles"`
}

// NodesVisited returns how many nodes a lookup visits in the mean that finds one of n
// probes, which are in the chains at random: itself, and half of the others there.
func NodesVisited(n int) float64 { return 1 + float64(n-1)/(2*Chains) }

// ScaleProbes says what a hit costs that costs h with a single probe: each of its lookups
// visits more nodes.
func ScaleProbes(h *Hit, c Cache, probes int) (ProbesPoint, error) {
	if probes < 1 {
		return ProbesPoint{}, fmt.Errorf("%d probes: there is to be one at least", probes)
	}
	p := ProbesPoint{Provenance: ProbesProvenance, Probes: probes, Nodes: NodesVisited(probes)}
	p.Hashed, p.Longest = hashed(probes)
	lookups := h.Events[cycles.Work(kapi.WorkLookup)]
	p.OneNodeCycles, p.AllNodeCycles = c.node(p.Nodes), c.node(float64(probes))
	p.OneHitCycles = h.Cycles + lookups*(p.Nodes-1)*p.OneNodeCycles
	p.AllHitCycles = h.Cycles + lookups*(p.Nodes*p.AllNodeCycles-c.node(1))
	return p, nil
}

// hashed counts what lookups of each of n probes visit: a chain of k nodes 1+…+k.
func hashed(n int) (mean float64, longest int) {
	const align = 16
	rng := rand.New(rand.NewPCG(1, 1))
	var chains [Chains]int
	at := uint64(0xffffffff81000000)
	for range n {
		chains[hashPtr(at)]++
		at += align * (1 + rng.Uint64N(16))
	}
	sum := 0
	for _, k := range chains {
		sum += k * (k + 1) / 2
		longest = max(longest, k)
	}
	return float64(sum) / float64(n), longest
}

// hashPtr is hash_ptr of 64 bits (include/linux/hash.h, 4.7 and later).
func hashPtr(addr uint64) uint64 { return addr * 0x61c8864680b583eb >> (64 - chainBits) }

// An OverlapConfig says how calls of a function with a return probe overlap: so many
// tasks call it, each on a CPU of its own, the others for as long as the first does.
type OverlapConfig struct {
	Tasks     int    `json:"tasks"`
	Maxactive int    `json:"maxactive"`
	Calls     int    `json:"calls"` // by the first task, in a run
	Edition   string `json:"edition"`
	Schedule  string `json:"schedule"` // Timed or Sticky
	Runs      int    `json:"runs"`
	Seed      uint64 `json:"seed"`
}

// An Overlap is what drawn schedules have made of it. All of it was counted in runs of
// the engine.
type Overlap struct {
	OverlapConfig
	Called  int     `json:"called"`
	Missed  int     `json:"missed"` // nmissed of the return probe at the ends of the runs
	Share   float64 `json:"missed_share"`
	Entered []Depth `json:"by_overlapping_calls"` // by 1, 2, … to Tasks
}

// A Depth is of calls with which so many were in the function at a time, they included:
// the most from the beginning of each until it was followed or missed.
type Depth struct {
	Overlapping int     `json:"overlapping"`
	Called      int     `json:"called"`
	Missed      int     `json:"missed"`
	Share       float64 `json:"missed_share"` // 0 if there was no such call
}

// body is long enough for calls to overlap.
const body = 24

// Scenario returns what is run.
func (c *OverlapConfig) Scenario() (*scenario.Scenario, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "scenario(\"overlap\", says = \"%d tasks are in a function with a return probe that follows %d.\")\n", c.Tasks, c.Maxactive)
	fmt.Fprintf(&b, "machine(cpus = %d, edition = %q, preempt = \"none\", fetch = \"coherent\", ftrace = False, steps = 1000000000)\n", c.Tasks, c.Edition)
	fmt.Fprintf(&b, "f = text(\"f\", hex = \"55 4889e5 53 5b 5d %sc3\")\n", strings.Repeat("90 ", body))
	b.WriteString(elsewhere)
	fmt.Fprintf(&b, "r = kretprobe(\"r\", at = f, maxactive = %d)\n", c.Maxactive)
	fmt.Fprintf(&b, "task(\"caller0\", cpu = 0, ops = [register(r), %s])\n", strings.Repeat("call(f), "+other(0), c.Calls))
	for i := 1; i < c.Tasks; i++ {
		fmt.Fprintf(&b, "task(\"caller%d\", cpu = %d, ops = [call(f), %s], repeat = 1000, background = True)\n", i, i, other(i))
	}
	b.WriteString("never()\n")
	return scenario.Load("overlap.star", []byte(b.String()), nil)
}

// overlapMean is once in how many boundaries a sticky schedule goes on with another task,
// in the mean.
const overlapMean = 8

// Measure draws the runs.
func (c OverlapConfig) Measure() (*Overlap, error) {
	if c.Tasks < 1 || c.Tasks > sim.MaxCPUs {
		return nil, fmt.Errorf("%d tasks: calls overlap on 1 to %d CPUs", c.Tasks, sim.MaxCPUs)
	}
	if c.Maxactive < 1 || c.Runs < 1 || c.Calls < 1 {
		return nil, fmt.Errorf("maxactive %d, %d runs of %d calls: each is to be 1 at least", c.Maxactive, c.Runs, c.Calls)
	}
	sc, err := c.Scenario()
	if err != nil {
		return nil, err
	}
	rig, err := harness.New(sc, "")
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	n := &inside{at: uint64(sc.Texts[0].At), depths: make([]Depth, c.Tasks)}
	d, err := newDraws(rig, c.Schedule, sched.Params{Seed: c.Seed, Length: 1, Mean: overlapMean}, n.event, smpev.Exec, kpev.InstanceGet, kpev.RetMissed, smpev.CallEnd)
	if err != nil {
		return nil, err
	}
	o := &Overlap{OverlapConfig: c}
	for i := range uint64(c.Runs) {
		n.in, n.most = 0, [sim.MaxCPUs]int{}
		if err := d.run(i); err != nil {
			return nil, err
		}
		_, missed := rig.Probe(0)
		o.Missed += missed
	}
	for i := range n.depths {
		d := &n.depths[i]
		d.Overlapping = i + 1
		if o.Called += d.Called; d.Called > 0 {
			d.Share = float64(d.Missed) / float64(d.Called)
		}
	}
	o.Entered = n.depths
	o.Share = float64(o.Missed) / float64(o.Called)
	return o, nil
}

// inside counts who is in the function: a call from its first instruction to its end.
type inside struct {
	at     uint64 // the function
	depths []Depth
	in     int
	most   [sim.MaxCPUs]int // of each CPU whose task is: how many were at most since then
}

func (n *inside) event(e *traces.Event, _ sim.Time) {
	switch e.Kind {
	case smpev.Exec:
		if e.A != n.at || n.most[e.CPU] != 0 {
			break // elsewhere; or it is executed again, for it was a breakpoint that is gone
		}
		n.in++
		n.most[e.CPU] = n.in
		for c, m := range n.most {
			if m != 0 {
				n.most[c] = max(m, n.in)
			}
		}
	case kpev.InstanceGet, kpev.RetMissed:
		d := &n.depths[n.most[e.CPU]-1]
		d.Called++
		if e.Kind == kpev.RetMissed {
			d.Missed++
		}
	case smpev.CallEnd: // of this function or another
		if n.most[e.CPU] != 0 {
			n.most[e.CPU] = 0
			n.in--
		}
	}
}
