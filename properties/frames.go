package properties

import "kpsim/traces"

// A frame is a trap that was taken and has not returned.
type frame struct {
	vector, ip uint64 // ip as saved when it was taken
	claims     int
	owner      uint64 // of the last claim
	mark       uint32 // the monitor's own
}

// frames are the open traps of each task, the innermost last. A frame stays
// with its task, wherever that runs next.
type frames struct{ tasks [][]frame }

func (f *frames) reset() {
	for i := range f.tasks {
		f.tasks[i] = f.tasks[i][:0]
	}
}

// of returns the stack of a task; no task at all has one too, the first.
func (f *frames) of(task uint8) *[]frame {
	i := int(task + 1)
	for i >= len(f.tasks) {
		f.tasks = append(f.tasks, nil)
	}
	return &f.tasks[i]
}

// push takes a Trap event.
func (f *frames) push(e *traces.Event, mark uint32) {
	s := f.of(e.Task)
	*s = append(*s, frame{vector: e.A, ip: e.B, mark: mark})
}

// pop takes a Return event: of the innermost open trap of that vector, or nil.
// It is good until push.
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

// claimed finds the trap that a Claim or an Oops is about: the innermost open
// one of that vector and ip, or nil.
func (f *frames) claimed(e *traces.Event) *frame {
	s := *f.of(e.Task)
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].vector == e.A && s[i].ip == e.B {
			return &s[i]
		}
	}
	return nil
}
