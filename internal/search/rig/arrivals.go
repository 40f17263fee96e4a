package rig

import (
	"slices"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Places lists where a CPU stood when a source of interrupts fired, and where it stood when
// the source could have fired: "victim+0x1", "sync_core step 1". The lists are sorted.
type Places struct {
	Source  string   `json:"source"`
	Fired   []string `json:"fired"`
	Visited []string `json:"visited"` // includes the places where it fired
}

// ForgetSeen forgets what the runs so far have shown: events, places, and what happened to
// probes. It lets one rig serve several searches.
func (r *Rig) ForgetSeen() {
	clear(r.Census.probes)
	r.Log.Forget()
	r.Arrivals.forget()
}

// arrivals records where sources of interrupts have fired.
type arrivals struct {
	*Plan
	sources []sim.Mover // that interrupt a CPU
	names   []string
	at      map[arrival]bool // true: fired; false: could have
	order   []arrival        // the keys of at, in the order of their insertion
}

// An arrival is a source and the place where its CPU stood.
type arrival struct {
	source sim.Mover
	spot   smp.Spot
}

func (a *arrivals) add(mv sim.Mover, name string) {
	a.sources = append(a.sources, mv)
	a.names = append(a.names, name)
}

func (a *arrivals) forget() {
	if a.at == nil {
		a.at = make(map[arrival]bool)
	}
	clear(a.at)
	a.order = a.order[:0]
}

// Event implements traces.Sink. When a source fires, its CPU hasn't moved yet.
func (a *arrivals) Event(e *traces.Event) *traces.Finding {
	if a.at != nil && e.CPU < sim.MaxCPUs {
		mv := sim.Mover(e.A)
		a.note(arrival{mv, a.Machine.Names().Spot(mv)}, true)
	}
	return nil
}

// Visit records that the sources of the set can fire where their CPUs stand now.
func (a *arrivals) Visit(set uint64) {
	for _, mv := range a.sources {
		if set>>(mv-sim.MoverSource)&1 == 0 {
			continue
		}
		a.note(arrival{mv, a.Machine.Names().Spot(mv)}, false)
	}
}

func (a *arrivals) note(k arrival, fired bool) {
	was, known := a.at[k]
	if !known {
		a.order = append(a.order, k)
	}
	if !known || fired && !was {
		a.at[k] = fired
	}
}

// List returns where sources of interrupts fired and could have fired since ForgetSeen, in the
// order of the sources.
func (a *arrivals) List() []Places {
	list := make([]Places, len(a.sources))
	for i, mv := range a.sources {
		p := &list[i]
		p.Source, p.Fired, p.Visited = a.names[i], []string{}, []string{}
		for _, k := range a.order {
			if k.source != mv {
				continue
			}
			at := a.name(k.spot)
			p.Visited = append(p.Visited, at)
			if a.at[k] {
				p.Fired = append(p.Fired, at)
			}
		}
		slices.Sort(p.Fired)
		slices.Sort(p.Visited)
		p.Fired, p.Visited = slices.Compact(p.Fired), slices.Compact(p.Visited)
	}
	return list
}

func (a *arrivals) name(s smp.Spot) string {
	var d traces.Deviation
	d.Name, d.Off, d.Text = a.Machine.Names().SpotName(s)
	return d.Place()
}

var arrivalKinds = []traces.Kind{smpev.Fire}
