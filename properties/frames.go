package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A frame is a trap that was taken and has not returned.
type frame struct {
	vector, ip uint64 // ip as saved by the trap
	seq        uint32 `state:"ordinal vector: compared only, and of a breakpoint's frame only"` // of its event
	user       bool   // user mode has taken it
	claims     int
	owner      uint64 // from the last claim
	before     uint64 // the owner of the claim before
}

// frames are the open traps of each task, the innermost last. A frame stays with its
// task when that moves.
type frames struct {
	tasks [][]frame `state:"trimmed: made when they are asked for"`
}

func (f *frames) reset() {
	for i := range f.tasks {
		f.tasks[i] = f.tasks[i][:0]
	}
}

// of returns the stack of a task's open traps. NoTask has a stack of its own, the first.
func (f *frames) of(task uint8) *[]frame {
	i := int(task + 1)
	for i >= len(f.tasks) {
		f.tasks = append(f.tasks, nil)
	}
	return &f.tasks[i]
}

// push takes a Trap event.
func (f *frames) push(e *traces.Event) {
	s := f.of(e.Task)
	*s = append(*s, frame{vector: e.A, ip: e.B, seq: e.Seq, user: userTrap(e)})
}

// userTrap reports whether user mode has taken a trap.
func userTrap(e *traces.Event) bool { return e.C == smpev.TrapUser && e.A != smpev.VecPF }

// move takes a Moves event: another place was saved.
func (f *frames) move(e *traces.Event) {
	s := *f.of(uint8(e.A))
	for i := range s {
		if s[i].ip == e.B {
			s[i].ip = e.C
		}
	}
}

// claim handles a Claim event, and returns its trap, or nil.
func (f *frames) claim(e *traces.Event) *frame {
	x := f.find(e)
	if x != nil {
		x.claims++
		x.before, x.owner = x.owner, e.C
	}
	return x
}

// pop handles a Return event. It returns the innermost open trap of that vector, or
// nil; it is valid until push.
func (f *frames) pop(e *traces.Event) *frame {
	s := f.of(e.Task)
	top := len(*s) - 1
	for i := top; i >= 0; i-- {
		if (*s)[i].vector != e.A {
			continue
		}
		for ; i < top; i++ {
			(*s)[i], (*s)[i+1] = (*s)[i+1], (*s)[i]
		}
		*s = (*s)[:top]
		return &(*s)[:top+1][top]
	}
	return nil
}

// find returns the trap of a Claim or an Oops: the innermost open one with that vector
// and ip, or nil.
func (f *frames) find(e *traces.Event) *frame {
	s := *f.of(e.Task)
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].vector == e.A && s[i].ip == e.B {
			return &s[i]
		}
	}
	return nil
}
