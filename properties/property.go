package properties

import (
	"slices"

	"kpsim/traces"
)

// A Property is something that must hold in every run. It is data: an ID that
// is never reused, a name, a sentence that is printed wherever the property
// is, the kinds of event that it rests on, and how to make its monitor.
type Property struct {
	ID    string
	Name  string
	Says  string
	Kinds []traces.Kind
	Reads []traces.Kind // of Kinds: of these the monitor isn't told, it reads what the scene makes of them
	New   func(s *Scene) Monitor

	// Touches says what an event touches of what the monitor remembers, so that
	// steps whose order it may notice are known not to commute. Two events of
	// one CPU need no object: they have an order anyway. nil stands for one
	// object, which each event of Kinds writes: right for any monitor, and dear.
	Touches func(t *Touched, e *traces.Event)
	_       struct{}
}

// Touched takes what one event touches.
type Touched struct {
	// Set before: where each probe is, by its ID, and the ranges in which slots,
	// detours and modules are handed out, each from its first address to that after
	// its last. What lies between two of them is never freed.
	Addrs []uint64
	Lent  [][2]uint64

	list []Touch
}

// A Touch is an object that an event reads or writes. Two events of which one
// writes it have an order that matters.
type Touch struct {
	Object uint64 // the property's own number, below 2^48; or an address
	Size   uint64 // of so many bytes of text; 0: Object is the property's own
	Write  bool
	Apart  bool // see ReadApart
}

// Begin forgets the last event.
func (t *Touched) Begin() { t.list = t.list[:0] }

// List returns what was taken since Begin. It is good until then.
func (t *Touched) List() []Touch { return t.list }

// Read and Write take an object of the property's own.
func (t *Touched) Read(object uint64)  { t.list = append(t.list, Touch{Object: object}) }
func (t *Touched) Write(object uint64) { t.list = append(t.list, Touch{Object: object, Write: true}) } // see Read

// ReadApart is Read by the Trap or the Return of an interrupt, if events of other
// CPUs may come between the two.
func (t *Touched) ReadApart(object uint64) {
	t.list = append(t.list, Touch{Object: object, Apart: true})
}

// ReadText and WriteText take n > 0 bytes of text at an address: what fetches of
// them read, and stores to them write.
func (t *Touched) ReadText(a, n uint64) { t.list = append(t.list, Touch{Object: a, Size: n}) }
func (t *Touched) WriteText(a, n uint64) { // see ReadText
	t.list = append(t.list, Touch{Object: a, Size: n, Write: true})
}

// isLent reports whether an address is in one of the ranges Lent.
func (t *Touched) isLent(addr uint64) bool {
	for _, r := range t.Lent {
		if addr-r[0] < r[1]-r[0] {
			return true
		}
	}
	return false
}

// readAt reads every probe that is at an address.
func (t *Touched) readAt(addr uint64) {
	for id, a := range t.Addrs {
		if a == addr {
			t.Read(uint64(id))
		}
	}
}

// writeAll writes every probe.
func (t *Touched) writeAll() {
	for id := range t.Addrs {
		t.Write(uint64(id))
	}
}

// theSwitch is the object of who reads what kprobes/enabled has switched.
const theSwitch = 1 << 42

// reads reports whether the monitor isn't told of a kind.
func (p *Property) reads(k traces.Kind) bool { return slices.Contains(p.Reads, k) }

// A Monitor watches the events of one run after another. It sees events, and
// the scene that is made of events, never the machine: its model of the truth
// is its own. Dull events (Scene) it isn't told of.
type Monitor interface {
	traces.Sink

	// Reset forgets the last run. It keeps its memory: no allocation.
	Reset()

	// End is called after the last event of a run that no finding ended.
	// drained says that everything came to its end: all programs ran out and
	// no work is left.
	End(drained bool) *traces.Finding
}
