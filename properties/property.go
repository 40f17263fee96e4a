package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/arch"
	"kpsim/traces"
)

// A Property is a rule that must hold in every run. It is data: an ID that is never
// reused, a name, a sentence that is printed with the property, the kinds of event that
// it needs, and the maker of its monitor.
type Property struct {
	ID    string
	Name  string
	Says  string
	Kinds []traces.Kind
	Reads []traces.Kind // of Kinds: the monitor doesn't get these, it reads their effect from the scene
	New   func(s *Scene) Monitor

	// Needs is a kind at the head of a log without which the property judges nothing; 0: it always judges. Runs without
	// it do without the monitor.
	Needs traces.Kind

	// Touches says which parts of the monitor's memory an event touches, so that steps
	// whose order it may notice are known not to commute. Two events of one CPU need no
	// object: they are always ordered. nil stands for one object that each event of
	// Kinds writes: correct for any monitor, but slow.
	Touches func(t *Touched, e *traces.Event)

	// Alone says that events touch nothing, and Touches is nil: the monitor remembers what
	// one task did, or nothing. Events of a task are ordered, whatever the others do, and
	// the judgement at the end doesn't depend on the others.
	Alone bool
	_     struct{}
}

// Touched collects what one event touches.
type Touched struct {
	proc processor

	// Set in advance: the address of each probe, by its ID, and the ranges in which
	// slots, detours and modules are allocated, each from its first address to the one
	// after its last. Memory outside these ranges is never freed. Sites are those of the
	// other patchers, in the same form.
	Addrs []uint64
	Lent  [][2]uint64
	Sites [][2]uint64

	list []Touch
}

// A Touch is an object that an event reads or writes. The order of two events with a
// common object matters if one of them writes it.
type Touch struct {
	Object uint64 // the property's own number, below 2^48; or an address
	Size   uint64 // in bytes of text; 0: Object is the property's own
	Write  bool
	Apart  bool // see ReadApart
}

// NewTouched returns one for runs on a processor.
func NewTouched(a *arch.Arch) Touched { return Touched{proc: processorOf(a)} }

// Begin forgets the last event.
func (t *Touched) Begin() { t.list = t.list[:0] }

// List returns the touches since Begin. It is valid until the next Begin.
func (t *Touched) List() []Touch { return t.list }

// Read and Write add an object of the property's own.
func (t *Touched) Read(object uint64)  { t.list = append(t.list, Touch{Object: object}) }
func (t *Touched) Write(object uint64) { t.list = append(t.list, Touch{Object: object, Write: true}) } // see Read

// ReadApart is Read by the Trap or the Return of an interrupt, if events of other CPUs
// may come between the two.
func (t *Touched) ReadApart(object uint64) {
	t.list = append(t.list, Touch{Object: object, Apart: true})
}

// ReadText and WriteText add n > 0 bytes of text at an address, which fetches read and
// stores write.
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

// onSite reports whether some of n bytes at an address are of a site.
func (t *Touched) onSite(addr, n uint64) bool {
	for _, s := range t.Sites {
		if addr < s[1] && s[0] < addr+n {
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

// line adds what a line of the kernel's log touches: what is known of kprobes/enabled, and
// where probes couldn't be armed, each probe.
func (t *Touched) line(e *traces.Event, file uint64) {
	if kpev.Line(e.A).Failed() || aboutSwitch(e) {
		t.Write(file)
		t.failures(e)
	}
}

// failures reads every probe, where a line says that some couldn't be armed.
func (t *Touched) failures(e *traces.Event) {
	for id := range t.Addrs {
		if kpev.Line(e.A).Failed() {
			t.Read(uint64(id))
		}
	}
}

// theSwitch is the object of kprobes/enabled.
const theSwitch = 1 << 42

// OfKernel reports whether only a kernel's own engine emits the events that the property needs.
func (p *Property) OfKernel() bool {
	other := func(k traces.Kind) bool { return k < linuxev.Warn || k > linuxev.Heap }
	return len(p.Kinds) > 0 && !slices.ContainsFunc(p.Kinds, other)
}

// reads reports whether the monitor reads a kind from the scene.
func (p *Property) reads(k traces.Kind) bool { return slices.Contains(p.Reads, k) }

// A Monitor watches the events of one run after another. It sees events, and the scene
// that is made of events, never the machine: its model of the truth is its own. It
// doesn't get irrelevant events (Scene).
type Monitor interface {
	traces.Sink

	// Reset forgets the last run. It keeps the memory and doesn't allocate.
	Reset()

	// End is called after the last event of a run that no finding ended. drained: all programs have finished and no
	// work is left.
	End(drained bool) *traces.Finding
}
