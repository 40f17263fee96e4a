package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/litmus/axioms"
	"kpsim/internal/litmus/ctest"
	"kpsim/smp/lkmm"
)

// mostWaits is how many states of the machine are searched for threads that wait for ever, and
// mostTold for a schedule that can be told.
const (
	mostWaits = 20_000
	mostTold  = 50_000
)

// Judge finds what the kernel's memory model allows a test in C to end with, and whether its plain
// accesses race. Options.Memory says nothing here.
func Judge(c *C, o Options) (*Result, error) {
	r, err := axioms.Search(c.t, axioms.Options{
		Most: cmp.Or(o.Most, DefaultMost), Stop: o.Stop, Far: o.Far,
		Text: func(get axioms.Get) string {
			return c.state(func(thread, local, location int) (int64, bool) {
				return get(thread, local, location), true
			})
		},
	})
	if err != nil {
		return nil, err
	}
	all := &Result{Runs: uint64(r.Candidates), States: r.Candidates, Complete: r.Complete,
		Unlisted: r.Complete && !r.Listed, Race: r.Race}
	all.Stopped = o.Stop != nil && o.Stop.Load()
	for _, a := range r.Outcomes {
		all.Outcomes = append(all.Outcomes, Outcome{Text: a.Text, Holds: a.Holds, Accesses: a.Accesses})
	}
	if all.Endless, err = c.endless(o); err != nil {
		return nil, err
	}
	return all, nil
}

// endless reports whether threads may wait for ever. Executions don't say that; the machine does,
// whatever the memory.
func (c *C) endless(o Options) (bool, error) {
	if !slices.ContainsFunc(c.t.Threads, mayWait) {
		return false, nil
	}
	p, err := NewC(c.t, SC)
	if err != nil {
		return false, err
	}
	r, err := Search(p, Options{Memory: SC, Most: mostWaits, Stop: o.Stop})
	return r != nil && r.Endless, err
}

// mayWait reports whether a thread may keep others or itself waiting for ever: it takes a lock while
// it holds one, it ends with one, or it waits for readers within a section. What only an arm of an
// if gives back counts as held.
func mayWait(p *ctest.Program) bool {
	var held, arms int
	var inside [lkmm.Domains]int
	for i := range p.Code {
		in := &p.Code[i]
		switch in.Op {
		case ctest.Branch:
			arms++
		case ctest.Join:
			arms--
		case ctest.Lock, ctest.TryLock:
			if held++; held > 1 {
				return true
			}
		case ctest.Unlock:
			if arms == 0 {
				held--
			}
		case ctest.ReadLock:
			inside[in.Domain]++
		case ctest.ReadUnlock:
			if arms == 0 {
				inside[in.Domain]--
			}
		case ctest.Synchronize:
			if inside[in.Domain] > 0 {
				return true
			}
		}
	}
	return held > 0
}

// Schedule finds a schedule of the machine that leads to an outcome like o: one in which the
// condition holds as in o. It returns nil if none is found within a bound.
func Schedule(c *C, o *Outcome, memory Memory) (*Outcome, error) {
	r, err := Search(c, Options{Memory: memory, Most: mostTold})
	if err != nil {
		return nil, err
	}
	var best *Outcome
	for i := range r.Outcomes {
		s := &r.Outcomes[i]
		if s.Holds == o.Holds && (best == nil || len(s.Schedule.Choices) < len(best.Schedule.Choices)) {
			best = s
		}
	}
	return best, nil
}

// Execution tells an outcome by its accesses, thread by thread.
func (c *C) Execution(o *Outcome) (lines []Line) {
	for _, a := range o.Accesses {
		l := Line{CPU: a.Thread, What: "read " + c.t.Locations[a.Location].Name}
		switch {
		case a.Store:
			l.What = "write " + c.t.Locations[a.Location].Name
			l.Note = "it stores " + c.show(a.Value)
			if len(a.After) > 1 {
				var values []string
				for _, v := range a.After {
					values = append(values, c.show(v))
				}
				l.Note += ", after " + strings.Join(values, ", ")
			}
		case a.From < 0:
			l.Note = "it reads " + c.show(a.Value) + ", the initial value"
		default:
			l.Note = fmt.Sprintf("it reads %s, which P%d stores", c.show(a.Value), a.From)
		}
		lines = append(lines, l)
	}
	return lines
}

// RaceText says which accesses race.
func (c *C) RaceText(r *axioms.Race) string {
	var sides []string
	for _, a := range r.Of {
		s := map[bool]string{true: "writes ", false: "reads "}[a.Store] + c.t.Locations[r.Location].Name
		if a.Plain {
			s += " without " + map[bool]string{true: "WRITE_ONCE", false: "READ_ONCE"}[a.Store]
		}
		sides = append(sides, fmt.Sprintf("P%d %s (line %d)", a.Thread, s, a.Line))
	}
	return strings.Join(sides, ", ")
}

// Plain reports whether a test has accesses without READ_ONCE or WRITE_ONCE.
func (c *C) Plain() bool {
	return slices.ContainsFunc(c.t.Threads, func(p *ctest.Program) bool {
		return slices.ContainsFunc(p.Code, func(in ctest.Instr) bool { return in.Plain })
	})
}
