package kernel

import (
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Tasks are the machine's tasks. It implements kapi.Tasks.
type Tasks struct {
	k        *Kernel
	onExit   []func(x kapi.Context) `state:"boot"` // owned by the boot of a run
	onUnwind []kapi.Unwind          `state:"boot"` // owned by the boot of a run
}

func (t *Tasks) init(k *Kernel) {
	t.k = k
	k.M.Hooks().Exiting = t.exiting
}

func (t *Tasks) reset() { t.onExit, t.onUnwind = t.onExit[:0], t.onUnwind[:0] }

// Count implements kapi.Tasks.
func (t *Tasks) Count() int { return len(t.k.M.Tasks().All()) }

// StackTop implements kapi.Tasks.
func (t *Tasks) StackTop(x kapi.Context) arch.Addr { return ctxOf(x).Thread().StackTop() }

// OnExit implements kapi.Tasks.
func (t *Tasks) OnExit(f func(x kapi.Context)) { t.onExit = append(t.onExit, f) }

// OnUnwind implements kapi.Tasks.
func (t *Tasks) OnUnwind(f kapi.Unwind) { t.onUnwind = append(t.onUnwind, f) }

// mostHidden is how often a return address in a slot can be replaced: at most two engines hook a call.
const mostHidden = 4

// Unwind implements kapi.Tasks.
func (t *Tasks) Unwind(x kapi.Context, id kapi.TaskID, slot, word arch.Addr) (to arch.Addr, ok bool) {
	to, ok = word, true
	if from, end := ExecRange(t.k.M.Arch()); word >= from && word < end {
		return word, false
	}
	for range mostHidden {
		was := to
		for _, f := range t.onUnwind {
			next, known := f(x, id, slot, to)
			to, ok = next, ok && known
		}
		if to == was {
			return to, ok
		}
	}
	return to, false
}

// exiting runs at the end of a program.
func (t *Tasks) exiting(x *smp.Ctx) {
	for _, f := range t.onExit {
		f(x)
	}
}

// Backtrace implements kapi.Tasks: every word on the stack that points into a function, after its first byte, or to a
// stub is taken for a return address (the guess unwinder, arch/x86/kernel/unwind_guess.c).
func (t *Tasks) Backtrace(x kapi.Context, sp arch.Addr, to []arch.Addr) []arch.Addr {
	mem, size := x.Memory(), t.k.M.Arch().Word
	for slot := sp &^ arch.Addr(size-1); slot < t.StackTop(x); slot += arch.Addr(size) {
		v, ok := mem.Load(slot, size)
		if !ok {
			break
		}
		word := arch.Addr(v)
		if f, ok := t.k.Symbols.Lookup(word); !ok || word == f.Addr && t.k.Stub(f.Name) != word {
			continue
		}
		if real, ok := t.Unwind(x, x.Task(), slot, word); ok {
			word = real
		}
		to = append(to, word)
	}
	return to
}

// Exit ends the program whose text calls it (do_exit). No code that the program was executing
// continues.
func (k *Kernel) Exit(x *smp.Ctx) { x.Exit() }

// Switches finds where tasks can change from one state to another. It implements kapi.Switches.
type Switches struct {
	k *Kernel
	// owned by the task that looks, and by the machine's hooks: tasks that weren't out of the old code
	busy          [4]uint64
	later         kapi.Var[bool]       // it is time to scan again
	again         kapi.Is[bool]        `state:"boot"` // set at boot
	user, resched func(x kapi.Context) `state:"boot"` // set at boot; nil: there is no client
}

func (s *Switches) reset() {
	s.busy = [4]uint64{}
	s.later.Set(false)
}

// BootOn implements kapi.Switches.
func (s *Switches) BootOn(user, resched func(x kapi.Context)) {
	s.later.Init(&s.k.M.Cells, false)
	s.again = kapi.Is[bool]{Var: &s.later, Want: true}
	s.user, s.resched = user, resched
}

// Begin implements kapi.Switches. later is cleared by a locked instruction, as a kernel takes tasklist_lock before it
// scans tasks: a plain store could stay in the buffer until a scanned task has given up its CPU, and overwrite its
// signal.
func (s *Switches) Begin(x kapi.Context) {
	*s.later.RMW(x, kapi.Once) = false
	s.busy = [4]uint64{}
}

// Look implements kapi.Switches.
func (s *Switches) Look(x kapi.Context, t kapi.TaskID, spans []kapi.Span) kapi.Look {
	x.Mark(s.later.ID(), kapi.Read)
	unwind := func(slot, word arch.Addr) (arch.Addr, bool) { return s.k.Tasks.Unwind(x, t, slot, word) }
	look := ctxOf(x).Stacks().LookAt(s.k.M.Tasks().All()[t], spans, unwind)
	if look != kapi.LookOut {
		s.busy[t/64] |= 1 << (t % 64)
	}
	return look
}

// LetGo implements kapi.Switches.
func (s *Switches) LetGo(x kapi.Context, t kapi.TaskID) {
	ctxOf(x).Stacks().LetGo(s.k.M.Tasks().All()[t])
}

// Await implements kapi.Switches.
func (s *Switches) Await(x kapi.Context) { x.Sleep(&s.again) }

// Tell implements kapi.Switches.
func (s *Switches) Tell(x kapi.Context) { s.later.WriteOnce(x, true) }

// left is called when a task has given up its CPU, or a CPU is back in its idle loop.
func (s *Switches) left(t *smp.Task) {
	if s.again.Var != nil { // there is a client
		s.leave(t)
	}
}

func (s *Switches) leave(t *smp.Task) {
	if s.busy[t.ID/64]>>(t.ID%64)&1 != 0 && !s.later.Peek() {
		s.k.M.Footprint().TouchCell(s.later.ID(), true)
		s.later.Overwrite(true) // no CPU holds a store that clears it (Begin)
		s.k.M.Waits().Notify(s.later.ID())
	}
}
