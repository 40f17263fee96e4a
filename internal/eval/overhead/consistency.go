package overhead

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"kpsim/kprobes"
	"kpsim/smp/cycles"
)

// Rounding is how far a figure may be off for being printed with two decimals.
const Rounding = 0.005

// A Consistency says how well figures agree with each other, whatever the costs are.
type Consistency struct {
	Of      string // a machine, or a core that several machines have
	Figures int
	Numbers int     // that may be anything not below 0
	Least   float64 // microseconds: some figure is off by as much or more
}

// AtLimit reports whether the figures agree only if some are rounded by as much as can
// be; Beyond, whether not even then.
func (c *Consistency) AtLimit() bool { return !c.Beyond() && c.Least > Rounding-1e-9 }

// Beyond: see AtLimit.
func (c *Consistency) Beyond() bool { return c.Least > Rounding+1e-9 }

// Consistencies returns the consistency of each machine: a hit is the sum of its calibrated parts, as free as the
// events of its hits allow. Machines of one core are also taken together: then the cost of an exception is the
// core's, except for an IST stack, and detours and return probes are each machine's.
func (o *Model) Consistencies() (list []Consistency, err error) {
	add := func(of string, rows [][]float64, figures []sample) error {
		want := make([]float64, len(figures))
		for i := range figures {
			want[i] = figures[i].Usec
		}
		least, err := minimax(rows, want)
		if err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
		list = append(list, Consistency{of, len(figures), rank(rows), least})
		return nil
	}
	for _, m := range o.Machines() {
		figures := o.figuresOf(m)
		var rows [][]float64
		for i := range figures {
			rows = append(rows, figures[i].calibrated())
		}
		if err := add(m.ID(), rows, figures); err != nil {
			return nil, err
		}
	}
	for _, core := range o.coreNames() {
		var owners []*Machine
		for _, m := range o.Machines() {
			if m.core == core {
				owners = append(owners, m)
			}
		}
		if len(owners) < 2 || !slices.ContainsFunc(owners, func(m *Machine) bool { return m.ist }) {
			continue
		}
		figures := of(o.Samples, func(s *sample) bool { return s.Machine.core == core })
		var rows [][]float64
		for i := range figures {
			s := &figures[i]
			all := make([]float64, 5*len(owners))
			at := 5 * slices.Index(owners, s.Machine)
			for k, e := range s.Machine.corrected() {
				switch e {
				case cycles.Work(kprobes.WorkLookup), cycles.Work(kprobes.WorkStep):
					all[k] = s.events[e]
				default:
					all[at+k] = s.events[e]
				}
			}
			if s.Machine.ist {
				all[4] = s.events[cycles.Breakpoint] + s.events[cycles.Debug]
			}
			for k := range all {
				all[k] /= s.Machine.MHz // one core's cycles, whatever its clock
			}
			rows = append(rows, all)
		}
		if err := add(core, rows, figures); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// calibrated returns how often each event happens that is calibrated.
func (s *sample) calibrated() []float64 {
	var row []float64
	for _, e := range s.Machine.corrected() {
		row = append(row, s.events[e])
	}
	return row
}

// minimax returns how far off the worst of want is, if each is the sum of a row's
// numbers times unknown ones that aren't below 0, at best: a linear program.
func minimax(rows [][]float64, want []float64) (float64, error) {
	var used []int // a column without a number isn't allowed
	for k := range rows[0] {
		if slices.ContainsFunc(rows, func(r []float64) bool { return r[k] != 0 }) {
			used = append(used, k)
		}
	}
	// The columns: the unknowns, the error, the slack.
	n, f := len(used), len(rows)
	a := mat.NewDense(2*f, n+1+2*f, nil)
	b := make([]float64, 2*f)
	c := make([]float64, n+1+2*f)
	c[n] = 1
	for i, r := range rows {
		for side, sign := range [2]float64{1, -1} {
			row := 2*i + side
			for j, k := range used {
				a.Set(row, j, sign*r[k])
			}
			a.Set(row, n, -1)
			a.Set(row, n+1+row, 1)
			b[row] = sign * want[i]
		}
	}
	least, _, err := lp.Simplex(c, a, b, 1e-10, nil)
	if err != nil {
		return 0, fmt.Errorf("how well its figures agree can't be said: %w", err)
	}
	return least, nil
}

// rank returns how many columns of rows are independent.
func rank(rows [][]float64) int {
	var svd mat.SVD
	a := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, r := range rows {
		a.SetRow(i, r)
	}
	if !svd.Factorize(a, mat.SVDNone) {
		return 0
	}
	return svd.Rank(1e-9)
}

// Fits returns how many numbers a tier fits: those of cores, and in addition those of machines.
func (o *Model) Fits(t Tier) (n int) {
	for _, m := range o.CoreOwners() {
		n += len(o.Fitted(m))
	}
	if t == Calibrated {
		for _, m := range o.Machines() {
			n += len(m.corrected())
		}
	}
	return n
}

// Numbers returns how many of the tier's numbers the figures determine. In the calibrated tier the mechanistic
// numbers add none: they shift nothing that the calibrated ones can't.
func (o *Model) Numbers(t Tier) (n int) {
	if t == Mechanistic {
		for _, core := range o.coreNames() {
			var rows [][]float64
			for _, s := range of(o.Samples, func(s *sample) bool { return s.Machine.core == core }) {
				t, _ := s.terms()
				rows = append(rows, t[:])
			}
			n += rank(rows)
		}
		return n
	}
	for _, m := range o.Machines() {
		var rows [][]float64
		for _, s := range o.figuresOf(m) {
			t, fixed := s.terms()
			rows = append(rows, append(append(s.calibrated(), t[:]...), fixed))
		}
		n += rank(rows)
	}
	return n
}

// Machines returns the machines of the figures, in their order.
func (o *Model) Machines() (list []*Machine) {
	for i := range o.Samples {
		if m := o.Samples[i].Machine; !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// CoreOwners returns a machine of each core: if some enter by an IST stack, one of those, for which one more number
// is fitted.
func (o *Model) CoreOwners() (list []*Machine) {
	for _, core := range o.coreNames() {
		var owner *Machine
		for _, m := range o.Machines() {
			if m.core == core && (owner == nil || m.ist) {
				owner = m
			}
		}
		list = append(list, owner)
	}
	return list
}

func (o *Model) coreNames() (list []string) {
	for _, m := range o.Machines() {
		if !slices.Contains(list, m.core) {
			list = append(list, m.core)
		}
	}
	return list
}

func (o *Model) figuresOf(m *Machine) []sample {
	return of(o.Samples, func(s *sample) bool { return s.Machine == m })
}

// A Contrast compares four figures of a machine: the hits of the first two have the same events as those of the
// others, so the sums should be equal.
type Contrast struct {
	Machine *Machine
	Probes  [4]string
	Usec    float64 // the sum of the first two minus that of the others
}

// MostContrast is how much a contrast may be for rounding.
const MostContrast = 4 * Rounding

// String returns the subtraction.
func (c *Contrast) String() string {
	return fmt.Sprintf("(%s + %s) - (%s + %s)", c.Probes[0], c.Probes[1], c.Probes[2], c.Probes[3])
}

// AtLimit reports whether all four figures are rounded by as much as can be.
func (c *Contrast) AtLimit() bool { return math.Abs(c.Usec) > MostContrast-1e-9 }

// Contrasts returns all contrasts.
func (o *Model) Contrasts() (list []Contrast) {
	for _, m := range o.Machines() {
		s := o.figuresOf(m)
		for a := range s {
			for b := a + 1; b < len(s); b++ {
				for c := a + 1; c < len(s); c++ { // the first is the least, so each comes once
					for d := c + 1; d < len(s); d++ {
						if b == c || b == d || !sameSums(&s[a], &s[b], &s[c], &s[d]) {
							continue
						}
						list = append(list,
							Contrast{m, [4]string{s[a].Probe.Name, s[b].Probe.Name, s[c].Probe.Name, s[d].Probe.Name},
								s[a].Usec + s[b].Usec - s[c].Usec - s[d].Usec})
					}
				}
			}
		}
	}
	return list
}

func sameSums(a, b, c, d *sample) bool {
	for e := range a.events {
		if math.Abs(a.events[e]+b.events[e]-c.events[e]-d.events[e]) > 1e-9 {
			return false
		}
	}
	return true
}
