package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Accounted is property A1: every hit is handled or counted as missed.
//
// Based on: Trap and Exec (a jump, ftrace's call) against Handler, Missed, Skipped,
// at each CallEnd.
var Accounted = Property{
	ID:   "A1",
	Name: "accounted",
	Says: "Each hit of an enabled probe is one run of its pre_handler, one nmissed, or one skip by a sibling; for " +
		"a return probe it is one run of its handler at that return, one nmissed, or one refused call. None is " +
		"lost or counted twice, and a hit while the probe is disabled runs none.",
	Kinds: []traces.Kind{
		smpev.Image, smpev.Load, smpev.Exec, smpev.Trap, smpev.Claim, smpev.Return, smpev.CallEnd, smpev.Exit,
		kpev.ApiEnter, kpev.ApiReturn, kpev.Handler, kpev.Missed, kpev.Skipped, kpev.NoPre,
		smpev.Retire, kpev.Kind, kpev.RetMissed, kpev.RetLeft, kpev.Enabled, kpev.Printk, kpev.JprobeEnter,
		smpev.Agrees,
	},
	Reads:   []traces.Kind{smpev.Image, smpev.Load, kpev.Kind, kpev.Printk},
	New:     func(s *Scene) Monitor { return &accounted{scene: s} },
	Touches: accountTouches,
}

// accounted counts, for each task, from one moment of rest to the next:
//
//	need <= got <= hits
//
// hits: of the address, by a breakpoint or a jump; got: handlers, misses and skips of a probe; need: the least that
// got must reach. need goes up with each hit of a probe that is enabled for certain. Whenever that certainty begins
// or ends need becomes got: hits under way then may count or not.
//
// A hit begins with a breakpoint or a jump, also one of a tracer: a CPU that enters ftrace by a tracer's call runs
// the handlers of a probe that is registered meanwhile. So hits count at every linked instruction, whether a probe is
// there yet or not.
type accounted struct {
	scene *Scene
	tasks []tally  `state:"trimmed: made when they are asked for"`
	noPre []uint64 // the probes whose hits leave no trace: a nil handler is not run (spec 1.5)
	weak  bool     // some task is
	// for each probe: the number after the event at which its certainty last changed
	flip []uint32 `state:"mark: the ordinals of frames are compared with it"`
}

// A tally is what one task has counted since it was last at rest.
type tally struct {
	hits      []hits
	need, got []uint32 `state:"trimmed: made when they are asked for"` // by place in probes
	over      []hits   `state:"skip: for messages only"`               // in this call, and settled
	weak      bool     // agrees was called: the memory model is the kernel's
	// if weak: a call of the API for the probe has ended since the task's CPU last saw everything, and the CPU may
	// not see its effect
	stale []bool `state:"trimmed: likewise"`
	// bit n: it was certainly disabled when its address was last hit with n interrupts open
	off []uint8 `state:"trimmed: likewise"`
}

// hits counts the hits at the address of a linked instruction.
type hits struct {
	addr uint64
	n    uint32
}

// at returns the hits of an address, nil if there were none.
func (t *tally) at(addr uint64) *hits { return hitsAt(t.hits, addr) }

func hitsAt(list []hits, addr uint64) *hits {
	for i := range list {
		if list[i].addr == addr {
			return &list[i]
		}
	}
	return nil
}

// past returns how many hits of an address are settled.
func (t *tally) past(addr uint64) uint32 {
	if h := hitsAt(t.over, addr); h != nil {
		return h.n
	}
	return 0
}

// interrupts returns how many interrupts of a task are open, at most the last bit of
// tally.off. A hit by an interrupt says nothing about the hit that it interrupted.
func (m *accounted) interrupts(task uint8) (n int) {
	for _, f := range *m.scene.frames.of(task) {
		if f.vector != smpev.VecBP && f.vector != smpev.VecDB {
			n++
		}
	}
	return min(n, 7)
}

func (m *accounted) Reset() {
	m.flip, m.noPre, m.weak = m.flip[:0], m.noPre[:0], false
	for i := range m.tasks {
		t := &m.tasks[i]
		t.hits, t.over, t.need, t.got, t.off = t.hits[:0], t.over[:0], t.need[:0], t.got[:0], t.off[:0]
		t.weak, t.stale = false, t.stale[:0]
	}
}

func (m *accounted) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Exec:
		if at, ok := m.scene.proc.branched(e); ok { // a call: of ftrace, at a function's site
			m.jumped(e, at)
		}
	case smpev.Agrees:
		m.weak = true
		m.of(e.Task).agrees()
	case smpev.Trap:
		if e.A == smpev.VecBP {
			m.hit(e.Task, m.scene.proc.brokeAt(e.B), false)
		}
	case smpev.Claim:
		if f := m.scene.claimed; f != nil && e.A == smpev.VecBP &&
			(e.C == kpev.OwnerRemoved || e.C == smpev.OwnerDebugger) {
			m.unhit(e.Task, m.scene.proc.brokeAt(f.ip), f.seq)
		}
	case smpev.Return:
		if f := m.scene.popped; f != nil && f.vector == smpev.VecBP {
			at := m.scene.proc.brokeAt(f.ip)
			if f.owner == smpev.OwnerPoke && e.B == at { // the patcher may also send a CPU to try again
				m.unhit(e.Task, at, f.seq)
			}
			m.settle(e.Task, at)
		}
	case smpev.CallEnd:
		return m.rest(e)
	case kpev.ApiEnter, kpev.ApiReturn:
		m.api(e)
	case kpev.Handler:
		switch e.B {
		case kpev.Pre:
			if f := m.silent(e); f != nil {
				return f
			}
			return m.account(e, "runs the pre_handler of")
		case kpev.Return:
			return m.account(e, "runs the handler of")
		}
	case kpev.JprobeEnter:
		return m.account(e, "runs the entry of")
	case kpev.NoPre:
		m.noPre = append(m.noPre, e.A)
	case kpev.Missed, kpev.RetMissed:
		return m.account(e, "counts a miss of")
	case kpev.RetLeft:
		return m.account(e, "leaves a call alone of")
	case smpev.Retire:
		if e.C != smpev.ModuleMem {
			return nil
		}
		for j := range m.flip { // the probes of a module go with its text
			m.turned(e, j, false)
		}
	case kpev.Enabled:
		for j := range m.flip {
			m.turned(e, j, false)
		}
	case smpev.Exit: // its unfinished calls never return
		m.of(e.Task).clear()
	case kpev.Skipped:
		return m.account(e, "counts a skip of")
	}
	return nil
}

func (m *accounted) End(drained bool) *traces.Finding {
	if !drained {
		return nil
	}
	for i := range m.tasks {
		if p, t := m.lost(&m.tasks[i]); p >= 0 {
			x := &m.scene.probes.list[p]
			past := t.past(x.addr)
			return atEnd(x.addr, "a hit is lost: of probe %d at %#x %d must be accounted for in task%d, and %d are",
				x.id, x.addr, t.need[p]+past, uint8(i)-1, t.got[p]+past)
		}
	}
	return nil
}

// of returns the tally of a task, with room for all probes.
func (m *accounted) of(task uint8) *tally {
	i := int(task + 1)
	for i >= len(m.tasks) {
		m.tasks = append(m.tasks, tally{})
	}
	t := &m.tasks[i]
	for len(t.got) < len(m.scene.probes.list) {
		t.need, t.got, t.off, t.stale = append(t.need, 0), append(t.got, 0), append(t.off, 0), append(t.stale, false)
	}
	return t
}

// jumped takes an Exec that completes a jump at an address: it is a hit, unless the jump was linked there.
func (m *accounted) jumped(e *traces.Event, at uint64) {
	if x := m.scene.text.insnAt(e.A); x.lo != e.B || x.hi != e.C {
		m.hit(e.Task, at, true)
	}
}

// agrees records that the task's CPU sees everything done so far. Hits from now on are due; earlier ones may be
// accounted for, as where a probe becomes certain.
func (t *tally) agrees() {
	t.weak = true
	for j := range t.stale {
		if t.stale[j] {
			t.stale[j], t.need[j] = false, max(t.need[j], t.got[j])
		}
	}
}

// left records that a call for probe j has ended. Under the kernel's memory model a call under way on another CPU may
// not see that: nothing orders the two. Text that was patched before is enough to get to ftrace, and there the list
// of clients may be an older one.
func (m *accounted) left(j int) {
	for i := range m.tasks {
		if m.tasks[i].weak {
			m.of(uint8(i - 1)).stale[j] = true
		}
	}
}

func (m *accounted) hit(task uint8, addr uint64, jumped bool) {
	if !m.scene.text.starts(addr) {
		return
	}
	t := m.of(task)
	if h := t.at(addr); h != nil {
		h.n++
	} else {
		t.hits = append(t.hits, hits{addr, 1})
	}
	level := m.interrupts(task)
	for j := range m.scene.probes.list {
		if p := &m.scene.probes.list[j]; p.addr == addr {
			t.off[j] &^= 1 << level
			if p.down && !(jumped && t.stale[j]) {
				t.off[j] |= 1 << level
			}
		}
		if p := &m.scene.probes.list[j]; p.addr == addr && p.sure && !slices.Contains(m.noPre, p.id) &&
			!(jumped && t.stale[j]) {
			t.need[j]++
		}
	}
}

// unhit takes back a hit: the CPU runs the instruction again. seq is the event that reported it.
func (m *accounted) unhit(task uint8, addr uint64, seq uint32) {
	t := m.of(task)
	h := t.at(addr)
	if h == nil || h.n == 0 {
		return
	}
	h.n--
	for j := range m.scene.probes.list {
		if p := &m.scene.probes.list[j]; p.addr == addr && p.sure && m.flip[j] <= seq && t.need[j] > 0 {
			t.need[j]--
		}
	}
}

func (m *accounted) account(e *traces.Event, does string) *traces.Finding {
	j := m.scene.probes.index(e.A)
	if j < 0 {
		return found(e, 0, "%s probe %d, which was never registered", does, e.A)
	}
	p, t := &m.scene.probes.list[j], m.of(e.Task)
	t.got[j]++
	n := uint32(0)
	if h := t.at(p.addr); h != nil {
		n = h.n
	}
	if t.got[j] > n {
		past := t.past(p.addr)
		return found(e, p.addr, "%s probe %d at %#x: %d for %d hits", does, p.id, p.addr, t.got[j]+past, n+past)
	}
	m.settle(e.Task, p.addr)
	return nil
}

// settle forgets the hits at an address once they are over, as the end of a call does: no trap of the task is open,
// and each probe there accounts for all hits. A hit without handlers so far may still be under way: in the detour, to
// which the patcher's breakpoint also sends, or in ftrace.
func (m *accounted) settle(task uint8, addr uint64) {
	t := m.of(task)
	h := t.at(addr)
	if h == nil || len(*m.scene.frames.of(task)) > 0 {
		return
	}
	over := h.n == 0
	for j := range t.got {
		if m.scene.probes.list[j].addr != addr {
			continue
		}
		if t.got[j] != h.n || t.need[j] > h.n {
			return
		}
		over = true
	}
	if !over {
		return
	}
	for j := range t.got {
		if m.scene.probes.list[j].addr == addr {
			t.need[j], t.got[j], t.off[j] = 0, 0, 0
		}
	}
	if past := hitsAt(t.over, addr); past != nil {
		past.n += h.n
	} else {
		t.over = append(t.over, *h)
	}
	*h = t.hits[len(t.hits)-1]
	t.hits = t.hits[:len(t.hits)-1]
}

// silent reports a pre_handler of a probe that was already disabled at the hit. A CPU
// that hit it earlier may have been on its way.
func (m *accounted) silent(e *traces.Event) *traces.Finding {
	j := m.scene.probes.index(e.A)
	if j < 0 || !m.scene.probes.list[j].down || m.of(e.Task).off[j]>>m.interrupts(e.Task)&1 == 0 {
		return nil
	}
	p := &m.scene.probes.list[j]
	return found(e, p.addr, "runs the pre_handler of probe %d at %#x for a hit that came when it was disabled",
		p.id, p.addr)
}

func (m *accounted) api(e *traces.Event) {
	was := &m.scene.called
	j := was.place
	if j < 0 {
		return
	}
	p := &m.scene.probes.list[j]
	for len(m.flip) < len(m.scene.probes.list) {
		m.flip = append(m.flip, 0)
	}
	if m.weak && e.Kind == kpev.ApiReturn {
		m.left(j)
	}
	moved := was.addr != p.addr
	if was.sure == p.sure && !moved {
		return
	}
	m.turned(e, j, moved)
}

// turned notes that the certainty about a probe has changed.
func (m *accounted) turned(e *traces.Event, j int, moved bool) {
	m.flip[j] = e.Seq + 1
	for i := range m.tasks {
		if t := &m.tasks[i]; j < len(t.got) {
			if moved {
				t.got[j] = 0
			}
			t.need[j] = t.got[j]
		}
	}
}

func (t *tally) clear() {
	t.hits, t.over = t.hits[:0], t.over[:0]
	clear(t.need)
	clear(t.got)
	clear(t.off)
}

// rest handles the end of a call: if no trap is open, all hits of the task are
// accounted for, and counting begins again.
func (m *accounted) rest(e *traces.Event) *traces.Finding {
	if len(*m.scene.frames.of(e.Task)) > 0 {
		return nil
	}
	if p, t := m.lost(m.of(e.Task)); p >= 0 {
		x := &m.scene.probes.list[p]
		past := t.past(x.addr)
		return found(e, x.addr,
			"ends a call, and a hit is lost: of probe %d at %#x %d must be accounted for, and %d are",
			x.id, x.addr, t.need[p]+past, t.got[p]+past)
	}
	m.of(e.Task).clear()
	return nil
}

// lost returns the first probe with an unaccounted hit, or -1.
func (m *accounted) lost(t *tally) (int, *tally) {
	for j := range t.need {
		if t.got[j] < t.need[j] {
			return j, t
		}
	}
	return -1, t
}

// accountTouches: a tally is its task's own, but a call for a probe sets every task's need of it to got, and decides
// whether the next hit counts. An object is a probe. Its hits, handlers and misses read it, and a call writes it. The
// end of a call judges all probes and so reads all, as does a fence, after which the task sees everything. Where an
// address is settled its probes are read. The number of a flip doesn't matter, only whether it came before a trap. A
// hit that is taken back touches nothing: if a flip comes first, need is the got of that moment, and if it comes
// after, it sets need to that. At the end each tally is the result of its task's events and the calls, in the order
// that the objects keep.
func accountTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case smpev.Exec:
		if at, ok := t.proc.branched(e); ok {
			t.readAt(at)
		}
	case smpev.Trap:
		if e.A == smpev.VecBP {
			t.readAt(t.proc.brokeAt(e.B))
		}
	case smpev.CallEnd, smpev.Agrees:
		for id := range t.Addrs {
			t.Read(uint64(id))
		}
	case smpev.Return:
		if e.A == smpev.VecBP { // the event doesn't name the address
			for id := range t.Addrs {
				t.Read(uint64(id))
			}
		}
	case kpev.Handler, kpev.Missed, kpev.Skipped, kpev.RetMissed, kpev.RetLeft, kpev.JprobeEnter:
		if t.Read(e.A); e.A < uint64(len(t.Addrs)) {
			t.readAt(t.Addrs[e.A])
		}
	case kpev.Enabled:
		t.writeAll()
		t.Write(theSwitch)
	case kpev.Printk:
		t.line(e, theSwitch)
	case smpev.Retire:
		if e.C == smpev.ModuleMem {
			t.writeAll()
		}
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
	}
}
