package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// NoUseAfterFree is property S1: slots and detours wait for a grace period before they
// are freed.
//
// Based on: Alloc, Free against Exec, Return, the addresses of page faults, and the
// saved ip of open interrupts.
var NoUseAfterFree = Property{
	ID:   "S1",
	Name: "no-use-after-free",
	Says: "No CPU runs in, or will return to, a slot or a detour that isn't allocated, nor uses an unloaded " +
		"module; each is freed once, and none is leaked.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Exec, smpev.Alloc, smpev.Free, smpev.Retire, smpev.Trap, smpev.Moves, smpev.Return,
		kpev.ApiEnter, kpev.ApiReturn, kpev.Contexts,
	},
	Reads:   []traces.Kind{smpev.Load, smpev.Moves, kpev.ApiEnter, kpev.ApiReturn},
	New:     func(s *Scene) Monitor { return &noUseAfterFree{scene: s} },
	Touches: freeTouches,
}

// A span is memory [addr, addr+size).
type span struct {
	addr, size uint64
	what       uint64
}

func (s *span) has(addr uint64) bool { return addr-s.addr < s.size }

func (s *span) String() string { return smpev.Memory.Name(s.what) }

type noUseAfterFree struct {
	scene   *Scene
	live    []span
	retired []span // retired but not yet freed, because CPUs may be in them
	freed   []span
	kept    uint64 // number of spans that are never freed: the kernel's own probes
}

func (m *noUseAfterFree) Reset() {
	m.live, m.retired, m.freed, m.kept = m.live[:0], m.retired[:0], m.freed[:0], 0
}

func in(list []span, addr uint64) *span {
	for i := range list {
		if list[i].has(addr) {
			return &list[i]
		}
	}
	return nil
}

func (m *noUseAfterFree) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.Contexts:
		m.kept = e.C
	case smpev.Exec:
		if m.scene.text.has(e.A) || m.has(e.A) {
			return nil
		}
		if s := in(m.freed, e.A); s != nil {
			return found(e, e.A, "runs %s at %#x, in the freed %s at %#x", hex(e.B, e.C), e.A, s, s.addr)
		}
		return found(e, e.A, "runs %s at %#x, in memory that was never handed out", hex(e.B, e.C), e.A)
	case smpev.Trap:
		s := in(m.freed, e.C)
		if e.A != smpev.VecPF || s == nil || m.has(e.C) {
			return nil
		}
		switch {
		case e.B != e.C:
			return found(e, e.C, "reads or writes %#x, in the freed %s at %#x", e.C, s, s.addr)
		case s.what != smpev.ModuleMem: // O1 reports faults in a module's text
			return found(e, e.C, "runs in the freed %s at %#x, whose page is unmapped", s, s.addr)
		}
	case smpev.Return:
		if interrupt(e.A) {
			return nil // it may return to where it was taken: the next Exec, or a Free in between, checks it
		}
		if s := in(m.freed, e.B); s != nil && !m.has(e.B) {
			return found(e, e.B, "returns from the %s to %#x, in the freed %s at %#x", smpev.Vector(e.A), e.B, s,
				s.addr)
		}
	case smpev.Alloc:
		return m.alloc(e)
	case smpev.Retire:
		return m.retire(e)
	case smpev.Free:
		return m.free(e)
	}
	return nil
}

// has reports whether an address is in the span.
func (m *noUseAfterFree) has(addr uint64) bool {
	return in(m.live, addr) != nil || in(m.retired, addr) != nil
}

// take removes a span from a list, and reports whether it was there.
func take(list *[]span, x span) bool {
	for i := range *list {
		if s := &(*list)[i]; s.addr == x.addr && s.size == x.size {
			*list = append((*list)[:i], (*list)[i+1:]...)
			return true
		}
	}
	return false
}

func (m *noUseAfterFree) retire(e *traces.Event) *traces.Finding {
	x := span{e.A, e.B, e.C}
	if !take(&m.live, x) {
		return found(e, x.addr, "gives %d bytes at %#x back, which weren't handed out as such", x.size, x.addr)
	}
	m.retired = append(m.retired, x)
	return nil
}

func (m *noUseAfterFree) alloc(e *traces.Event) *traces.Finding {
	x := span{e.A, e.B, e.C}
	for _, list := range [...][]span{m.live, m.retired} {
		for i := range list {
			if s := &list[i]; s.has(x.addr) || x.has(s.addr) {
				return found(e, x.addr, "is handed %d bytes at %#x, which overlap the %s at %#x", x.size, x.addr, s,
					s.addr)
			}
		}
	}
	keep := m.freed[:0]
	for _, s := range m.freed {
		if !x.has(s.addr) || !x.has(s.addr+s.size-1) {
			keep = append(keep, s)
		}
	}
	m.freed = keep
	m.live = append(m.live, x)
	return nil
}

func (m *noUseAfterFree) free(e *traces.Event) *traces.Finding {
	x := span{e.A, e.B, e.C}
	if !take(&m.live, x) && !take(&m.retired, x) {
		if s := in(m.freed, x.addr); s != nil {
			return found(e, x.addr, "frees the %s at %#x a second time", s, x.addr)
		}
		return found(e, x.addr, "frees %d bytes at %#x, which weren't handed out as such", x.size, x.addr)
	}
	m.freed = append(m.freed, x)
	s := &m.freed[len(m.freed)-1]

	// An interrupt returns to where it was taken, however long its task was preempted. A handler of an exception may
	// still change the return address.
	for t := range m.scene.frames.tasks {
		for _, f := range m.scene.frames.tasks[t] {
			if (f.vector == smpev.VecNMI || f.vector >= 32) && s.has(f.ip) {
				return found(e, f.ip, "frees the %s at %#x, but task%d will return from the %s to %#x",
					s, s.addr, uint8(t)-1, smpev.Vector(f.vector), f.ip)
			}
		}
	}
	return nil
}

func (m *noUseAfterFree) End(drained bool) *traces.Finding {
	if !drained || !m.scene.probes.none() {
		return nil
	}
	first, left := -1, uint64(0)
	for i := range m.live {
		switch m.live[i].what {
		case smpev.ModuleMem, smpev.CodeMem, smpev.BpfMem, smpev.TrampolineMem, smpev.DispatcherMem:
			continue
		}
		if left++; first < 0 {
			first = i
		}
	}
	if first >= 0 && left > m.kept {
		s := &m.live[first]
		return atEnd(s.addr, "no probe is registered, and the %s at %#x hasn't been freed", s, s.addr)
	}
	return nil
}

// freeTouches: an event that runs at, accesses, or returns from an exception to an
// address, or a pending return of an interrupt to it, is judged by what is allocated
// there. An interrupt that no Free can come into is not: the next Exec checks one that
// came before. Another object is a probe. At the end these count: whether any probe is
// registered, and what is still allocated.
func freeTouches(t *Touched, e *traces.Event) {
	at := e.A
	switch e.Kind {
	case smpev.Trap:
		if e.A == smpev.VecPF {
			t.Read(spanObject(e.C)) // the faulting address, whatever it is
		}
		if at = e.B; !interrupt(e.A) {
			return
		}
	case smpev.Return:
		at = e.B
	case smpev.Moves:
		for _, a := range [...]uint64{e.B, e.C} {
			if t.isLent(a) {
				t.Read(spanObject(a))
			}
		}
		return
	case smpev.Alloc, smpev.Free, smpev.Retire:
		for a := spanObject(e.A); a <= spanObject(e.A+e.B-1); a++ {
			t.Write(a)
		}
		return
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(1<<44 | e.B)
		return
	}
	switch {
	case !t.isLent(at): // memory that is never freed
	case e.Kind != smpev.Exec && interrupt(e.A):
		t.ReadApart(spanObject(at))
	default:
		t.Read(spanObject(at))
	}
}

// spanObject is the 32 bytes around an address: slots and detours are never smaller.
func spanObject(a uint64) uint64 { return a / 32 & (1<<43 - 1) }
