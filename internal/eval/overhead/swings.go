package overhead

import (
	"cmp"
	"math"
	"slices"
)

// An Assumption is a number that goes into a fit and was not measured on its machine.
type Assumption struct {
	Name   string
	Source Source // Typical: by the literature; Counted: in the code as it is written again in C
	By     float64
	of     func(m *Machine) *float64
}

// How far assumptions may be off, as a share of their value.
const (
	typicalOff = 0.4 // two in three are within (study of cycles 2)
	countedOff = 0.2 // the larger of 15 and 20 % (study of cycles 1)
)

var assumptions = []Assumption{
	{"a locked instruction", Typical, typicalOff, func(m *Machine) *float64 { return &m.lock }},
	{"a mispredicted return", Typical, typicalOff, func(m *Machine) *float64 { return &m.mispredict }},
	{"a block copied", Typical, typicalOff, func(m *Machine) *float64 { return &m.block }},
	{"flags", Typical, typicalOff, func(m *Machine) *float64 { return &m.flags }},
	{"flags of a detour", Typical, typicalOff, func(m *Machine) *float64 { return &m.typical.detour }},
	{"code of an exception", Counted, countedOff, func(m *Machine) *float64 { return &m.code.entry }},
	{"code of a lookup", Counted, countedOff, func(m *Machine) *float64 { return &m.code.lookup }},
	{"code of a node", Counted, countedOff, func(m *Machine) *float64 { return &m.code.node }},
	{"code of a step", Counted, countedOff, func(m *Machine) *float64 { return &m.code.step }},
	{"code after a step", Counted, countedOff, func(m *Machine) *float64 { return &m.code.resume }},
	{"code of a handler", Counted, countedOff, func(m *Machine) *float64 { return &m.code.handler }},
	{"code of a probe's turn", Counted, countedOff, func(m *Machine) *float64 { return &m.code.walk }},
	{"code of a jprobe", Counted, countedOff, func(m *Machine) *float64 { return &m.code.save }},
	{"code of a call followed", Counted, countedOff, func(m *Machine) *float64 { return &m.code.call }},
	{"code of its return", Counted, countedOff, func(m *Machine) *float64 { return &m.code.ret }},
	{"code of a detour", Counted, countedOff, func(m *Machine) *float64 { return &m.code.detour }},
	{"code of a lock", Counted, countedOff, func(m *Machine) *float64 { return &m.code.locking }},
}

// A Swing is what a result becomes with an assumption at its low and at its high, everything fitted again.
type Swing struct {
	Assumption
	Value     float64 // of the assumption: cycles, or instructions
	Low, High float64
}

// width is how far apart the results are.
func (s *Swing) width() float64 { return math.Abs(s.High - s.Low) }

// A Result is a number of a hit that assumptions move.
type Result uint8

// The results.
const (
	LeftOutUsec   Result = iota // microseconds of a hit, predicted without its figure
	HardwareShare               // share of a hit's cycles that is the hardware's, with all figures
)

// Swings returns a result of the mechanistic tier, and what each assumption makes of it, the widest first. An
// assumption moves on all machines of a core together, because they share the fitted numbers.
func (o *Model) Swings(m *Machine, probe string, r Result) (base float64, list []Swing, err error) {
	own := of(o.Samples, func(s *sample) bool { return s.Machine.core == m.core })
	if base, err = resultOf(own, m.ID(), probe, r); err != nil {
		return 0, nil, err
	}
	for _, a := range assumptions {
		s := Swing{Assumption: a, Value: *a.of(m)}
		if s.Value == 0 {
			continue
		}
		if s.Low, err = resultOf(scaled(own, a, 1-a.By), m.ID(), probe, r); err != nil {
			return 0, nil, err
		}
		if s.High, err = resultOf(scaled(own, a, 1+a.By), m.ID(), probe, r); err != nil {
			return 0, nil, err
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b Swing) int { return cmp.Compare(b.width(), a.width()) })
	return base, list, nil
}

// scaled returns samples of machines with an assumption times a factor.
func scaled(list []sample, a Assumption, factor float64) []sample {
	list = slices.Clone(list)
	own := make(map[*Machine]*Machine)
	for i := range list {
		m, ok := own[list[i].Machine]
		if !ok {
			changed, code := *list[i].Machine, *list[i].Machine.code
			m = &changed
			m.code = &code
			*a.of(m) *= factor
			own[list[i].Machine] = m
		}
		list[i].Machine = m
	}
	return list
}

// resultOf works a result out by the figures of a core.
func resultOf(list []sample, machine, probe string, r Result) (float64, error) {
	i := slices.IndexFunc(list, func(s sample) bool { return s.Machine.ID() == machine && s.Probe.Name == probe })
	s := &list[i]
	if r == LeftOutUsec {
		return s.without(slices.Delete(slices.Clone(list), i, i+1), Mechanistic)
	}
	o, err := fit(list)
	if err != nil {
		return 0, err
	}
	costs, err := o.Profile(s.Machine, Mechanistic)
	if err != nil {
		return 0, err
	}
	all, shares := 0.0, (&Hit{Events: s.events}).Shares(costs)
	for _, v := range shares {
		all += v
	}
	return shares[Hardware] / all, nil
}
