package properties

import (
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A begun is the first instruction of a branch of two, or of what stands in its place, that a task has run.
// The second uses a register that the first has set. It may come long after, for a task can be interrupted
// between the two.
type begun struct {
	task  uint8
	depth int
	site  uint64
	first uint64 // 0: it ran elsewhere, as in a slot
}

// begin notes the first instruction at a site, which an event is at.
func (m *noStartInside) begin(e *traces.Event, first uint64) {
	b := begun{e.Task, len(*m.scene.frames.of(e.Task)), e.A, first}
	if i := m.begunAt(e, e.A); i >= 0 {
		m.begun[i] = b
		return
	}
	m.begun = append(m.begun, b)
}

// begunAt returns the index of what an event's task has begun at a site, -1 if it has begun nothing.
func (m *noStartInside) begunAt(e *traces.Event, site uint64) int {
	depth := len(*m.scene.frames.of(e.Task))
	return slices.IndexFunc(m.begun, func(b begun) bool {
		return b.task == e.Task && b.depth == depth && b.site == site
	})
}

// sent takes a Return from a breakpoint, perhaps to the second instruction at a site: the first one ran elsewhere.
func (m *noStartInside) sent(e *traces.Event) {
	if second := m.scene.proc.second; second != 0 && e.A == smpev.VecBP {
		at := *e
		at.A = e.B - second
		m.begin(&at, 0)
	}
}

// odd reports whether a task begins the second instruction of a branch that was written at a site, and has run another
// first one. What it began before the site was known is what was linked there.
func (m *noStartInside) odd(e *traces.Event, site uint64) bool {
	p, first := &m.scene.proc, m.scene.text.insnAt(site).lo
	if i := m.begunAt(e, site); i >= 0 {
		first = m.begun[i].first
		m.begun = slices.Delete(m.begun, i, i+1)
	}
	if first == 0 || p.breaks(first) {
		return false
	}
	written := false
	for i := range m.scene.images {
		x := &m.scene.images[i]
		if x.addr != site || !p.branches(x.lo) || !p.isSecond(x, e) {
			continue
		}
		if written = true; first == x.lo&mask(p.second) {
			return false
		}
	}
	return written
}
