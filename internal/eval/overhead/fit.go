package overhead

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"kpsim/smp/cycles"
)

// The mechanistic model: the cost of a hit is, over its events,
//
//	X for each exception, T more for a single step, P more for one by way of an IST stack,
//	c for each instruction of kernel code, and the cycles typical of its processor.
//
// X, T and c are of each core, P is of one: thirteen numbers are fitted.

// A sample is a figure and the events of a hit.
type sample struct {
	Figure
	events [cycles.Events]float64
}

// samples measures the hit of each figure.
func samples(figures []Figure) (list []sample, err error) {
	known := make(map[string]Hit) // by the scenario
	for _, f := range figures {
		key := f.Probe.Name + f.Probe.Machine
		h, ok := known[key]
		if !ok {
			if h, err = f.Probe.Measure(nil); err != nil {
				return nil, err
			}
			known[key] = h
		}
		list = append(list, sample{f, h.Events})
	}
	return list, nil
}

// A Core has the fitted numbers of a core, in cycles.
type Core struct {
	Exception   float64 // delivery and return
	Step        float64 // more for a single step
	Instruction float64 // of kernel code
	IST         float64 // more for an exception by way of an IST stack
}

func (c *Core) numbers() [4]*float64 {
	return [4]*float64{&c.Exception, &c.Step, &c.Instruction, &c.IST}
}

// terms returns the factor of each number of a Core in a sample, and the constant.
func (s *sample) terms() (t [4]float64, fixed float64) {
	m := s.Machine
	exceptions := s.events[cycles.Breakpoint] + s.events[cycles.Debug]
	t[0], t[1] = exceptions, s.events[cycles.Debug]
	if m.ist {
		t[3] = exceptions
	}
	for e, n := range s.events {
		t[2] += n * m.code.instructions(cycles.Event(e))
		fixed += n * m.fixed(cycles.Event(e))
	}
	return t, fixed
}

// work returns the cost of an event by its instructions and its typical cycles.
func (c *Core) work(m *Machine, e cycles.Event) float64 {
	return c.Instruction*m.code.instructions(e) + m.fixed(e)
}

// predict returns the microseconds of a sample.
func (c *Core) predict(s *sample) float64 {
	t, us := s.terms()
	for i, v := range c.numbers() {
		us += t[i] * *v
	}
	return us / s.Machine.MHz
}

// fitCore finds the numbers of a core that make the sum of the squares of relative
// errors least, none below 0.
func fitCore(list []sample) (c Core) {
	for i, v := range leastSquares(coreRows(list)) {
		*c.numbers()[i] = v
	}
	return c
}

// coreRows returns the factors of a Core's numbers for each figure, and the wanted sums, both relative to the figure.
func coreRows(list []sample) (rows [][]float64, want []float64) {
	rows, want = make([][]float64, len(list)), make([]float64, len(list))
	for i := range list {
		t, fixed := list[i].terms()
		scale := 1 / list[i].Cycles()
		rows[i] = make([]float64, len(t))
		for k, v := range t {
			rows[i][k] = v * scale
		}
		want[i] = 1 - fixed*scale
	}
	return rows, want
}

// leastSquares solves for numbers not below 0. It tries each set of numbers that may be above 0, of which there are
// few, and takes the best fit.
func leastSquares(rows [][]float64, want []float64) (best []float64) {
	n := len(rows[0])
	least := math.Inf(1)
	for set := 1; set < 1<<n; set++ {
		v, ok := solve(rows, want, set)
		if !ok || slices.Min(v) < 0 {
			continue
		}
		sum := 0.0
		for i, r := range rows {
			d := -want[i]
			for k, w := range r {
				d += w * v[k]
			}
			sum += d * d
		}
		if sum < least-1e-15 {
			least, best = sum, v
		}
	}
	return best
}

// solve returns the best fit for the numbers of a set, with any sign, and 0 for the others; ok is false if the rows
// don't determine those of the set.
func solve(rows [][]float64, want []float64, set int) (v []float64, ok bool) {
	v = make([]float64, len(rows[0]))
	var used []int
	for k := range v {
		if set>>k&1 != 0 {
			used = append(used, k)
		}
	}
	if len(used) > len(rows) {
		return nil, false
	}
	a := mat.NewDense(len(rows), len(used), nil)
	for i, r := range rows {
		for j, k := range used {
			a.Set(i, j, r[k])
		}
	}
	var x mat.VecDense
	if x.SolveVec(a, mat.NewVecDense(len(want), slices.Clone(want))) != nil {
		return nil, false
	}
	for j, k := range used {
		v[k] = x.AtVec(j)
	}
	return v, true
}
