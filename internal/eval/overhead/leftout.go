package overhead

import (
	"fmt"
	"math"
	"slices"
)

// Left says which figures are left out of a fit that predicts a figure.
type Left uint8

// The parts that are left out.
const (
	LeftFigure  Left = iota // the figure alone
	LeftMachine             // all figures of its processor, in 32 bits and in 64
	LeftArch                // all figures of its architecture
)

// out reports whether t is left out of the fit that predicts s.
func (l Left) out(s, t *sample) bool {
	switch l {
	case LeftMachine:
		return t.Machine.core == s.Machine.core
	case LeftArch:
		return t.Machine.Arch == s.Machine.Arch
	}
	return t == s
}

// LeaveOut returns the relative error for each figure by a fit without it, or without its whole machine or
// architecture. A core without any figure left gets the numbers of one core that is fitted to all the others. A
// machine without any figure left has no calibration: both tiers predict the same.
func (o *Model) LeaveOut(t Tier, l Left) (list []float64, err error) {
	for i := range o.Samples {
		s := &o.Samples[i]
		rest := of(o.Samples, func(t *sample) bool { return !l.out(s, t) })
		us, err := s.without(rest, t)
		if err != nil {
			return nil, err
		}
		list = append(list, us/s.Usec-1)
	}
	return list, nil
}

// without predicts a figure by a fit to others.
func (s *sample) without(rest []sample, t Tier) (float64, error) {
	own := of(rest, func(t *sample) bool { return t.Machine.core == s.Machine.core })
	if len(own) == 0 {
		own = rest
	}
	if len(own) == 0 {
		return math.NaN(), nil
	}
	core := fitCore(own)
	us := core.predict(s)
	if own = of(rest, func(t *sample) bool { return t.Machine == s.Machine }); t == Mechanistic || len(own) == 0 {
		return us, nil
	}
	m := s.Machine
	o := &Model{Cores: map[string]Core{m.core: core}}
	more, err := o.correct(own)
	if err != nil {
		return 0, fmt.Errorf("%s without %s: %w", m.ID(), s.Probe.Name, err)
	}
	for k, e := range m.corrected() {
		us += s.events[e] * more[k] / m.MHz
	}
	return us, nil
}

// Margin returns the relative error that a tier's prediction of a figure keeps within with 95 %, by the errors of its
// figures when each is left out.
func (o *Model) Margin(t Tier) (float64, error) {
	errors, err := o.LeaveOut(t, LeftFigure)
	return margin(errors), err
}

// LargestLeftOut returns the largest relative error of figures when each is left out of the fit, and of how many; 0 of
// 0 if there are fewer than two.
func (o *Model) LargestLeftOut(t Tier) (largest float64, figures int, err error) {
	errors, err := o.LeaveOut(t, LeftFigure)
	if err != nil || len(errors) < 2 {
		return 0, 0, err
	}
	for _, e := range errors {
		largest = max(largest, math.Abs(e))
	}
	return largest, len(errors), nil
}

// margin is the jackknife's: it covers 95 % of the errors and one more. It assumes no distribution but needs at least
// 19 errors; with fewer it is infinite.
func margin(errors []float64) float64 {
	sorted := make([]float64, len(errors))
	for i, e := range errors {
		sorted[i] = math.Abs(e)
	}
	slices.Sort(sorted)
	k := int(math.Ceil(confidence * float64(len(errors)+1)))
	if k > len(sorted) {
		return math.Inf(1)
	}
	return sorted[k-1]
}

// Predicted returns the interval of a prediction: an error is relative to the truth.
func Predicted(v, margin float64) Interval {
	i := Interval{v / (1 + margin), math.Inf(1)}
	if margin < 1 {
		i.High = v / (1 - margin)
	}
	return i
}

// Shares returns, for each figure, the range of a part's share of the hit in fits that leave each figure out in turn.
func (o *Model) Shares(t Tier, part Part) ([]Interval, error) {
	list := make([]Interval, len(o.Samples))
	for i := range list {
		list[i] = Interval{math.Inf(1), math.Inf(-1)}
	}
	for i := range o.Samples {
		left, err := fit(slices.Delete(slices.Clone(o.Samples), i, i+1))
		if err != nil {
			return nil, err
		}
		for k := range o.Samples {
			s := &o.Samples[k]
			costs, err := left.Profile(s.Machine, t)
			if err != nil {
				return nil, err
			}
			all, shares := 0.0, (&Hit{Events: s.events}).Shares(costs)
			for _, v := range shares {
				all += v
			}
			v := shares[part] / all
			list[k] = Interval{min(list[k].Low, v), max(list[k].High, v)}
		}
	}
	return list, nil
}
