package uprobe

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// MostCalls is how many calls of the function at the uprobe a task may have under way.
const MostCalls = 4

var (
	unreferenced = kapi.DefineFault("uretprobe-unreferenced",
		"a call whose return is hooked doesn't refer to its uprobe, which may be freed before the call returns",
		"prepare_uretprobe: get_uprobe")
	longjmp = kapi.DefineFault("uretprobe-longjmp",
		"a return is taken for that of the newest hooked call, which longjmp may have left",
		"handle_trampoline: arch_uretprobe_is_alive, since 4.2")
	returnUnlocked = kapi.DefineFault("uretprobe-unlocked",
		"return handlers run without register_rwsem, so unregistering doesn't wait for them",
		"handle_uretprobe_chain: register_rwsem")
)

// calls are a task's calls of the function, which begins at the uprobe. The zero value: there is none.
type calls struct {
	depth  int                  // owned by the task: how many there are on the stack
	stack  [MostCalls]arch.Addr // owned by the task: return addresses on the stack of user mode, the outermost first
	hooked int                  // owned by the task: how many instances there are
	chain  [MostCalls]instance  // owned by the task: return_instances, the oldest first
}

// An instance is a call whose return is hooked (struct return_instance).
type instance struct {
	object int       // the uprobe
	depth  int       // where its return address is on the stack
	to     arch.Addr // the return address that was there
}

// objects are the memory of uprobes (struct uprobe), of which one at a time is found by its address. They are counted
// where an instance may keep one that isn't found any more. The zero value: they aren't counted. Number 0 is none.
type objects struct {
	u    *Uprobes        // set at boot
	refs []kapi.Var[int] // struct uprobe: ref; 0: it is free
	of   kapi.Var[int]   // the one that is found by its address
}

func (o *objects) init(u *Uprobes) {
	o.u = u
	o.of.Init(u.d.Cells, 0)
	o.refs = make([]kapi.Var[int], 3+len(u.tasks)*(MostCalls+1))
	for i := range o.refs {
		o.refs[i].Init(u.d.Cells, 0)
	}
}

func (o *objects) begin() {
	if o.u == nil {
		return
	}
	o.of.Set(0)
	for i := range o.refs {
		o.refs[i].Set(0)
	}
}

// add makes a uprobe, which is found from now on: of those that are free the first. Within the step under way.
func (o *objects) add(x kapi.Context) {
	if o.u == nil {
		return
	}
	n := 1
	for *o.refs[n].Change(x, kapi.Once) != 0 {
		n++
	}
	*o.refs[n].Change(x, kapi.Once) = 1
	*o.of.Change(x, kapi.Once) = n
	o.emit(x, smpev.UprobeMakes, n)
}

// get returns the uprobe that is found, which it refers to. Within the step under way (uprobes_treelock).
func (o *objects) get(x kapi.Context) int {
	n := *o.of.Change(x, kapi.Once)
	if n != 0 {
		*o.refs[n].Change(x, kapi.Once)++
	}
	return n
}

// forget makes the uprobe no longer be found. The last that refers to it frees it. Begins within the step under way.
func (o *objects) forget(x kapi.Context, s *users) {
	if o.u == nil {
		return
	}
	at := o.of.Change(x, kapi.Once)
	n := *at
	*at = 0
	s.put(x, n)
}

func (o *objects) emit(x kapi.Context, what uint64, n int) {
	x.Emit(smpev.Uprobe, uint64(o.u.at), what, objectsAt+uint64(n)*objectSize)
}

// Where uprobes are in the kernel's memory, as monitors and people see them.
const (
	objectsAt  = 0xffff_8880_0a00_0000
	objectSize = 0x200
)

// put ends a reference to a uprobe, 0 for none (put_uprobe).
func (s *users) put(x kapi.Context, object int) {
	if object != 0 && kapi.Add(&s.objects.refs[object], x, kapi.Once, -1) == 0 {
		s.objects.emit(x, smpev.UprobeFrees, object)
	}
}

// trampoline is where hooked calls return to: in the area with the slots.
func (u *Uprobes) trampoline() arch.Addr { return u.slot + 0x80 }

// caller is where call number n of the function returns to: the first was made by its caller, the others by itself.
func (u *Uprobes) caller(t *utask, n int) arch.Addr {
	if n == 0 {
		return u.addr(t.process) - 0x20
	}
	return u.addr(t.process) + 0x10 + arch.Addr(n)
}

// enter makes a task call the function at the uprobe, which it then reaches. Context: a task's program.
func (u *Uprobes) enter(x kapi.Context, t *utask) {
	c := &t.calls
	to := u.caller(t, c.depth)
	c.stack[c.depth] = to
	c.depth++
	x.Emit(smpev.Uprobe, uint64(u.addr(t.process)), smpev.UprobeCalls, uint64(to))
}

// leave makes a task leave the innermost call by longjmp. Context: a task's program.
func (u *Uprobes) leave(x kapi.Context, t *utask) {
	t.calls.depth--
	x.Emit(smpev.Uprobe, uint64(u.addr(t.process)), smpev.UprobeLeaves, 0)
}

// back makes a task return from the innermost call. Context: a task's program.
func (u *Uprobes) back(x kapi.Context, t *utask) {
	t.calls.depth--
	regs := u.regs(t, t.calls.stack[t.calls.depth])
	if regs.IP == u.trampoline() {
		regs.IP += arch.Addr(len(u.d.Arch.Breakpoint))
		u.d.Traps.InUser(x, smpev.VecBP, &regs)
	}
	x.Emit(smpev.Uprobe, uint64(u.addr(t.process)), smpev.UprobeBack, uint64(regs.IP))
}

// prepare hooks the return of the call that has just begun (prepare_uretprobe). Instances of calls that longjmp has
// left are dropped first: their place on the stack is the new call's, or below.
func (s *users) prepare(x kapi.Context, t *utask) {
	c := &t.calls
	for c.hooked > 0 && c.chain[c.hooked-1].depth >= c.depth {
		s.drop(x, c)
	}
	at := &c.stack[c.depth-1]
	in := &c.chain[c.hooked]
	*in = instance{object: t.object, depth: c.depth, to: *at}
	c.hooked++
	*at = s.u.trampoline()
	x.Emit(smpev.Uprobe, uint64(s.u.addr(t.process)), smpev.UprobeHooks, uint64(in.to))
	if !s.u.d.Boot.Planted(unreferenced) {
		kapi.Add(&s.objects.refs[in.object], x, kapi.Once, 1)
	}
}

// drop ends the newest instance (free_ret_instance).
func (s *users) drop(x kapi.Context, c *calls) {
	c.hooked--
	if !s.u.d.Boot.Planted(unreferenced) {
		s.put(x, c.chain[c.hooked].object)
	}
}

// handleTrampoline sends a task whose call has returned to the trampoline back to the caller (handle_trampoline).
// Instances that are newer than the call's are of calls that longjmp has left: the one below them isn't on the stack
// any more either.
func (s *users) handleTrampoline(x kapi.Context, t *utask, regs *arch.Regs) {
	c := &t.calls
	for valid := false; !valid; {
		if c.hooked == 0 {
			x.Emit(smpev.Uprobe, uint64(s.u.addr(t.process)), smpev.UprobeLost, 0)
			return
		}
		in := c.chain[c.hooked-1]
		valid = c.hooked == 1 || c.chain[c.hooked-2].depth <= c.depth || s.u.d.Boot.Planted(longjmp)
		if regs.IP = in.to; valid {
			s.objects.emit(x, smpev.UprobeUses, in.object)
			s.returned(x, t, in.object)
		}
		s.drop(x, c)
	}
}

// returned calls the return handlers of all users of a uprobe (handle_uretprobe_chain): none, if all have been
// unregistered since the call, be they registered again or not (until 6.11). No filter is asked. Context: may sleep;
// reads register_rwsem.
func (s *users) returned(x kapi.Context, t *utask, object int) {
	locks := !s.u.d.Boot.Planted(returnUnlocked)
	if locks {
		s.read(x)
	}
	if *s.objects.of.RMW(x, kapi.Once) == object {
		for _, c := range s.all {
			if c.on.ReadOnce(x) && c.how.Return != 0 {
				s.u.call(x, t, c.how.Return, smpev.UprobeReturns, c.handler)
			}
		}
	}
	if locks {
		kapi.Add(&s.readers, x, kapi.Once, -1)
	}
}
