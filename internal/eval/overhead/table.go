package overhead

import (
	"fmt"
	"math"

	"kpsim/kprobes"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A Line is a figure of the documents beside ours.
type Line struct {
	Figure
	Hit   Hit
	Ours  float64 // microseconds
	Error float64 // relative
}

// Same reports whether ours is printed as the figure is.
func (l *Line) Same() bool { return fmt.Sprintf("%.2f", l.Ours) == fmt.Sprintf("%.2f", l.Usec) }

// Beyond is how far ours is outside of the values that round to the figure, relative.
func (l *Line) Beyond() float64 { return max(0, math.Abs(l.Ours-l.Usec)-0.005) / l.Usec }

// Table runs each figure's scenario with the costs of its machine.
func (o *Model) Table(t Tier) (list []Line, err error) {
	for _, s := range o.Samples {
		p, err := o.Profile(s.Machine, t)
		if err != nil {
			return nil, err
		}
		l := Line{Figure: s.Figure}
		if l.Hit, err = s.Probe.Measure(p); err != nil {
			return nil, err
		}
		l.Ours = l.Hit.Cycles / s.Machine.MHz
		l.Error = l.Ours/l.Usec - 1
		list = append(list, l)
	}
	return list, nil
}

// A Part is a share of the costs.
type Part uint8

// The parts of a hit.
const (
	Hardware Part = iota // exceptions, returns, mispredictions, flags, lines of cache, instructions of text
	Dispatch             // to the probe and back, steps, detours
	Handlers
	Returns // following calls
	Locks
	Copies
	Parts
)

var partNames = [Parts]string{"hardware", "dispatch", "handlers", "return probes", "locks", "copies"}

// String returns the part's name.
func (p Part) String() string { return partNames[p] }

// PartOf returns the part of an event.
func PartOf(e cycles.Event) Part {
	switch e {
	case cycles.Work(kprobes.WorkLookup), cycles.Work(kapi.WorkNode), cycles.Work(kprobes.WorkStep),
		cycles.Work(kprobes.WorkResume),
		cycles.Work(kprobes.WorkWalk), cycles.Work(kprobes.WorkDetour), cycles.Work(kprobes.WorkEmulate), cycles.Point:
		return Dispatch
	case cycles.Work(kapi.WorkHandler):
		return Handlers
	case cycles.Work(kprobes.WorkCall), cycles.Work(kprobes.WorkReturn):
		return Returns
	case cycles.Work(kapi.WorkLock), cycles.Work(kapi.WorkUnlock):
		return Locks
	case cycles.Work(kapi.WorkSave), cycles.Work(kapi.WorkCopy):
		return Copies
	}
	return Hardware
}

// Shares returns the cycles of a hit by parts.
func (h *Hit) Shares(p *cycles.Profile) (by [Parts]float64) {
	for e, n := range h.Events {
		by[PartOf(cycles.Event(e))] += n * float64(p[e]) / cycles.Unit
	}
	return by
}
