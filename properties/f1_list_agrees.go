package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// ListAgrees is property F1: kprobes/list tells its readers the truth (spec 7.1).
//
// Based on: Listed, the lines of kprobes/list, against the text, the API calls and Kind; and Carries, what a reader
// would find in the midst of a run, against the calls.
var ListAgrees = Property{
	ID:   "F1",
	Name: "list-agrees",
	Says: "A probe is listed from when register has answered 0 until it is unregistered; at the end of a run " +
		"kprobes/list has a line for each registered probe, with its letter, its address and its tags, and when " +
		"all work is done [OPTIMIZED] is on a jump, other enabled lines on a breakpoint, and lines that aren't " +
		"armed on the original text.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Image, smpev.TextStore, smpev.Retire, smpev.Free, kpev.ApiEnter, kpev.ApiReturn, kpev.Kind,
		kpev.Enabled, kpev.Printk, kpev.Listed, kpev.Carries,
	},
	Reads: []traces.Kind{smpev.Load, smpev.Image, smpev.TextStore, smpev.Free, kpev.ApiEnter, kpev.Kind, kpev.Enabled,
		kpev.Printk},
	New:     func(s *Scene) Monitor { return &listAgrees{scene: s} },
	Touches: listTouches,
}

type listAgrees struct {
	scene   *Scene
	read    bool // the file was
	lines   []listedLine
	retired []span // text of modules that are unloaded, or about to be

	carriesKnown bool     // the engine has reported the probes that it carries
	carried      []uint64 // the probes that it carried when its mutex was last released
}

type listedLine struct {
	addr   uint64
	letter byte
	tags   uint64
}

func (m *listAgrees) Reset() {
	m.read, m.lines, m.retired, m.carriesKnown, m.carried = false, m.lines[:0], m.retired[:0], false, m.carried[:0]
}

func (m *listAgrees) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Retire:
		if e.C == smpev.ModuleMem {
			m.retired = append(m.retired, span{e.A, e.B, e.C})
		}
	case kpev.Listed:
		if m.read = true; e.B != 0 {
			m.lines = append(m.lines, listedLine{e.A, byte(e.B), e.C})
		}
	case kpev.Carries:
		if e.C != 0 {
			m.carriesKnown, m.carried = e.C == 1, m.carried[:0]
		} else {
			m.carried = append(m.carried, e.B)
		}
	case kpev.ApiReturn:
		return m.answered(e)
	}
	return nil
}

// answered judges by the calls that have returned: a probe whose registration is known has been in that state since
// the engine's mutex was last released.
func (m *listAgrees) answered(e *traces.Event) *traces.Finding {
	if !m.carriesKnown {
		return nil
	}
	for i := range m.scene.probes.list {
		p := &m.scene.probes.list[i]
		switch carried := slices.Contains(m.carried, p.id); {
		case m.scene.excuses(p.addr):
		case p.reg == regYes && !carried:
			return found(e, p.addr, "returns from the API, and probe %d, which is registered at %#x, isn't listed",
				p.id, p.addr)
		case p.reg == regNo && carried:
			return found(e, p.addr, "returns from the API, and probe %d, which isn't registered, is listed", p.id)
		}
	}
	return nil
}

func (m *listAgrees) End(drained bool) *traces.Finding {
	if !m.read {
		return nil
	}
	for i := range m.scene.probes.list {
		if f := m.missing(&m.scene.probes.list[i]); f != nil && !m.scene.excuses(f.Place) {
			return f
		}
	}
	for i := range m.lines {
		if f := m.line(&m.lines[i], drained); f != nil && !m.scene.excuses(f.Place) {
			return f
		}
	}
	return nil
}

// letterOf is the letter of a kind of probe in the file.
func letterOf(kind uint64) byte { return "krj"[min(kind, 2)] }

// missing looks for the lines of a probe's address: as far as is known, as many with
// its letter as there are probes of the kind, and as many of them disabled.
func (m *listAgrees) missing(p *probe) *traces.Finding {
	ps := &m.scene.probes
	letter := letterOf(ps.kind(p.id).kind)
	var least, most, downs, ups int
	for i := range ps.list {
		q := &ps.list[i]
		if q.addr != p.addr || letterOf(ps.kind(q.id).kind) != letter || q.reg == regNo {
			continue
		}
		most++
		if q.reg == regYes {
			least++
			downs += int(one64(q.down))
			ups += int(one64(q.own))
		}
	}
	shown, disabled, tagged := 0, 0, true
	for _, l := range m.lines {
		if l.addr != p.addr && !(m.scene.endbr(p.addr) && l.addr == p.addr+4) || l.letter != letter {
			continue
		}
		shown++
		disabled += int(one64(l.tags&kpev.TagDisabled != 0))
		tagged = tagged && l.tags&(kpev.TagNone|kpev.TagGone) == 0
	}
	switch {
	case shown < least || shown > most && !m.scene.endbr(p.addr):
		return atEnd(p.addr, "kprobes/list has %d lines %c for %#x, where %d to %d such probes are registered",
			shown, letter, p.addr, least, most)
	case tagged && disabled < downs:
		return atEnd(p.addr, "kprobes/list has %d of the probes at %#x disabled, and %d were", disabled, p.addr, downs)
	case tagged && disabled > shown-ups:
		return atEnd(p.addr, "kprobes/list has %d of %d probes at %#x disabled, and %d of them are enabled",
			disabled, shown, p.addr, ups)
	}
	return nil
}

// endbr reports whether an endbr64 was linked at addr: later kernels put a probe after
// it.
func (s *Scene) endbr(addr uint64) bool {
	const endbr64 = 0xfa1e0ff3
	x := s.text.insnAt(addr)
	return x.len() == 4 && x.lo == endbr64
}

// line checks the text at the address of a line.
func (m *listAgrees) line(l *listedLine, drained bool) *traces.Finding {
	s := m.scene
	if l.tags&kpev.TagNone != 0 || !s.text.has(l.addr) {
		return nil
	}
	for i := range s.images[:s.raw] {
		if s.images[i].addr == l.addr {
			return nil // also patched by others, or the kernel's own
		}
	}
	switch retired := in(m.retired, l.addr) != nil; {
	case l.tags&kpev.TagGone != 0 && !retired:
		return atEnd(l.addr, "kprobes/list says [GONE] of %#x, whose text is there", l.addr)
	case l.tags&kpev.TagGone != 0 || in(s.dying, l.addr) != nil:
		return nil
	}
	var all uint64 = kpev.TagDisabled // the tags that all lines of the address share
	for _, o := range m.lines {
		if o.addr == l.addr && o.tags&(kpev.TagDisabled|kpev.TagGone) == 0 {
			all = 0
		}
	}
	mem, orig := s.text.head(l.addr)
	breaks, jumps := s.proc.breaks(mem), s.proc.jumps(mem)
	if all != 0 && m.covered(l.addr) {
		return nil // a byte of another probe's jump
	}
	switch optimized := l.tags&kpev.TagOptimized != 0; {
	case !drained:
	case l.tags&kpev.TagFtrace != 0:
		if optimized || breaks {
			return atEnd(l.addr, "kprobes/list says [FTRACE] of %#x, and %s stands there", l.addr, s.proc.standing(mem))
		}
	case optimized && !jumps:
		return atEnd(l.addr, "kprobes/list says [OPTIMIZED] of %#x, and %s stands there", l.addr, s.proc.standing(mem))
	case !optimized && jumps && !s.proc.jumps(orig):
		return atEnd(l.addr, "kprobes/list doesn't say [OPTIMIZED] of %#x, and a jump stands there", l.addr)
	case all == 0 && !s.probes.file.off && !optimized && !breaks:
		return atEnd(l.addr, "kprobes/list says that %#x isn't disabled, and %s stands there", l.addr,
			s.proc.standing(mem))
	case all != 0 && breaks && !s.proc.breaks(orig):
		return atEnd(l.addr, "kprobes/list says [DISABLED] of %#x, and a breakpoint stands there", l.addr)
	}
	return nil
}

// covered reports whether an address lies within a listed jump, after its first byte.
func (m *listAgrees) covered(addr uint64) bool {
	for _, o := range m.lines {
		if d := addr - o.addr; o.tags&kpev.TagOptimized != 0 && d > 0 && d < m.scene.proc.jumpLen() {
			return true
		}
	}
	return false
}

func one64(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// listTouches: what the engine carries is judged when a call returns, by all calls. The
// file is read at the end, when its order no longer counts. Then these
// count: the text, which depends on the order of stores to each chunk; which probes are
// registered and enabled, which depends on their calls; and which write of the switch
// came last.
func listTouches(t *Touched, e *traces.Event) {
	const file, carried = 1 << 33, 1 << 34 // other objects are probes
	switch e.Kind {
	case smpev.TextStore:
		t.WriteText(e.A, e.C)
	case smpev.Retire, smpev.Free:
		if e.C == smpev.ModuleMem {
			t.WriteText(e.A, e.B)
			t.writeAll()
		}
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
		t.Write(carried)
	case kpev.Carries:
		t.Write(carried)
	case kpev.Enabled:
		t.Write(file)
	case kpev.Printk:
		t.line(e, file)
	}
}
