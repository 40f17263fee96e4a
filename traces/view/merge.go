package view

import (
	"fmt"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// peek returns event k after the current one, counting from 0, if it has that kind and that
// CPU, else nil. Events before the violation may be merged. The violation itself, and events
// that must have a row of their own, never are.
func (t *teller) peek(k int, kind traces.Kind, cpu uint8) *traces.Event {
	if t.next+k >= len(t.list) {
		return nil
	}
	e := t.list[t.next+k]
	if e.Kind != kind || e.CPU != cpu || t.in.named(e) || t.at < len(t.in.Events) && e == &t.in.Events[t.at] {
		return nil
	}
	return e
}

// merge prints e together with the following events that belong to it. It reports whether
// there are any. If so, it has consumed them and set r.
func (t *teller) merge(e *traces.Event, r *row) bool {
	switch e.Kind {
	case smpev.Fire:
		return t.mergeFire(e, r)
	case smpev.Trap:
		return t.mergeIPI(e, r)
	case smpev.Exec:
		return t.mergeBreak(e, r) || t.mergeDetour(e, r)
	case smpev.SendIPI:
		if s := t.peek(0, smpev.Serialise, e.CPU); s != nil {
			t.next++
			r.text = fmt.Sprintf("sync_core (%s): IPI to %s", smpev.Whys.Name(s.A), cpuSet(e.A))
			return true
		}
	case smpev.Claim:
		if b := t.peek(0, smpev.Return, e.CPU); b != nil {
			t.next++
			t.depth[e.Task] = int(b.C)
			r.depth = t.depth[e.Task]
			r.class, r.weight = t.importance(b)
			r.text = t.say(e) + ", " + t.say(b)
			return true
		}
	case smpev.Exit:
		if s := t.peek(0, smpev.Switch, e.CPU); s != nil {
			t.next++
			r.text = fmt.Sprintf("%s; %s", t.say(e), t.say(s))
			return true
		}
	case smpev.GPStart:
		return t.mergeGrace(e, r)
	case smpev.Alloc, smpev.Free:
		r.text = t.say(e)
		s := span{e.A, e.A + e.B}
		for st := t.peek(0, smpev.TextStore, e.CPU); st != nil && s.has(st.A); st = t.peek(0, smpev.TextStore, e.CPU) {
			t.text.store(st)
			t.next++
		}
		if e.Kind == smpev.Alloc && e.B <= uint64(t.in.Arch.MaxLen) {
			r.text += ": " + bytes(t.text.mem, s)
		}
		return true
	case smpev.TextStore:
		return t.mergeStores(e, r)
	case kpev.ApiEnter:
		if b := t.peek(0, kpev.ApiReturn, e.CPU); b != nil && b.B == e.B {
			t.next++
			r.text = t.say(b)
			return true
		}
	case kpev.Arm, kpev.Disarm:
		if s := t.peek(0, smpev.TextStore, e.CPU); s != nil && s.A == e.A {
			t.next++
			r.class = stores
			verb := "arm"
			if e.Kind == kpev.Disarm {
				verb = "disarm"
			}
			r.text = t.store(verb, s)
			return true
		}
	}
	return false
}

// mergeGrace merges a grace period in which no other CPU has done anything worth a row
// with the waiter's sleep and wake-up.
func (t *teller) mergeGrace(e *traces.Event, r *row) bool {
	n := 0
	if t.peek(0, smpev.Switch, e.CPU) != nil && t.peek(1, smpev.Switch, e.CPU) != nil {
		n = 2
	}
	b := t.peek(n, smpev.GPEnd, e.CPU)
	if b == nil || b.B != e.B {
		return false
	}
	t.next += n + 1
	r.text = fmt.Sprintf("%s grace period %d begins and ends", smpev.Flavours.Name(e.A), e.B)
	return true
}

// mergeFire merges a source's firing with its interrupt.
func (t *teller) mergeFire(e *traces.Event, r *row) bool {
	trap := t.peek(0, smpev.Trap, e.CPU)
	if trap == nil {
		return false
	}
	t.next++
	r.class, r.weight = t.importance(trap)
	t.depth[trap.Task]++
	r.text = fmt.Sprintf("%s, saved ip %s", smpev.Vector(trap.A), t.stood(trap, trap.B))
	return true
}

// mergeIPI merges an answer to sync_core if no event comes between.
func (t *teller) mergeIPI(e *traces.Event, r *row) bool {
	s, b := t.peek(0, smpev.Serialise, e.CPU), t.peek(1, smpev.Return, e.CPU)
	if e.A != smpev.VecCall || s == nil || b == nil {
		return false
	}
	t.next += 2
	t.depth[e.Task] = int(b.C)
	r.text = fmt.Sprintf("call IPI answered in %s", t.stood(e, e.B))
	return true
}

// mergeBreak merges a breakpoint with its trap.
func (t *teller) mergeBreak(e *traces.Event, r *row) bool {
	trap := t.peek(0, smpev.Trap, e.CPU)
	if !t.in.Arch.IsBreakpoint(e.B) || trap == nil || trap.A != smpev.VecBP {
		return false
	}
	t.next++
	t.depth[trap.Task]++
	r.text = fmt.Sprintf("%s, traps: saved ip %s", t.exec(e), t.text.place(trap.B))
	r.class = traps
	return true
}

// apart is how many instructions before the violation are printed one by one.
const apart = 3

// mergeDetour merges a run of instructions in one detour.
func (t *teller) mergeDetour(e *traces.Event, r *row) bool {
	a := t.text.area(e.A)
	if a == nil || a.what != kpev.DetourMem {
		return false
	}
	n := 0
	last := e
	for s := t.peek(n, smpev.Exec, e.CPU); s != nil && a.has(s.A) &&
		t.before(s) > apart; s = t.peek(n, smpev.Exec, e.CPU) {
		last = s
		n++
	}
	if n < 2 {
		return false
	}
	t.next += n
	r.text = fmt.Sprintf("%s: %d instructions, %s to %s", a.name, n+1, t.text.place(e.A), t.text.place(last.A))
	return true
}

// before returns how many events after e the violation is.
func (t *teller) before(e *traces.Event) int {
	if t.at >= len(t.in.Events) {
		return len(t.in.Events)
	}
	return int(t.in.Events[t.at].Seq) - int(e.Seq)
}

// mergeStores merges stores to neighbouring bytes, as one memcpy makes them. In a slot
// or a detour it prints only their number.
func (t *teller) mergeStores(e *traces.Event, r *row) bool {
	list := []*traces.Event{e}
	end := e.A + e.C
	for s := t.peek(0, smpev.TextStore, e.CPU); s != nil && s.A == end; s = t.peek(0, smpev.TextStore, e.CPU) {
		list = append(list, s)
		end = s.A + s.C
		t.next++
	}
	if a := t.text.area(e.A); a != nil && end-e.A > 2*uint64(t.in.Arch.BranchLen) {
		for _, s := range list {
			t.text.store(s)
		}
		r.text = fmt.Sprintf("store %s: %d bytes", t.text.place(e.A), end-e.A)
		return true
	}
	if len(list) == 1 {
		return false
	}
	r.text = t.store("store", list...)
	return true
}
