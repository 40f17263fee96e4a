package traces

import (
	"math/bits"
	"slices"
)

// A Finding is a violation of a property: where, and what was seen.
type Finding struct {
	Place   uint64 // an address of text, or 0
	Message string

	// Slow says that a CPU stood still between two instructions while others changed
	// its text, and no interrupt explains why. On real processors that takes a
	// hypervisor or an SMI. A finding that isn't Slow is preferred.
	Slow bool
}

// A Sink gets each event of the kinds it subscribes to, in order. It must not keep the
// event. A finding ends the run.
type Sink interface {
	Event(e *Event) *Finding
}

// A Log takes the events of a run: it adds each to the digest and passes it to its
// sinks. It stores events only on request, for replays; a search stores nothing.
type Log struct {
	digest uint64
	seq    uint32
	kinds  [kindCount]struct {
		subs []Sink
		seen bool
	}
	ev Event

	Found   *Finding // the first finding of the run
	Finder  Sink     // the sink that found it
	FoundAt uint32   // ordinal of the event at which it was found, if any
	Stop    func()   // called at the first finding, if not nil
	Store   bool     // keep the events in Events
	Events  []Event
}

// Subscribe makes s a sink for the kinds until it unsubscribes. Sinks get an event in
// the order in which they subscribed.
func (l *Log) Subscribe(s Sink, kinds ...Kind) {
	for _, k := range kinds {
		l.kinds[k].subs = append(l.kinds[k].subs, s)
	}
}

// SubscribeAll makes s a sink for events of every kind.
func (l *Log) SubscribeAll(s Sink) {
	for k := range l.kinds {
		l.Subscribe(s, Kind(k))
	}
}

// Unsubscribe undoes a Subscribe to the kinds, or all of s's Subscribes if none are given.
// It is called between two runs, so that sinks which few runs use cost the others nothing.
func (l *Log) Unsubscribe(s Sink, kinds ...Kind) {
	for _, k := range kinds {
		l.unsubscribe(s, k)
	}
	if len(kinds) == 0 {
		for k := range l.kinds {
			l.unsubscribe(s, Kind(k))
		}
	}
}

func (l *Log) unsubscribe(s Sink, k Kind) {
	subs := &l.kinds[k].subs
	if i := slices.Index(*subs, s); i >= 0 {
		*subs = slices.Delete(*subs, i, i+1)
	}
}

// Reset begins a new run.
func (l *Log) Reset() {
	l.digest = 0x6b7073696d // "kpsim"
	l.seq = 0
	l.Found, l.Finder, l.FoundAt = nil, nil, 0
	l.Events = l.Events[:0]
}

// Emit adds one event.
func (l *Log) Emit(k Kind, cpu, task uint8, a, b, c uint64) {
	h := l.digest ^ uint64(k)<<32 ^ uint64(cpu)<<16 ^ uint64(task)
	h = fold(h, 0x9e3779b97f4a7c15^a)
	l.digest = fold(h^b, 0xd1342543de82ef95^c)
	seq := l.seq
	l.seq++
	kind := &l.kinds[k]
	kind.seen = true
	if len(kind.subs) == 0 && !l.Store {
		return
	}
	e := &l.ev
	e.Seq, e.Kind, e.CPU, e.Task, e.A, e.B, e.C = seq, k, cpu, task, a, b, c
	if l.Store {
		l.keep()
	}
	for _, s := range kind.subs {
		if f := s.Event(e); f != nil {
			l.found(f, s)
		}
	}
}

// Tell passes an event to the sinks only. The event isn't part of the digest, isn't stored,
// and has the ordinal of the next event.
func (l *Log) Tell(k Kind, cpu, task uint8, a, b, c uint64) {
	kind := &l.kinds[k]
	if len(kind.subs) == 0 {
		return
	}
	e := &l.ev
	e.Seq, e.Kind, e.CPU, e.Task, e.A, e.B, e.C = l.seq, k, cpu, task, a, b, c
	for _, s := range kind.subs {
		if f := s.Event(e); f != nil {
			l.found(f, s)
		}
	}
}

func (l *Log) keep() { l.Events = append(l.Events, l.ev) }

// found handles a finding about the current event.
func (l *Log) found(f *Finding, by Sink) {
	if l.Found != nil {
		return
	}
	l.Found, l.Finder, l.FoundAt = f, by, l.ev.Seq
	if l.Stop != nil {
		l.Stop()
	}
}

// Seen reports whether an event of the kind was emitted since Forget, in any run.
func (l *Log) Seen(k Kind) bool { return l.kinds[k].seen }

// Forget resets Seen.
func (l *Log) Forget() {
	for k := range l.kinds {
		l.kinds[k].seen = false
	}
}

// A Mark is a position of a log in a run. Another run that begins with the same events
// can continue from it.
type Mark struct {
	digest uint64
	seq    uint32
	kind   Kind
}

// Mark returns the current position. All events so far must be of one kind.
func (l *Log) Mark(k Kind) Mark { return Mark{l.digest, l.seq, k} }

// Resume sets the log to that of a run at the mark. The events before it are neither
// sent to sinks nor stored.
func (l *Log) Resume(m Mark) {
	l.digest, l.seq = m.digest, m.seq
	if m.seq > 0 {
		l.kinds[m.kind].seen = true
	}
}

// Next returns the ordinal that the next event will have.
func (l *Log) Next() uint32 { return l.seq }

// Mix adds one word to the digest. It costs a multiplication, because every executed
// instruction calls it.
func (l *Log) Mix(v uint64) { l.digest = fold(l.digest^v, 0x9e3779b97f4a7c15) }

// Digest returns the digest of everything since Reset. Equal runs have equal digests,
// on any machine and at any GOMAXPROCS.
func (l *Log) Digest() uint64 { return l.digest }

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a|1, b|1) // |1: a zero factor would forget the other
	return hi ^ bits.RotateLeft64(lo, 23) ^ a
}
