package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// ReadsTrue is property F2: what is read in the middle of a run was true at some moment of the read (spec 7).
//
// Based on: Reading, ReadLine and ReadEnd against the calls of the API, the writes of the switches, and Missed and
// RetMissed. A walk of the table finds each probe once: an aggregate takes the place of its probe in the chain, its
// list gets and loses probes under RCU, and a probe is in one chain as long as it is registered.
var ReadsTrue = Property{
	ID:   "F2",
	Name: "reads-true",
	Says: "What is read while others work was true at some moment of the read: kprobes/list has each probe that was " +
		"registered throughout once, none that wasn't, and no tag that can't have been true; a switch's file says " +
		"what it may have been set to; nmissed isn't more than was missed since the registration.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Image, smpev.Retire, smpev.Trap, kpev.ApiEnter, kpev.ApiReturn, kpev.Kind, kpev.NoJump,
		kpev.Missed, kpev.RetMissed, kpev.Sysctl, kpev.Enabled, kpev.Reading, kpev.ReadLine, kpev.ReadEnd,
	},
	Reads: []traces.Kind{smpev.Load, smpev.Image, kpev.Kind},
	New:   func(s *Scene) Monitor { return &readsTrue{scene: s} },
	Needs: kpev.Reading,
}

type readsTrue struct {
	scene  *Scene
	open   []reading // under way; a handler's comes after that of the task it interrupts
	seen   []sighting
	lines  []gotLine
	files  [2]switchFile // enabled, and the sysctl
	missed []misses
	noJump []uint64 // probes at which no jump may be
	faults uint64   // faults: in a handler one counts as a miss of each probe of the place (kprobe_fault_handler)
}

// A reading is a read under way.
type reading struct {
	task  uint8
	what  uint64
	could [2]bool // of a switch: the values that it may have had since the read began
	off   bool    // of the list: no jump was allowed since then, certainly
}

// A sighting is what a reader of the list may find of a probe at an address, since it began.
type sighting struct {
	task              uint8
	probe, addr       uint64
	letter            byte
	always, sometimes bool // it was registered
	down, up          bool // it was disabled, enabled, all the time
}

// A gotLine is a line that a task has read.
type gotLine struct {
	task uint8
	listedLine
}

// A switchFile is what is known of a switch.
type switchFile struct {
	may        [2]bool // the values that it may have
	busy       int     // writes under way
	overlapped bool    // one of them overlaps another
	sure       bool    // the last write overlapped none, and has returned
}

// A misses counts the misses of a probe.
type misses struct {
	probe uint64
	most  uint64 // what its nmissed may be at most
	since uint64 // since the register under way began
	regs  int    // register: calls under way
}

func (m *readsTrue) Reset() {
	m.open, m.seen, m.lines, m.missed, m.noJump = m.open[:0], m.seen[:0], m.lines[:0], m.missed[:0], m.noJump[:0]
	m.faults = 0
	on := switchFile{may: [2]bool{1: true}}
	m.files = [2]switchFile{on, on}
}

func (m *readsTrue) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.NoJump:
		m.noJump = append(m.noJump, e.A)
	case kpev.Enabled:
		m.write(0, e)
	case kpev.Sysctl:
		m.write(1, e)
	case kpev.Missed, kpev.RetMissed:
		if ret := m.scene.probes.kind(e.A).kind == 1; ret == (e.Kind == kpev.RetMissed) {
			n := m.countOf(e.A)
			n.most++
			n.since++
		}
	case kpev.ApiEnter, kpev.ApiReturn:
		m.called(e)
		m.look()
	case smpev.Retire:
		m.look()
	case smpev.Trap:
		if e.A < 32 && e.A != smpev.VecBP && e.A != smpev.VecDB && e.A != smpev.VecNMI {
			m.faults++
		}
	case kpev.Reading:
		m.begin(e)
	case kpev.ReadLine:
		m.lines = append(m.lines, gotLine{e.Task, listedLine{e.A, byte(e.B), e.C}})
	case kpev.ReadEnd:
		return m.end(e)
	}
	return nil
}

// write follows a write of a switch.
func (m *readsTrue) write(file int, e *traces.Event) {
	f, v := &m.files[file], min(e.A, 1)
	if e.B == 0 {
		f.overlapped = f.busy > 0
		f.busy++
		f.may[v], f.sure = true, false
	} else {
		f.busy = max(f.busy-1, 0)
		if !f.overlapped {
			f.may, f.sure = [2]bool{}, true
			f.may[v] = true
		}
		f.overlapped = f.overlapped && f.busy > 0
	}
	for i := range m.open {
		r := &m.open[i]
		if r.what == kpev.ReadEnabled+uint64(file) {
			r.could[v] = true
		}
		r.off = r.off && m.off()
	}
}

// off reports whether a switch certainly forbids jumps.
func (m *readsTrue) off() bool {
	return slices.ContainsFunc(m.files[:], func(f switchFile) bool { return f.sure && !f.may[1] })
}

// called follows a call that may zero a probe's nmissed: until it has returned it isn't known whether it has.
func (m *readsTrue) called(e *traces.Event) {
	if e.A != kpev.Register {
		return
	}
	n := m.countOf(e.B)
	if e.Kind == kpev.ApiEnter {
		if n.regs == 0 {
			n.since = 0
		}
		n.regs++
		return
	}
	if n.regs = max(n.regs-1, 0); n.regs == 0 && e.C == 0 {
		n.most = n.since
	}
}

// countOf returns the count of a probe.
func (m *readsTrue) countOf(probe uint64) *misses {
	for i := range m.missed {
		if m.missed[i].probe == probe {
			return &m.missed[i]
		}
	}
	m.missed = append(m.missed, misses{probe: probe})
	return &m.missed[len(m.missed)-1]
}

func (m *readsTrue) begin(e *traces.Event) {
	r := reading{task: e.Task, what: e.A, off: m.off()}
	if e.A == kpev.ReadEnabled || e.A == kpev.ReadOptimization {
		r.could = m.files[e.A-kpev.ReadEnabled].may
	}
	m.open = append(m.open, r)
	if e.A != kpev.ReadList {
		return
	}
	ps := &m.scene.probes
	for i := range ps.list {
		p := &ps.list[i]
		m.seen = append(m.seen, sighting{e.Task, p.id, p.addr, letterOf(ps.kind(p.id).kind), true, false, true, true})
	}
	m.look()
}

// look notes for each reader of the list what is known of the probes now.
func (m *readsTrue) look() {
	ps := &m.scene.probes
	for k := range m.open {
		r := &m.open[k]
		for i := range ps.list {
			if p := &ps.list[i]; r.what == kpev.ReadList && m.sightingOf(r.task, p) == nil {
				m.seen = append(m.seen, sighting{task: r.task, probe: p.id, addr: p.addr,
					letter: letterOf(ps.kind(p.id).kind)})
			}
		}
	}
	for i := range m.seen {
		s := &m.seen[i]
		p := &ps.list[ps.index(s.probe)]
		here := p.addr == s.addr
		s.always = s.always && here && p.reg == regYes
		s.sometimes = s.sometimes || here && p.reg != regNo
		s.down, s.up = s.down && here && p.down, s.up && here && p.own
	}
}

// sightingOf returns what a reader may find of a probe at its address, or nil.
func (m *readsTrue) sightingOf(task uint8, p *probe) *sighting {
	for i := range m.seen {
		if s := &m.seen[i]; s.task == task && s.probe == p.id && s.addr == p.addr {
			return s
		}
	}
	return nil
}

func (m *readsTrue) end(e *traces.Event) (f *traces.Finding) {
	at := len(m.open) - 1
	for at >= 0 && (m.open[at].task != e.Task || m.open[at].what != e.A) {
		at--
	}
	if at < 0 {
		return nil
	}
	r := m.open[at]
	m.open = slices.Delete(m.open, at, at+1)
	switch e.A {
	case kpev.ReadList:
		f = m.listed(e, &r)
		m.seen = slices.DeleteFunc(m.seen, func(s sighting) bool { return s.task == r.task })
		m.lines = slices.DeleteFunc(m.lines, func(l gotLine) bool { return l.task == r.task })
	case kpev.ReadMissed:
		if most := m.countOf(e.B).most; e.C > most+m.faults {
			p := &m.scene.probes
			if i := p.index(e.B); i >= 0 {
				return found(e, p.list[i].addr, "reads that probe %d has missed %d hits, and it has missed %d since "+
					"it was registered", e.B, e.C, most)
			}
		}
	default:
		if !r.could[min(e.C, 1)] {
			return found(e, 0, "reads %d in %s, which was %d throughout", e.C, kpev.Read.Name(e.A), 1-min(e.C, 1))
		}
	}
	return f
}

// listed judges the lines that a reader has got.
func (m *readsTrue) listed(e *traces.Event, r *reading) *traces.Finding {
	for i := range m.lines {
		if l := &m.lines[i]; l.task == r.task {
			if f := m.line(e, r, l); f != nil && !m.scene.excuses(f.Place) {
				return f
			}
		}
	}
	for i := range m.seen {
		if s := &m.seen[i]; s.task == r.task {
			if f := m.among(e, s); f != nil && !m.scene.excuses(f.Place) {
				return f
			}
		}
	}
	return nil
}

// is reports whether a line may be that of a probe.
func (m *readsTrue) is(l *gotLine, s *sighting) bool {
	return l.task == s.task && l.letter == s.letter &&
		(l.addr == s.addr || m.scene.endbr(s.addr) && l.addr == s.addr+4)
}

// line judges one line: some probe is it, and its tags may be.
func (m *readsTrue) line(e *traces.Event, r *reading, l *gotLine) *traces.Finding {
	whose := slices.ContainsFunc(m.seen, func(s sighting) bool { return s.sometimes && m.is(l, &s) })
	own := slices.ContainsFunc(m.scene.images[:m.scene.raw], func(i insn) bool { return i.addr == l.addr })
	jumps := l.tags&(kpev.TagOptimized|kpev.TagNone|kpev.TagGone) == kpev.TagOptimized
	switch {
	case !whose && !own:
		return found(e, l.addr, "has read a line %c for %#x in kprobes/list, where no such probe was registered "+
			"meanwhile", l.letter, l.addr)
	case jumps && r.off:
		return found(e, l.addr, "has read [OPTIMIZED] of %#x, while jumps were forbidden", l.addr)
	case jumps && slices.ContainsFunc(m.seen, func(s sighting) bool {
		// a probe that was moved past an endbr64 may have another one's place
		return s.always && m.is(l, &s) && l.addr == s.addr && slices.Contains(m.noJump, s.probe) &&
			!m.scene.probes.list[m.scene.probes.index(s.probe)].lost // others there may be of the module's next text
	}):
		return found(e, l.addr, "has read [OPTIMIZED] of %#x, where a probe had a post_handler throughout", l.addr)
	}
	return nil
}

// among judges the lines of a probe's address and letter by all probes there.
func (m *readsTrue) among(e *traces.Event, at *sighting) *traces.Finding {
	var least, most, downs, ups, shown, disabled int
	tagged := true
	for i := range m.seen {
		if s := &m.seen[i]; s.task == at.task && s.addr == at.addr && s.letter == at.letter && s.sometimes {
			most++
			if s.always {
				least++
				downs += int(one64(s.down))
				ups += int(one64(s.up))
			}
		}
	}
	for i := range m.lines {
		if l := &m.lines[i]; m.is(l, at) {
			shown++
			disabled += int(one64(l.tags&kpev.TagDisabled != 0))
			tagged = tagged && l.tags&(kpev.TagNone|kpev.TagGone) == 0
		}
	}
	switch {
	case shown < least || shown > most && !m.scene.endbr(at.addr):
		return found(e, at.addr, "has read %d lines %c for %#x in kprobes/list, where %d to %d such probes were "+
			"registered meanwhile", shown, at.letter, at.addr, least, most)
	case tagged && disabled < downs:
		return found(e, at.addr, "has read that %d of the probes at %#x are disabled, and %d were throughout", disabled,
			at.addr, downs)
	case tagged && disabled > shown-ups:
		return found(e, at.addr, "has read that %d of %d probes at %#x are disabled, and %d of them were enabled "+
			"throughout", disabled, shown, at.addr, ups)
	}
	return nil
}

func (m *readsTrue) End(bool) *traces.Finding { return nil }
