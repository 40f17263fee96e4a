package overhead

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"kpsim/kprobes"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A Tier says how a machine's costs were obtained.
type Tier uint8

// The tiers.
const (
	// Calibrated: besides the mechanistic ones, four numbers of each machine are fitted to its figures: how much more
	// or less than the mechanistic model says a kprobe, a jprobe, a return probe and a point with several take, or a
	// boosted probe, a step, a detour and a return probe. This doesn't determine how a pass's cost is divided among
	// its events.
	Calibrated Tier = iota

	// Mechanistic: thirteen numbers for all machines (Core).
	Mechanistic
)

var tierNames = [...]string{"calibrated", "mechanistic"}

// String returns the tier's name.
func (t Tier) String() string { return tierNames[t] }

// corrected are the events whose costs are calibrated.
func (m *Machine) corrected() [4]cycles.Event {
	if m.code.detours {
		return [4]cycles.Event{cycles.Work(kprobes.WorkLookup), cycles.Work(kprobes.WorkStep),
			cycles.Work(kprobes.WorkDetour), cycles.Work(kprobes.WorkReturn)}
	}
	return [4]cycles.Event{cycles.Work(kprobes.WorkStep), cycles.Work(kapi.WorkSave), cycles.Work(kprobes.WorkReturn),
		cycles.Work(kprobes.WorkWalk)}
}

// A Model is a fit to figures.
type Model struct {
	Cores   map[string]Core
	More    map[string][4]float64 // by Machine.ID: additional cycles of each of corrected's events
	Samples []sample
}

// Fit fits both tiers to figures.
func Fit(figures []Figure) (*Model, error) {
	list, err := samples(figures)
	if err != nil {
		return nil, err
	}
	return fit(list)
}

func fit(list []sample) (*Model, error) {
	o := &Model{Cores: make(map[string]Core), More: make(map[string][4]float64), Samples: list}
	for _, s := range list {
		if _, ok := o.Cores[s.Machine.core]; !ok {
			o.Cores[s.Machine.core] = fitCore(of(list, func(t *sample) bool {
				return t.Machine.core == s.Machine.core
			}))
		}
	}
	for _, s := range list {
		if _, ok := o.More[s.Machine.ID()]; !ok {
			more, err := o.correct(of(list, func(t *sample) bool { return t.Machine == s.Machine }))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Machine.ID(), err)
			}
			o.More[s.Machine.ID()] = more
		}
	}
	return o, nil
}

func of(list []sample, wanted func(*sample) bool) (some []sample) {
	for i := range list {
		if wanted(&list[i]) {
			some = append(some, list[i])
		}
	}
	return some
}

// within is how far no calibrated figure may be off, unless the figures of a machine don't
// agree with each other as well as that. The documents' do to no better than 0.9 %.
const within = 0.0125

// correct minimises the sum of a machine's relative errors, none of them more than within: a linear program.
func (o *Model) correct(list []sample) (more [4]float64, err error) {
	m := list[0].Machine
	core := o.Cores[m.core]
	var used []int // those whose events occur in some figure
	for k, e := range m.corrected() {
		if slices.ContainsFunc(list, func(s sample) bool { return s.events[e] != 0 }) {
			used = append(used, k)
		}
	}
	// The costs of these are unknown, but not below 0; the rest of a hit is known.
	rows, want := make([][]float64, len(list)), make([]float64, len(list))
	for i := range list {
		s := &list[i]
		rest := core.predict(s) * m.MHz
		for _, k := range used {
			e := m.corrected()[k]
			rest -= s.events[e] * core.work(m, e)
			rows[i] = append(rows[i], s.events[e]/s.Cycles())
		}
		want[i] = 1 - rest/s.Cycles()
	}
	least, err := minimax(rows, want)
	if err != nil {
		return more, err
	}
	bound := max(within, 1.0001*least)
	// The columns: the costs; the errors, up and down; their slack.
	n, f := len(used), len(list)
	up, down, slack := n, n+f, n+2*f
	a := mat.NewDense(3*f, n+4*f, nil)
	b := make([]float64, 3*f)
	c := make([]float64, n+4*f)
	for i := range list {
		for k, v := range rows[i] {
			a.Set(i, k, v)
		}
		a.Set(i, up+i, -1)
		a.Set(i, down+i, 1)
		b[i] = want[i]
		for side, col := range [2]int{up + i, down + i} {
			row := f + 2*i + side
			a.Set(row, col, 1)
			a.Set(row, slack+2*i+side, 1)
			b[row] = bound
			c[col] = 1
		}
	}
	_, x, err := lp.Simplex(c, a, b, 1e-10, nil)
	if err != nil {
		return more, fmt.Errorf("no costs make each figure right to %.2f %%: %w", 100*bound, err)
	}
	for i, k := range used {
		more[k] = x[i] - core.work(m, m.corrected()[k])
	}
	return more, nil
}

// Profile returns the cost of each event on a machine.
func (o *Model) Profile(m *Machine, t Tier) (*cycles.Profile, error) {
	core, ok := o.Cores[m.core]
	if !ok {
		return nil, fmt.Errorf("%s: no figure of it was fitted", m.ID())
	}
	var cost [cycles.Events]float64
	for e := range cost {
		cost[e] = core.work(m, cycles.Event(e))
	}
	for _, e := range []cycles.Event{cycles.Breakpoint, cycles.Debug, cycles.Trap} {
		cost[e] += core.Exception * delivered
		if m.ist {
			cost[e] += core.IST
		}
	}
	cost[cycles.Iret] += core.Exception * (1 - delivered)
	cost[cycles.Debug] += core.Step
	if t == Calibrated {
		for k, e := range m.corrected() {
			cost[e] += o.More[m.ID()][k]
		}
	}
	var p cycles.Profile
	for e, v := range cost {
		switch e := cycles.Event(e); {
		case isUnfigured(e):
			p[e] = cycles.Nominal()[e]
		default:
			p[e] = cycles.Cost(math.Round(max(v, 0) * cycles.Unit)) // a value below 0 is 0 with rounding errors
		}
	}
	return &p, nil
}

// delivered is the share of an exception's cost that is its delivery, the rest is the return from it (assumed).
const delivered = 2.0 / 3
