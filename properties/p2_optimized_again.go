package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// OptimizedAgain is property P2: a probe becomes a jump (spec 4.1), and when the reason why a
// jump was removed ends, the jump comes back (spec 4.4, 4.7).
//
// Based on: Image, the API calls and the switches against what TextStore left.
var OptimizedAgain = Property{
	ID:   "P2",
	Name: "optimized-again",
	Says: "When all work is done, a probe that had a jump, or that the rules optimize, has one, unless it or " +
		"another probe at its address forbids it, another probe in its region may be enabled, other patched code " +
		"jumps into its region, or a switch is off.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Image, smpev.ByHand, smpev.TextStore, smpev.Retire, smpev.Free, kpev.ApiEnter, kpev.ApiReturn,
		kpev.Kind,
		kpev.Enabled, kpev.Printk, kpev.Sysctl, kpev.NoJump, kpev.Fits,
	},
	Reads: []traces.Kind{smpev.Load, smpev.TextStore, smpev.Retire, smpev.Free, kpev.ApiEnter, kpev.ApiReturn,
		kpev.Kind,
		kpev.Enabled, kpev.Printk},
	New:     func(s *Scene) Monitor { return &optimizedAgain{scene: s} },
	Touches: againTouches,
}

// optimizedAgain assumes that text which once had a jump can have one again, unless a jump
// that was written since, a label's, leads into it. Which text can have a jump is decided by
// rules that a monitor doesn't know otherwise.
type optimizedAgain struct {
	scene  *Scene
	jumps  []jumpWith
	all    []uint64    // where a jump was declared, a probe's or not
	fits   []uint64    // probes that the rules make jumps, according to the scenario
	tails  []uint64    `state:"set: values are looked up"` // of static calls that call nothing
	breaks []uint64    `state:"set: values are looked up"` // where tasks have stored a breakpoint by hand
	byHand [][2]uint64 // the text that tasks store to
	never  []uint64    // the probes that rule out a jump, disabled or not
	zeros  int         // writes of 0 to the sysctl begun so far
	ones   []one
	maybe  bool // it may be 0
}

// A jumpWith is a jump that was declared at an address, and a probe that was certainly registered there then. A probe
// that wasn't may be the one that rules out a jump.
type jumpWith struct{ addr, probe uint64 }

// A one is a write of 1 in progress.
type one struct {
	task  uint8
	zeros int
}

func (m *optimizedAgain) Reset() {
	m.tails, m.breaks, m.byHand = m.tails[:0], m.breaks[:0], m.byHand[:0]
	m.jumps, m.all, m.fits, m.never, m.zeros, m.ones, m.maybe = m.jumps[:0], m.all[:0], m.fits[:0], m.never[:0], 0,
		m.ones[:0], false
}

func (m *optimizedAgain) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Image:
		m.tail(e)
		if m.stored(e) && !slices.Contains(m.breaks, e.A) {
			m.breaks = append(m.breaks, e.A)
		}
		if m.scene.head && m.scene.proc.jumps(e.B) {
			m.jump(e.A)
			if !slices.Contains(m.all, e.A) {
				m.all = append(m.all, e.A)
			}
		}
	case smpev.ByHand:
		m.byHand = append(m.byHand, [2]uint64{e.A, e.A + e.B})
	case kpev.Sysctl:
		m.sysctl(e)
	case kpev.NoJump:
		m.never = append(m.never, e.A)
	case kpev.Fits:
		if e.C&kpev.FitsJump != 0 {
			m.fits = append(m.fits, e.A)
		}
	}
	return nil
}

// tail notes the tails of static calls that are becoming a return and int3s. Until 6.2 their functions can't be decoded
// to the end, so that no probe in them becomes a jump (can_optimize).
func (m *optimizedAgain) tail(e *traces.Event) {
	m.tails = slices.DeleteFunc(m.tails, func(at uint64) bool { return at == e.A })
	if m.scene.proc.isReturnTail(e.B) {
		m.tails = append(m.tails, e.A)
	}
}

// stored reports whether a task is about to store a breakpoint by hand.
func (m *optimizedAgain) stored(e *traces.Event) bool {
	return m.scene.proc.breaks(e.B) && slices.ContainsFunc(m.byHand, func(in [2]uint64) bool {
		return in[0] <= e.A && e.A < in[1]
	})
}

// undecodable reports whether an address may be in a function with such a tail, or with a breakpoint that wasn't a
// probe's when the probe was registered. What extent a function has isn't known.
func (m *optimizedAgain) undecodable(addr uint64) bool {
	return slices.ContainsFunc(m.tails, func(at uint64) bool { return at-addr < 4096 }) ||
		slices.ContainsFunc(m.breaks, func(at uint64) bool { return at-addr+4096 < 2*4096 })
}

// jump notes that a jump is about to be written.
func (m *optimizedAgain) jump(addr uint64) {
	for i := range m.scene.probes.list {
		p := &m.scene.probes.list[i]
		if j := (jumpWith{addr, p.id}); p.addr == addr && p.reg == regYes && !m.with(j) {
			m.jumps = append(m.jumps, j)
		}
	}
}

func (m *optimizedAgain) with(j jumpWith) bool {
	for _, o := range m.jumps {
		if o == j {
			return true
		}
	}
	return false
}

// sysctl follows the writes. The value is certainly 1 from the end of a write of 1 if
// no write of 0 was begun or in progress during it.
func (m *optimizedAgain) sysctl(e *traces.Event) {
	switch on, done := e.A != 0, e.B != 0; {
	case !on:
		m.zeros++ // its end counts as another beginning: until then it may take effect
		m.maybe = true
	case !done:
		m.ones = append(m.ones, one{e.Task, m.zeros})
	default:
		for i, o := range m.ones {
			if o.task == e.Task {
				m.ones = append(m.ones[:i], m.ones[i+1:]...)
				m.maybe = m.maybe && o.zeros != m.zeros
				return
			}
		}
	}
}

func (m *optimizedAgain) End(drained bool) *traces.Finding {
	if !drained || m.maybe {
		return nil
	}
	was := len(m.jumps)
	defer func() { m.jumps = m.jumps[:was] }()
	for _, id := range m.fits {
		if i := m.scene.probes.index(id); i >= 0 {
			if j := (jumpWith{m.scene.probes.list[i].addr, id}); !m.with(j) {
				m.jumps = append(m.jumps, j)
			}
		}
	}
	for n, j := range m.jumps {
		i := m.scene.probes.index(j.probe)
		if i < 0 {
			continue
		}
		p := &m.scene.probes.list[i]
		if p.addr != j.addr || p.reg != regYes || !p.sure || m.forbidden(j.addr) || m.undecodable(j.addr) ||
			m.scene.excuses(j.addr) {
			continue
		}
		mem, _ := m.scene.text.head(j.addr)
		if m.scene.proc.jumps(mem) {
			continue
		}
		if n >= was {
			return atEnd(j.addr, "%s stands at probe %d, %#x, and nothing forbids that it is a jump",
				m.scene.proc.standing(mem), p.id, j.addr)
		}
		return atEnd(j.addr, "%s stands at probe %d, %#x, which was a jump, and nothing forbids that it is one again",
			m.scene.proc.standing(mem), p.id, j.addr)
	}
	return nil
}

// forbidden reports whether another probe may keep addr from being a jump.
func (m *optimizedAgain) forbidden(addr uint64) bool {
	region := uint64(0)
	for region < m.scene.proc.jumpLen() {
		x := m.scene.text.insnAt(addr + region)
		if x.len() == 0 {
			return true
		}
		region += x.len()
	}
	for _, at := range m.all {
		// the rules count the end as part of it
		if to := m.target(at); at != addr && addr < to && to <= addr+m.scene.proc.jumpLen() {
			return true
		}
	}
	for i := range m.scene.probes.list {
		p := &m.scene.probes.list[i]
		if p.reg != regNo && p.addr == addr && slices.Contains(m.never, p.id) {
			return true
		}
		if p.reg != regNo && !p.down && p.addr-addr < region && !m.with(jumpWith{addr, p.id}) {
			return true
		}
	}
	return false
}

// target is the target of the jump at an address, 0 if there is no jump.
func (m *optimizedAgain) target(at uint64) uint64 {
	if mem, _ := m.scene.text.word(at); m.scene.proc.jumps(mem) {
		to, _ := m.scene.proc.target(at, mem)
		return to
	}
	return 0
}

// againTouches: at the end these count: the text, which depends on the order of stores
// to each chunk; which probes are registered and enabled, which depends on their calls;
// which were registered when a jump was declared; and which write of a switch came
// last.
func againTouches(t *Touched, e *traces.Event) {
	const sysctl, file = 1 << 32, 1 << 33 // other objects are probes
	switch e.Kind {
	case smpev.TextStore:
		t.WriteText(e.A, e.C)
	case smpev.Image:
		if t.proc.jumps(e.B) {
			t.readAt(e.A)
		}
	case smpev.Retire, smpev.Free:
		if e.C == smpev.ModuleMem {
			t.WriteText(e.A, e.B)
			t.writeAll() // its probes are never armed again
		}
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
	case kpev.Sysctl:
		t.Write(sysctl)
	case kpev.Enabled:
		t.Write(file)
	case kpev.Printk:
		t.line(e, file)
	}
}
