package overhead

import (
	"fmt"
	"math"
)

// A Claim is a statement of the documents about figures, besides the tables.
type Claim struct {
	Says      string
	Unit      string
	Low, High float64
	Assumed   bool      // the bounds are ours: the words have no number
	of        []operand // the figures
	value     func(us, base float64) float64
}

// An operand is a probe, and the one that it is compared with, if any.
type operand struct{ probe, base string }

// String returns the comparison.
func (o operand) String() string {
	if o.base == "" {
		return o.probe
	}
	return o.probe + " over " + o.base
}

// title is String with the probes' full names.
func (o operand) title() string {
	if o.base == "" {
		return titleOf(o.probe)
	}
	return titleOf(o.probe) + " over " + titleOf(o.base)
}

// titleOf returns the full name of a probe of the tables.
func titleOf(name string) string {
	for _, detours := range []bool{false, true} {
		for _, p := range Probes(detours) {
			if p.Name == name {
				return p.Title()
			}
		}
	}
	return name
}

func alone(us, _ float64) float64     { return us }
func rate(us, _ float64) float64      { return 1 / us }
func longer(us, base float64) float64 { return 100 * (us/base - 1) }

// Claims are those of the documents' chapter on overhead. Return probes are compared with the kprobe that works the
// same way.
var Claims = []Claim{
	{"1-2 million hits a second", "million/s", 1, 2, false, []operand{{"k", ""}}, rate},
	{"a kprobe hit takes 0.5-1.0 µs", "µs", 0.5, 1, false, []operand{{"k", ""}}, alone},
	{"a return probe takes 50-75 % longer", "%", 50, 75, false, []operand{{"r", "k"}, {"rb", "b"}, {"ro", "o"}},
		longer},
	{"a jprobe takes 50-75 % longer", "%", 50, 75, false, []operand{{"j", "k"}}, longer},
	{"a kprobe added to a return probe: essentially no overhead", "%", 0, 10, true, []operand{{"kr", "r"}}, longer},
	{"an optimized hit takes 0.07-0.1 µs", "µs", 0.07, 0.1, false, []operand{{"o", ""}}, alone},
}

// Bounds writes the numbers that a claim is held to.
func (c *Claim) Bounds() string { return fmt.Sprintf("%g to %g %s", c.Low, c.High, c.Unit) }

// An Answer is whether a claim holds.
type Answer uint8

// The answers.
const (
	Holds Answer = iota
	Fails
	Open // it depends on the rounded digits
)

var answerNames = [...]string{"holds", "doesn't", "rounding decides"}

// String returns the answer in words.
func (a Answer) String() string { return answerNames[a] }

// A Verdict is a claim, held against figures of one machine.
type Verdict struct {
	Claim      *Claim
	Machine    *Machine
	Of         string
	Title      string  // Of with the probes' full names
	Documented float64 // in the claim's unit
	Answer     Answer
	Ours       float64
	OurAnswer  Answer
}

// Verdicts holds each claim against each row of a table.
func Verdicts(table []Line) (list []Verdict) {
	for i := range Claims {
		c := &Claims[i]
		for k := range table {
			for _, op := range c.of {
				if l := &table[k]; l.Probe.Name == op.probe {
					base := l
					if op.base != "" {
						base = lineOf(table, l.Machine, op.base)
					}
					if base != nil {
						list = append(list, c.verdict(op, l, base))
					}
				}
			}
		}
	}
	return list
}

func lineOf(table []Line, m *Machine, probe string) *Line {
	for i := range table {
		if l := &table[i]; l.Machine == m && l.Probe.Name == probe {
			return l
		}
	}
	return nil
}

func (c *Claim) verdict(op operand, l, base *Line) Verdict {
	v := Verdict{Claim: c, Machine: l.Machine, Of: op.String(), Title: op.title(),
		Documented: c.value(l.Usec, base.Usec),
		Ours:       c.value(l.Ours, base.Ours)}
	in, out := 0, 0
	for _, us := range [2]float64{l.Usec - Rounding, l.Usec + Rounding} {
		for _, b := range [2]float64{base.Usec - Rounding, base.Usec + Rounding} {
			if c.holds(c.value(us, b)) {
				in++
			} else {
				out++
			}
		}
	}
	switch {
	case out == 0:
		v.Answer = Holds
	case in == 0 && !c.holds(v.Documented):
		v.Answer = Fails
	default:
		v.Answer = Open
	}
	if !c.holds(math.Round(100*v.Ours) / 100) { // as it is printed
		v.OurAnswer = Fails
	}
	return v
}

func (c *Claim) holds(v float64) bool { return c.Low <= v && v <= c.High }
