package overhead

import (
	"fmt"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// The sources of a ProbesPoint.
const (
	ProbesSimulated = "simulated: what a node costs beyond the nearest cache is assumed"
	ProbesModelled  = "model, not simulated"
)

// Chains is the number of chains of the kernel's table of probes (KPROBE_TABLE_SIZE).
const Chains = 64

// A Cache has the time of a chain's node by where it is found. All of it is assumed; the latencies are typical of the
// 2010s. A node's price includes the nearest cache.
type Cache struct {
	NodeBytes    float64 `json:"node_bytes"` // a line: the part that is read of a probe that isn't the right one
	L1Bytes      float64 `json:"l1_bytes"`
	L2Bytes      float64 `json:"l2_bytes"`
	L1Cycles     float64 `json:"l1_cycles"`
	L2Cycles     float64 `json:"l2_cycles"`
	MemoryCycles float64 `json:"memory_cycles"`
}

// NominalCache is like that of a core of the Xeon E5410 (assumed).
var NominalCache = Cache{NodeBytes: 64, L1Bytes: 32 << 10, L2Bytes: 6 << 20, L1Cycles: 4, L2Cycles: 14,
	MemoryCycles: 200}

// farther returns the extra time of a node compared with the nearest cache, when nodes are
// visited again and again, all equally often. The nodes that fit into a nearer cache are found
// there.
func (c *Cache) farther(nodes float64) float64 {
	if nodes == 0 {
		return 0
	}
	bytes := nodes * c.NodeBytes
	l1, l2 := min(1, c.L1Bytes/bytes), min(1, c.L2Bytes/bytes)
	l2 = max(l1, l2)
	return l1*c.L1Cycles + (l2-l1)*c.L2Cycles + (1-l2)*c.MemoryCycles - c.L1Cycles
}

// A ProbesPoint is the cost of a hit with a number of probes in the table, each on a function of
// its own. Either one probe is hit over and over, which was registered in the middle; or all are,
// in turn.
type ProbesPoint struct {
	Provenance string `json:"provenance"`
	Probes     int    `json:"probes"`
	Longest    int    `json:"most_nodes"` // the most that one hit looks at; 0 from the model

	OneNodes      float64 `json:"one_probe_nodes"` // of chains, per hit
	OneNodeCycles float64 `json:"one_probe_node_cycles"`
	OneHitCycles  float64 `json:"one_probe_hit_cycles"`
	AllNodes      float64 `json:"all_probes_nodes"`
	AllNodeCycles float64 `json:"all_probes_node_cycles"`
	AllHitCycles  float64 `json:"all_probes_hit_cycles"`
}

var (
	lookupEvent = cycles.Work(kprobes.WorkLookup)
	nodeEvent   = cycles.Work(kapi.WorkNode)
)

// ScaleProbes returns the cost of a hit with probes registered probes: from a run with that many, or from the model
// if there are more than MostProbes. A hit priced by costs (nil: the nominal ones) has each node in the nearest
// cache; c adds the time of nodes farther away.
func (p *Probe) ScaleProbes(probes int, costs *cycles.Profile, c Cache) (ProbesPoint, error) {
	if probes > MostProbes {
		return p.ModelProbes(probes, costs, c)
	}
	if err := checkProbes(probes); err != nil {
		return ProbesPoint{}, err
	}
	many, err := newCrowd(p, places(probes), costs)
	if err != nil {
		return ProbesPoint{}, err
	}
	if err := many.run(); err != nil {
		return ProbesPoint{}, err
	}
	s := priced(probes, &many.one, &many.all, costs, &c)
	s.Provenance, s.Longest = ProbesSimulated, many.longest
	return s, nil
}

// ModelProbes returns the same without a run: the other probes are in the chains by chance. The look-up that finds a
// function's probe passes half of those in its chain. Look-ups for the breakpoint at the end of a jprobe's entry, and
// for the oldest trampoline, pass all of theirs.
func (p *Probe) ModelProbes(probes int, costs *cycles.Profile, c Cache) (ProbesPoint, error) {
	if err := checkProbes(probes); err != nil {
		return ProbesPoint{}, err
	}
	h, err := p.Measure(costs)
	if err != nil {
		return ProbesPoint{}, err
	}
	one := h.Events[nodeEvent]
	if lookups := h.Events[lookupEvent]; lookups > 0 {
		h.Events[nodeEvent] += (lookups - 0.5) * float64(probes-1) / Chains
	}
	h.Cycles += (h.Events[nodeEvent] - one) * nodePrice(costs)
	s := priced(probes, &h, &h, costs, &c)
	s.Provenance = ProbesModelled
	return s, nil
}

func checkProbes(n int) error {
	if n < 1 {
		return fmt.Errorf("%d probes: there is to be one at least", n)
	}
	return nil
}

// nodePrice returns the cycles of a node in the nearest cache.
func nodePrice(costs *cycles.Profile) float64 {
	if costs == nil {
		costs = cycles.Nominal()
	}
	return float64(costs[nodeEvent]) / cycles.Unit
}

// priced adds to hits the extra time of their nodes compared with the nearest cache.
func priced(probes int, one, all *Hit, costs *cycles.Profile, c *Cache) ProbesPoint {
	s := ProbesPoint{Probes: probes, OneNodes: one.Events[nodeEvent], AllNodes: all.Events[nodeEvent]}
	oneMore, allMore := c.farther(s.OneNodes), c.farther(float64(probes))
	s.OneNodeCycles, s.AllNodeCycles = nodePrice(costs)+oneMore, nodePrice(costs)+allMore
	s.OneHitCycles, s.AllHitCycles = one.Cycles+s.OneNodes*oneMore, all.Cycles+s.AllNodes*allMore
	return s
}

// An OverlapConfig says how calls of a function with a return probe overlap: several tasks call it, each on a CPU of
// its own, the others for as long as the first does.
type OverlapConfig struct {
	Tasks     int    `json:"tasks"`
	Maxactive int    `json:"maxactive"`
	Calls     int    `json:"calls"` // by the first task, in a run
	Edition   string `json:"edition"`
	Schedule  string `json:"schedule"` // Timed or Sticky
	Runs      int    `json:"runs"`
	Seed      uint64 `json:"seed"`
}

// An Overlap is the result of drawn schedules. All of it was counted in runs of the engine.
type Overlap struct {
	OverlapConfig
	Called  int      `json:"called"`
	Missed  int      `json:"missed"` // nmissed of the return probe at the ends of the runs
	Share   float64  `json:"missed_share"`
	Within  Interval `json:"missed_share_interval_95"`
	Entered []Depth  `json:"by_overlapping_calls"` // by 1, 2, … to Tasks
}

// A Depth counts the calls that overlapped to a given depth: the most calls in the function at a
// time, this one included, from its beginning until it was followed or missed.
type Depth struct {
	Overlapping int     `json:"overlapping"`
	Called      int     `json:"called"`
	Missed      int     `json:"missed"`
	Share       float64 `json:"missed_share"` // 0 if there was no such call
}

// body is long enough for calls to overlap.
const body = 24

// Scenario returns the scenario to run.
func (c *OverlapConfig) Scenario() (*scenario.Scenario, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "scenario(\"overlap\", says = \"%d tasks are in a function with a return probe that follows %d.\")\n",
		c.Tasks, c.Maxactive)
	fmt.Fprintf(&b, "machine(cpus = %d, edition = %q, preempt = "+
		"\"none\", fetch = \"coherent\", ftrace = False, steps = "+
		"50000000)\n", c.Tasks, c.Edition)
	fmt.Fprintf(&b, "f = text(\"f\", hex = \"55 4889e5 53 5b 5d %sc3\")\n", strings.Repeat("90 ", body))
	b.WriteString(elsewhere)
	fmt.Fprintf(&b, "r = kretprobe(\"r\", at = f, maxactive = %d)\n", c.Maxactive)
	fmt.Fprintf(&b, "task(\"caller0\", cpu = 0, ops = [register(r), %s])\n",
		strings.Repeat("call(f), "+other(0), c.Calls))
	for i := 1; i < c.Tasks; i++ {
		fmt.Fprintf(&b, "task(\"caller%d\", cpu = %d, ops = [call(f), %s], repeat = 1000, background = True)\n",
			i, i, other(i))
	}
	b.WriteString("never()\n")
	return lang.Load("overlap.star", []byte(b.String()), nil)
}

// overlapMean is the mean number of boundaries after which a sticky schedule switches tasks.
const overlapMean = 8

// Measure draws the runs.
func (c OverlapConfig) Measure() (*Overlap, error) {
	if c.Tasks < 1 || c.Tasks > sim.MaxCPUs {
		return nil, fmt.Errorf("%d tasks: calls overlap on 1 to %d CPUs", c.Tasks, sim.MaxCPUs)
	}
	if c.Maxactive < 1 || c.Runs < 1 || c.Calls < 1 {
		return nil, fmt.Errorf("maxactive %d, %d runs of %d calls: each is to be 1 at least", c.Maxactive, c.Runs,
			c.Calls)
	}
	sc, err := c.Scenario()
	if err != nil {
		return nil, err
	}
	rig, err := rig.New(sc, "")
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	n := &inside{at: uint64(sc.Texts[0].At), depths: make([]Depth, c.Tasks)}
	d, err := newDraws(rig, c.Schedule, sched.Params{Seed: c.Seed, Length: 1, Mean: overlapMean}, n.event, smpev.Exec,
		kpev.InstanceGet, kpev.RetMissed, smpev.CallEnd)
	if err != nil {
		return nil, err
	}
	o := &Overlap{OverlapConfig: c}
	var missedIn, calledIn []float64 // by runs
	for i := range uint64(c.Runs) {
		n.in, n.most = 0, [sim.MaxCPUs]int{}
		if err := d.run(i); err != nil {
			return nil, err
		}
		_, missed := rig.Probe(0)
		called := -o.Called
		for _, d := range n.depths {
			called += d.Called
		}
		missedIn, calledIn = append(missedIn, float64(missed)), append(calledIn, float64(called))
		o.Missed, o.Called = o.Missed+missed, o.Called+called
	}
	for i := range n.depths {
		d := &n.depths[i]
		d.Overlapping = i + 1
		if d.Called > 0 {
			d.Share = float64(d.Missed) / float64(d.Called)
		}
	}
	o.Entered = n.depths
	share := shareOf(missedIn, calledIn)
	o.Share, o.Within = share.Value, share.Interval
	return o, nil
}

// inside counts the calls that are in the function: from its first instruction
// to its end.
type inside struct {
	at     uint64 // the function
	depths []Depth
	in     int
	most   [sim.MaxCPUs]int // by CPU, since its task was there: the most calls at a time
}

func (n *inside) event(e *traces.Event, _ sim.Time) {
	switch e.Kind {
	case smpev.Exec:
		if e.A != n.at || n.most[e.CPU] != 0 {
			break // elsewhere; or it is executed again, because it was a breakpoint that is gone
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
