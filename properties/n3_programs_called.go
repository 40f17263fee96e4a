package properties

import (
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// ProgramsCalled is property N3: the contract of BPF programs on functions.
//
// Based on: Bpf: the calls that attach programs and detach them, and the programs that run; against Exec, Trap and
// Return at the function's site, at each CallEnd.
var ProgramsCalled = Property{
	ID:   "N3",
	Name: "programs-called",
	Says: "Each call of a function that begins while a BPF program is attached to it calls the program once, or " +
		"leaves it out as it runs already; one that begins after it was detached doesn't. An fexit program isn't " +
		"called where the function returns after that, nor where a program has come or gone during the call, if " +
		"not by the image of the call. When no program is attached no image is left.",
	Kinds: []traces.Kind{
		smpev.Bpf, smpev.Exec, smpev.Image, smpev.Trap, smpev.Claim, smpev.Return, smpev.CallEnd, smpev.Exit,
		smpev.Agrees, smpev.Alloc, smpev.Free,
	},
	Reads:   []traces.Kind{smpev.Image, smpev.Trap, smpev.Claim},
	Needs:   smpev.Bpf,
	New:     func(s *Scene) Monitor { return &programsCalled{scene: s} },
	Touches: programTouches,
}

// programsCalled counts, for each task and program, from one moment of rest of the task to the next, as clientsCalled
// does: need <= got <= may.
type programsCalled struct {
	scene  *Scene
	sites  []uint64 `state:"boot"` // of functions that may have programs
	list   []program
	images int         // that there are
	tasks  []progCalls `state:"trimmed: made when they are asked for"`
}

// A program is what is known of one. Of calls that overlap it isn't known which was first.
type program struct {
	site, at uint64
	kind     uint64 // smpev.BpfEntry and others
	open     int    // calls that attach it or detach it, under way
	several  bool   // some overlapped
	is       uint8  // callsMaybe, callsNot, callsIt
	gone     bool   // it is an fexit program, and was detached with no other call under way
}

// progCalls is what one task has counted since it was last at rest.
type progCalls struct {
	hits           []uint32 // by site
	blind          []bool   // likewise: a breakpoint that isn't a patcher's was hit there
	need, got, may []uint32 // by program
	// by program: 0, or, if the function's last return into an image came after the program was detached, the number
	// of traps that the task had open then, plus one
	back []uint8
	weak bool
}

func (m *programsCalled) Reset() {
	m.sites, m.list, m.images = m.sites[:0], m.list[:0], 0
	for i := range m.tasks {
		t := &m.tasks[i]
		t.hits, t.blind, t.need, t.got, t.may = t.hits[:0], t.blind[:0], t.need[:0], t.got[:0], t.may[:0]
		t.back, t.weak = t.back[:0], false
	}
}

func (m *programsCalled) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Alloc:
		if e.C == smpev.BpfMem {
			m.images++
		}
		return nil
	case smpev.Free:
		if e.C == smpev.BpfMem {
			m.images--
		}
		return nil
	case smpev.Bpf:
		return m.bpf(e)
	}
	if len(m.sites) == 0 {
		return nil
	}
	switch e.Kind {
	case smpev.Agrees:
		m.of(e.Task).weak = true
	case smpev.Exec:
		if m.scene.proc.calling(e) {
			m.call(e.Task, e.A, true)
		}
	case smpev.Return:
		m.emulated(e)
	case smpev.CallEnd:
		return m.rest(e)
	case smpev.Exit:
		m.of(e.Task).clear()
	}
	return nil
}

func (m *programsCalled) End(drained bool) *traces.Finding {
	if drained && m.images > 0 && !slices.ContainsFunc(m.list, func(p program) bool { return p.is != callsNot }) {
		return atEnd(m.sites[0], "no BPF program is attached, and %d of their images haven't been freed", m.images)
	}
	return nil
}

// of returns the counts of a task.
func (m *programsCalled) of(task uint8) *progCalls {
	i := int(task + 1)
	for i >= len(m.tasks) {
		m.tasks = append(m.tasks, progCalls{})
	}
	t := &m.tasks[i]
	for len(t.hits) < len(m.sites) {
		t.hits, t.blind = append(t.hits, 0), append(t.blind, false)
	}
	for len(t.need) < len(m.list) {
		t.need, t.got, t.may, t.back = append(t.need, 0), append(t.got, 0), append(t.may, 0), append(t.back, 0)
	}
	return t
}

func (t *progCalls) clear() {
	clear(t.hits)
	clear(t.blind)
	clear(t.need)
	clear(t.got)
	clear(t.may)
	clear(t.back)
}

// call takes the beginning of a call at a site. certain: it begins now, and not earlier.
func (m *programsCalled) call(task uint8, at uint64, certain bool) {
	s := slices.Index(m.sites, at)
	if s < 0 {
		return
	}
	t := m.of(task)
	t.hits[s]++
	for i := range m.list {
		p := &m.list[i]
		if p.site != at {
			continue
		}
		is := p.is
		if !certain || t.weak || is == callsIt && p.kind == smpev.BpfExit && m.changing(at) {
			is = callsMaybe
		}
		if is == callsIt {
			t.need[i]++
		}
		if is != callsNot {
			t.may[i]++
		}
	}
}

// changing reports whether a program of a function comes or goes: the image of a call may not call fexit programs then.
func (m *programsCalled) changing(at uint64) bool {
	return slices.ContainsFunc(m.list, func(p program) bool { return p.site == at && p.open > 0 })
}

// emulated takes a call that begins with a patcher's breakpoint, as clientsCalled.emulated does.
func (m *programsCalled) emulated(e *traces.Event) {
	f := m.scene.popped
	if f == nil || f.vector != smpev.VecBP {
		return
	}
	if s := slices.Index(m.sites, m.scene.proc.brokeAt(f.ip)); s >= 0 && f.owner != smpev.OwnerPoke {
		m.of(e.Task).blind[s] = true
	}
	if e.B != m.scene.proc.brokeAt(f.ip) {
		m.call(e.Task, m.scene.proc.brokeAt(f.ip), false)
	}
}

// program returns the number of a program, which is made at the first call for it.
func (m *programsCalled) program(e *traces.Event) int {
	i := slices.IndexFunc(m.list, func(p program) bool { return p.site == e.A && p.at == e.C })
	if i < 0 {
		i = len(m.list)
		m.list = append(m.list, program{site: e.A, at: e.C, is: callsNot})
		m.site(e.A)
	}
	return i
}

// site adds the site of a function.
func (m *programsCalled) site(at uint64) {
	if !slices.Contains(m.sites, at) {
		m.sites = append(m.sites, at)
	}
}

// bpf takes an event of BPF's.
func (m *programsCalled) bpf(e *traces.Event) *traces.Finding {
	switch e.B {
	case smpev.BpfSite:
		m.site(e.A)
	case smpev.BpfRan:
	case smpev.BpfReturns:
		t := m.of(e.Task)
		for i := range m.list {
			if p := &m.list[i]; p.site == e.A {
				if t.back[i] = 0; p.gone {
					t.back[i] = m.depth(e)
				}
			}
		}
	case smpev.BpfSkips:
		t := m.of(e.Task)
		for i := range m.list {
			if p := &m.list[i]; p.site == e.A {
				if t.back[i] = 0; p.kind == smpev.BpfModRet {
					t.need[i] = t.got[i]
				}
			}
		}
	case smpev.BpfEntry, smpev.BpfModRet, smpev.BpfExit, smpev.BpfMisses:
		return m.runs(e)
	default:
		m.changes(e)
	}
	return nil
}

// depth is how many traps a task has open, and 1.
func (m *programsCalled) depth(e *traces.Event) uint8 {
	return uint8(len(*m.scene.frames.of(e.Task)) + 1)
}

// runs takes a program that runs, or is left out.
func (m *programsCalled) runs(e *traces.Event) *traces.Finding {
	i := m.program(e)
	t, s := m.of(e.Task), slices.Index(m.sites, e.A)
	t.got[i]++
	switch {
	case e.B == smpev.BpfExit && t.back[i] == m.depth(e) && m.list[i].gone:
		return found(e, e.A, "runs the fexit program %#x of %#x, which returned after the program was detached",
			e.C, e.A)
	case t.got[i] <= t.may[i] || t.blind[s]:
	case t.got[i] > t.hits[s]:
		return found(e, e.A, "runs the program %#x for a call of %#x again: %d for %d calls", e.C, e.A, t.got[i],
			t.hits[s])
	default:
		return found(e, e.A, "runs the program %#x for a call of %#x that began while it wasn't attached", e.C, e.A)
	}
	return nil
}

// changes takes the beginning or the end of a call that attaches a program or detaches it.
func (m *programsCalled) changes(e *traces.Event) {
	i := m.program(e)
	p := &m.list[i]
	was := p.is
	switch e.B {
	case smpev.BpfAttached, smpev.BpfRefused, smpev.BpfDetached:
		if p.open--; p.open > 0 {
			break
		}
		switch {
		case p.several:
		case e.B == smpev.BpfAttached:
			p.is = callsIt
		default:
			p.is = callsNot
			p.gone = p.kind == smpev.BpfExit && e.B == smpev.BpfDetached
		}
		p.several = false
	default:
		if e.B != smpev.BpfDetaches {
			p.kind = e.B - smpev.BpfAttaches
		}
		p.open++
		p.several, p.is, p.gone = p.several || p.open > 1, callsMaybe, false
	}
	s := slices.Index(m.sites, e.A)
	for k := range m.tasks {
		t := m.of(uint8(k - 1))
		for j := range m.list {
			if q := &m.list[j]; q.site == e.A && (j == i || q.kind == smpev.BpfExit) {
				t.need[j] = t.got[j]
			}
		}
		if t.back[i] = 0; was == callsNot {
			t.may[i] = max(t.may[i], t.hits[s])
		}
	}
}

// rest takes the end of a call: if no trap is open all calls are over, and counting begins again.
func (m *programsCalled) rest(e *traces.Event) *traces.Finding {
	if len(*m.scene.frames.of(e.Task)) > 0 {
		return nil
	}
	t := m.of(e.Task)
	for i := range m.list {
		p := &m.list[i]
		if t.got[i] < t.need[i] && !t.blind[slices.Index(m.sites, p.site)] {
			return found(e, p.site, "ends a call, and the program %#x of %#x has been called for %d of %d", p.at,
				p.site, t.got[i], t.need[i])
		}
	}
	t.clear()
	return nil
}

// programTouches: the calls that attach programs and detach them decide what calls of functions count. One object
// stands for what is known of the programs. The end counts images, whatever their order.
func programTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case smpev.Bpf:
		if e.B >= smpev.BpfAttaches {
			t.Write(0)
		} else {
			t.Read(0)
		}
	case smpev.Exec:
		if t.proc.calling(e) {
			t.Read(0)
		}
	case smpev.Return:
		if e.A == smpev.VecBP {
			t.Read(0)
		}
	case smpev.CallEnd:
		t.Read(0)
	}
}
