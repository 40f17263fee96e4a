package shell

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/search/session"
	"kpsim/internal/ui/cli"
	"kpsim/properties"
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Breakpoints and watchpoints. They are checked after each step and don't change the run.

// mostStops is the maximum number of breakpoints and watchpoints together.
const mostStops = 64

// A stop is a breakpoint or a watchpoint. Exactly one of text, event, property, length and cell is set.
type stop struct {
	n    int
	says string // the command as it was typed

	text     bool                 // stops before a CPU executes the instruction at an address
	event    bool                 // stops at an event of a kind
	before   bool                 // with event: stops before the step that makes it
	property *properties.Property // stops before a step that breaks it
	length   int                  // bytes watched at an address; 0: none
	cell     kapi.CellID          // stops after a step that stores to this variable of a kernel routine

	at   arch.Addr
	kind traces.Kind
	size uint64 // with event: only those whose address lies in the size bytes from at; 0: all of them
	cpu  int    // whose event; -1: any CPU's

	there uint64 // CPUs that stood at the address before the step, as a bit set
	old   []byte // memory at the address before the step
}

// breakpoints are those of a session.
type breakpoints struct {
	s       *machine
	list    []*stop
	made    int           // breakpoints made so far, which numbers them
	heard   *hearer       // the events of a step
	reasons []string      // why the machine stopped
	once    *stop         // the stop of until, deleted when the command is over
	met     func() string // returns why finish or next is to stop, "" for not yet; nil: neither runs
	back    *earlier      // the latest stop of the run that reverse-continue or reverse-next repeats; nil: neither does
	about   int           // the CPU of commands that name none; -1: the one that moved last
	spared  uint64        // the step before which a breakpoint last stopped; 0: none
	from    uint64        // steps made when the command began
	undo    bool          // the last step is to be undone
}

// A hearer collects the events of one step.
type hearer struct {
	on     bool
	events []traces.Event
	stores []cellStore
}

// A cellStore is a store to a cell, by a CPU.
type cellStore struct {
	cpu uint8
	id  kapi.CellID
}

// stored notes a store to a cell.
func (h *hearer) stored(cpu uint8, id kapi.CellID) {
	if h.on {
		h.stores = append(h.stores, cellStore{cpu, id})
	}
}

// Event implements traces.Sink.
func (h *hearer) Event(e *traces.Event) *traces.Finding {
	if h.on {
		h.events = append(h.events, *e)
	}
	return nil
}

func kindNames() (names []string) {
	for _, k := range kinds() {
		names = append(names, k.String())
	}
	return names
}

// kinds returns the event kinds of all vocabularies.
func kinds() (list []traces.Kind) {
	for k := range traces.EngineBlock + 64 {
		if k.String() != "" {
			list = append(list, k)
		}
	}
	return list
}

// breakAt is the command break.
func (h *sh) breakAt(args []string) error {
	if len(args) == 0 {
		return h.breaks()
	}
	s, remark, err := h.stopAt("break", args)
	if err != nil {
		return err
	}
	if err := h.stops.add(h.p, s); err != nil || remark == "" {
		return err
	}
	h.p.Indented("  ", remark)
	return nil
}

// beforeWord makes a breakpoint on an event stop before the step that makes the event.
const beforeWord = "before"

// stopAt reads what break and until take. The remark is that of reachable.
func (h *sh) stopAt(command string, args []string) (s *stop, remark string, err error) {
	s = &stop{says: command + " " + strings.Join(args, " "), cpu: -1}
	if len(args) > 1 && args[0] == beforeWord {
		s.before, args = true, args[1:]
	}
	if len(args) == 0 || len(args) > 2 {
		return nil, "", errUsage
	}
	name := unstarred(args[0])
	if kind, ok := kindNamed(name); ok {
		s.event, s.kind = true, kind
		if len(args) == 2 {
			err = h.s.narrow(s, args[1])
		}
		return s, "", err
	}
	if s.before && len(args) == 1 && h.s.isPlace(name) { // a store to it
		s.event, s.kind = true, smpev.TextStore
		return s, "", h.s.around(s, name)
	}
	if len(args) == 2 {
		if s.cpu, err = h.s.cpu(args[1]); err != nil {
			return nil, "", err
		}
	}
	if s.cpu < 0 && h.s.isPlace(name) {
		if s.at, err = h.s.place(name); err != nil {
			return nil, "", err
		}
		s.text = true
		remark, err = h.s.reachable(name, s.at)
		return s, remark, err
	}
	if at, ok, err := h.s.kernelPlace(name); ok && s.cpu < 0 && !s.before {
		s.text, s.at = true, at
		return s, "", err
	}
	if p, ok := properties.ByName(name); ok && s.cpu < 0 {
		s.property = p
		return s, "", nil
	}
	near := nearest.DidYouMean(name, slices.Concat(h.s.functions(), h.s.kernelFunctions(), kindNames(),
		properties.Words()))
	if near == "" {
		near = propertiesLike(name)
	}
	if near != "" {
		near += " "
	}
	return nil, "", fmt.Errorf("%s is no function, kind of event or property; %swrite %s %s, %s TextStore or %s T1",
		name, near, command, h.s.aFunction(), command, command)
}

// kindNamed returns the kind of event of a name.
func kindNamed(name string) (kind traces.Kind, ok bool) {
	for _, k := range kinds() {
		if strings.EqualFold(k.String(), name) {
			return k, true
		}
	}
	return 0, false
}

// propertiesLike lists the properties that share the letter of an unknown ID.
func propertiesLike(id string) string {
	if _, err := strconv.ParseUint(id[min(1, len(id)):], 10, 32); err != nil {
		return ""
	}
	var ids []string
	for _, p := range properties.All {
		if strings.EqualFold(p.ID[:1], id[:1]) {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	if ids == nil {
		return ""
	}
	return "there are " + cli.List(ids) + ";"
}

// title begins the reason for a stop. That of until has no number.
func (s *stop) title() string {
	if s.n == 0 {
		return s.says + ": "
	}
	return fmt.Sprintf("%d: %s: ", s.n, s.says)
}

func (b *breakpoints) add(p *cli.Program, s *stop) error {
	if len(b.list) == mostStops {
		return fmt.Errorf("there are %d breakpoints already; delete one", mostStops)
	}
	b.made++
	s.n = b.made
	b.list = append(b.list, s)
	fmt.Fprintf(p.Out, "%d: %s\n", s.n, s.says)
	return nil
}

// breaks is the command breaks: it lists breakpoints and watchpoints.
func (h *sh) breaks() error {
	if len(h.stops.list) == 0 {
		fmt.Fprintln(h.p.Out, "there is no breakpoint; break "+h.s.aFunction()+" makes one")
	}
	for _, s := range h.stops.list {
		fmt.Fprintf(h.p.Out, "%d: %s\n", s.n, s.says)
	}
	return nil
}

func (h *sh) deleteStops(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	if len(args) == 1 && args[0] == "all" {
		h.stops.list = nil
		return nil
	}
	for _, a := range args {
		i := slices.IndexFunc(h.stops.list, func(s *stop) bool { return strconv.Itoa(s.n) == a })
		if i < 0 {
			return fmt.Errorf("%s is no number of a breakpoint; break lists them", a)
		}
		h.stops.list = slices.Delete(h.stops.list, i, i+1)
	}
	return nil
}

// standing returns the CPUs whose next instruction is at the address, as a bit set.
func (h *machine) standing(at arch.Addr) (set uint64) {
	m := h.Rig.Machine
	for cpu := range m.CPUs() {
		if regs, kernel := m.Inspect().Regs(cpu); !kernel && regs.IP == at {
			set |= 1 << cpu
		}
	}
	return set
}

// halt is called before and after each step, and reports whether the machine stops there.
func (b *breakpoints) halt(made bool) bool {
	if !made {
		b.heard.events, b.heard.stores = b.heard.events[:0], b.heard.stores[:0]
		for _, s := range b.list {
			switch {
			case s.text:
				s.there = b.s.standing(s.at)
			case s.length > 0:
				s.old = b.s.bytesAt(s)
			}
		}
		return false
	}
	before := len(b.reasons)
	for _, s := range b.list {
		b.look(s)
	}
	if b.met != nil {
		if says := b.met(); says != "" {
			b.reasons = append(b.reasons, says)
		}
	}
	return len(b.reasons) > before
}

// look adds to the reasons for stopping if the step met s.
func (b *breakpoints) look(s *stop) {
	m := b.s.Rig.Machine
	because := func(format string, args ...any) {
		b.reasons = append(b.reasons, s.title()+fmt.Sprintf(format, args...))
	}
	switch {
	case s.text:
		for cpu := range m.CPUs() {
			if come := b.s.standing(s.at) &^ s.there; come>>cpu&1 != 0 {
				b.about = cpu
				because("cpu%d is at %s, %s", cpu, m.Names().Symbol(s.at), b.s.position())
			}
		}
	case s.event && s.before && b.isSpared():
	case s.event:
		for i := range b.heard.events {
			e := &b.heard.events[i]
			if !s.about(e) {
				continue
			}
			b.about = int(e.CPU)
			if s.before {
				b.undo = true
				because("cpu%d's next step makes event %d: %s", e.CPU, e.Seq, b.s.describe(e))
				break
			}
			because("cpu%d, event %d: %s", e.CPU, e.Seq, b.s.describe(e))
		}
	case s.cell > 0:
		if i := slices.IndexFunc(b.heard.stores, func(o cellStore) bool { return o.id == s.cell }); i >= 0 {
			b.about = int(b.heard.stores[i].cpu)
			because("stored to by cpu%d %s, %s", b.about, m.Inspect().Current(b.about).Name, b.s.position())
		}
	case s.length > 0:
		if is := b.s.bytesAt(s); !bytes.Equal(is, s.old) || b.stored(s) >= 0 {
			became := fmt.Sprintf("% x", is)
			if len(is) < s.length {
				became = "gone from memory"
			}
			because("%s was % x, is %s; written by %s, %s", m.Names().Symbol(s.at), s.old, became, b.writer(),
				b.when(s))
		}
	}
}

// isSpared reports whether a breakpoint has stopped before the step that was made last, and the command began there:
// then it goes on.
func (b *breakpoints) isSpared() bool {
	last := b.s.steps()
	return b.from+1 == last && b.spared == last
}

// tellUnmet says that a command hasn't come to what it was to stop at, unless it has ended with an error.
func (h gdb) tellUnmet(s *stop, err error) error {
	if err == nil && len(h.stops.reasons) == 0 && (h.s.Run == nil || h.s.Run.Property == nil) {
		h.p.Indented("", s.says+" wasn't met")
	}
	return err
}

// stored returns the index of the step's event that stores to the text watched by s, or -1.
func (b *breakpoints) stored(s *stop) int {
	return slices.IndexFunc(b.heard.events, func(e traces.Event) bool {
		return e.Kind == smpev.TextStore && arch.Addr(e.A) < s.at+arch.Addr(s.length) &&
			s.at < arch.Addr(e.A)+arch.Addr(e.C)
	})
}

// writer names the CPU or source that made the step.
func (b *breakpoints) writer() string {
	switch mv := b.s.Moved(); {
	case mv != sim.NoMover:
		return b.s.Rig.Machine.Names().Mover(mv)
	case len(b.heard.events) > 0:
		return fmt.Sprintf("cpu%d", b.heard.events[0].CPU)
	}
	return "a CPU"
}

// when says at which event the watched bytes were written. A store to data is no event: then it
// says where the run stands.
func (b *breakpoints) when(s *stop) string {
	if i := b.stored(s); i >= 0 {
		return fmt.Sprintf("event %d, step %d", b.heard.events[i].Seq, b.s.steps())
	}
	return b.s.position()
}

// steps returns the number of steps made.
func (h *machine) steps() uint64 { return h.Rig.Machine.Interactive().Steps() }

// position describes the point that the run has reached.
func (h *machine) position() string {
	n := len(h.Rig.Log.Events)
	if n == 0 {
		return cli.Number(h.steps(), "step")
	}
	return fmt.Sprintf("step %d, after event %d", h.steps(), n-1)
}

// tellStops prints why the machine stopped. A step that breaks a property with a breakpoint is
// undone, and back is true; so is one with a breakpoint before its event.
func (h *sh) tellStops() (back bool, err error) {
	for _, r := range h.stops.reasons {
		h.p.Indented("", r)
	}
	if h.s.Halted && len(h.stops.reasons) == 0 && h.s.Run == nil {
		h.p.Indented("", "interrupted at "+h.s.position()+"; continue goes on")
	}
	h.stops.reasons = nil
	last := h.s.steps()
	if h.stops.undo {
		h.stops.undo = false
		return true, gdb{h}.undo(last)
	}
	if h.s.Run == nil || h.s.Run.Property == nil || h.told {
		return false, nil
	}
	i := slices.IndexFunc(h.stops.list, func(s *stop) bool { return s.property == h.s.Run.Property })
	if i < 0 || last == 0 || h.stops.isSpared() {
		return false, nil
	}
	verdict := h.s.Verdict()
	if err := (gdb{h}).undo(last); err != nil {
		return true, err
	}
	h.p.Indented("", h.stops.list[i].title()+"the next step breaks it, "+h.s.position()+"; step makes it")
	h.p.Indented("", verdict)
	return true, nil
}

// undo goes back before a step, the last that was made, which the next command may make.
func (h gdb) undo(last uint64) error {
	if err := h.again(place{last - 1, session.NoLimit}); err != nil {
		return err
	}
	h.stops.spared = last
	return nil
}

var errNoStep = errors.New("no step was made yet")
