package overhead

// A Prediction is of a figure that nothing was fitted to.
type Prediction struct {
	Says      string
	How       string  // the differences that it is of
	Usec      float64 // as published
	Predicted float64
	Low, High float64 // the bounds, before rounding
}

// Error is relative.
func (p *Prediction) Error() float64 { return p.Predicted/p.Usec - 1 }

// The times of Masami Hiramatsu's patches on a Pentium 4 at 3.06 GHz, Linux 2.6.16-rc1 (linux-kernel, 30 Jan 2006),
// in microseconds with one decimal.
const (
	p4Stepped  = 1.3 // a kprobe
	p4Boosted  = 0.6 // the same, boosted
	p4Return   = 2.0 // a return probe, through a breakpoint at its function and one in the trampoline
	p4Kprobe   = 1.3 // with the first of these boosted
	p4Both     = 0.9 // and without the second
	p4Rounding = 0.05
)

// p4Trampoline is the time of a trampoline that saves registers itself (assumed).
const p4Trampoline = 0.05

// Booster predicts the figures of boosted return probes, from the unboosted one and from what boosting saves for a
// kprobe. It saves the same for both: in the simulated hits Contrasts finds k + rb = b + r.
func Booster() []Prediction {
	first := p4Return - (p4Stepped - p4Boosted)
	second := first - p4Boosted + p4Trampoline // p4Boosted goes out again: three figures less one are left
	return []Prediction{
		{"return probe, boosted", "return - (kprobe - boosted)", p4Kprobe, first, first - 3*p4Rounding,
			first + 3*p4Rounding},
		{"the same, trampoline without a breakpoint", "return - kprobe + 0.05, assumed, for the trampoline",
			p4Both, second, second - 2*p4Rounding, second + 2*p4Rounding},
	}
}
