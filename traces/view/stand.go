package view

import (
	"fmt"
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A standing is what the events have shown about a task's position.
type standing struct {
	saved []savedIP // of its open traps
	at    uint64    // its current or next instruction, if here
	here  bool
	ran   string
	stays bool // the instruction is a call from a detour, to which it returns
	said  Stand
}

// A savedIP is the address saved by an open trap.
type savedIP struct {
	ip     uint64
	vector uint64
}

// stands records the position, or the return address, of an event's task in patched text.
// Events don't show what a task does in text that isn't patched; it then counts as having left
// its last position.
func (l *layer) stands(e *traces.Event, n int) {
	if e.Task == traces.NoTask || e.CPU == Machine || e.Kind == smpev.Fire {
		return
	}
	s := l.standing(e.Task)
	switch e.Kind {
	case smpev.Exec:
		b := unpack(e)
		s.at, s.here, s.ran = e.A, true, fmt.Sprintf("% x", b)
		a := l.t.text.area(e.A)
		s.stays = a != nil && a.what == kpev.DetourMem && l.t.in.Arch.IsCall.Match(e.B)
	case smpev.Trap:
		s.saved = append(s.saved, savedIP{e.B, e.A})
		s.here, s.stays = false, false
	case smpev.Return:
		s.saved = s.saved[:min(len(s.saved), int(e.C))]
		s.at, s.here, s.ran, s.stays = e.B, true, "", false
	case smpev.Switch:
		s.here = false
		l.standAt(uint8(e.A), -1, n)
		l.standAt(uint8(e.B), int(e.CPU), n)
		return
	default:
		s.here = s.stays
	}
	l.standAt(e.Task, int(e.CPU), n)
}

func (l *layer) standing(task uint8) *standing {
	s := l.tasks[task]
	if s == nil {
		s = new(standing)
		l.tasks[task] = s
	}
	return s
}

// standAt records a task's position, if it has changed.
func (l *layer) standAt(task uint8, cpu, n int) {
	s := l.standing(task)
	now := Stand{Step: n, Task: task, CPU: cpu}
	for _, f := range s.saved {
		if patch, off, ok := l.patchAt(f.ip); ok {
			now.At = append(now.At, Place{patch, off, "", smpev.Vector(f.vector)})
		}
	}
	if patch, off, ok := l.patchAt(s.at); ok && s.here {
		now.At = append(now.At, Place{patch, off, s.ran, ""})
	}
	same := now.CPU == s.said.CPU && slices.Equal(now.At, s.said.At)
	if same || len(now.At) == 0 && len(s.said.At) == 0 {
		return
	}
	s.said = now
	l.Stands = append(l.Stands, now)
}

// patchAt returns the patch of an address, and the offset there.
func (l *layer) patchAt(at uint64) (patch, off int, ok bool) {
	for i := range l.Texts {
		if p := &l.Texts[i]; at >= p.At && at < p.At+uint64(p.Len) {
			patch, off, ok = i, int(at-p.At), true
		}
	}
	return patch, off, ok
}
