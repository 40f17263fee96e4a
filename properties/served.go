package properties

import (
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A served is something that sites of ftrace call: a client of ftrace, or an fprobe.
type served struct {
	id     uint64   `state:"boot"`
	flags  uint64   `state:"boot"`
	all    bool     `state:"boot"` // without a filter it is called from all sites
	filter []uint64 // the sites that it wants
	on     bool     // it is registered, by the calls that have returned
	vague  bool     // calls overlapped that have no order for their callers
}

// wants reports whether it wants to be called from a site when it is registered.
func (s *served) wants(site uint64) bool {
	return s.all && len(s.filter) == 0 || slices.Contains(s.filter, site)
}

// An attaching is a call of Attach that hasn't returned.
type attaching struct {
	task            uint8
	id, call, value uint64
	crossed         bool // another client was registered meanwhile
	rivals          bool // another client may have changed the path at one of its sites, or it is registered already
}

// attaches reports whether a call adds calls of a client; the others remove some.
func attaches(call uint64) bool { return call == smpev.AttachFilter || call == smpev.AttachRegister }

// servants are the clients of ftrace and the fprobes of a run, as far as the callers of their API can know them.
type servants struct {
	list []served
	open []attaching
}

func (v *servants) reset() { v.list, v.open = v.list[:0], v.open[:0] }

// index returns the index of a subject, or -1.
func (v *servants) index(id uint64) int {
	return slices.IndexFunc(v.list, func(s served) bool { return s.id == id })
}

// leads takes a Leads event. It keeps the memory of the last run's filters.
func (v *servants) leads(e *traces.Event) {
	i := v.index(e.A)
	if i < 0 {
		i = len(v.list)
		if i == cap(v.list) {
			v.list = append(v.list, served{})
		}
		v.list = v.list[:i+1]
		v.list[i] = served{id: e.A, flags: e.C, all: e.B == 0, filter: v.list[i].filter[:0]}
	}
	if e.B != 0 && !v.list[i].wants(e.B) {
		v.list[i].filter = append(v.list[i].filter, e.B)
	}
}

// begin takes an Attach event of the subject with index i.
func (v *servants) begin(e *traces.Event, i int) *attaching {
	a := attaching{task: e.Task, id: e.A, call: e.B, value: e.C}
	for k := range v.open {
		o := &v.open[k]
		switch {
		case o.id == e.A && attaches(o.call) != attaches(e.B):
			v.list[i].vague = true
		case o.id != e.A && max(o.id, e.A) < smpev.SubjectFprobe && o.call == smpev.AttachRegister && e.B == o.call:
			o.crossed, a.crossed = true, true
		}
	}
	v.open = append(v.open, a)
	return &v.open[len(v.open)-1]
}

// end takes an Attached event of the subject with index i. It returns the call, and whether there was one.
func (v *servants) end(e *traces.Event, i int) (a attaching, ok bool) {
	k := slices.IndexFunc(v.open, func(o attaching) bool {
		return o.task == e.Task && o.id == e.A && o.call == e.B
	})
	if k < 0 {
		return a, false
	}
	a = v.open[k]
	v.open = slices.Delete(v.open, k, k+1)
	s := &v.list[i]
	switch {
	case e.B == smpev.AttachUnregister:
		s.on = false // an errno says that it was so before
	case e.C != 0:
	case e.B == smpev.AttachRegister:
		s.on = true
	case e.B == smpev.AttachFilter && !slices.Contains(s.filter, a.value):
		s.filter = insert(s.filter, a.value)
	case e.B == smpev.AttachUnfilter:
		s.filter = slices.DeleteFunc(s.filter, func(site uint64) bool { return site == a.value })
	}
	return a, true
}

// The knowledge about whether a site calls a client.
const (
	callsMaybe uint8 = iota
	callsNot
	callsIt
)

// calls returns the knowledge about whether a site calls the client with index i.
func (v *servants) calls(i int, site uint64) uint8 {
	s := &v.list[i]
	if s.vague {
		return callsMaybe
	}
	for k := range v.open {
		o := &v.open[k]
		filters := o.call == smpev.AttachFilter || o.call == smpev.AttachUnfilter
		if o.id == s.id && (!filters || o.value == site || len(s.filter) <= 1) {
			return callsMaybe
		}
	}
	if s.on && s.wants(site) {
		return callsIt
	}
	return callsNot
}
