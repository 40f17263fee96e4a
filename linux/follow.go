package linux

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// What fprobes do with calls: the kernel's own code handles them, and users' handlers are functions of the scenario.

// A fprobeCall is a call of a function that the kernel handles for an fprobe.
type fprobeCall struct {
	task  kapi.TaskID
	cpu   int
	n     int // the number of the fprobe
	ip    arch.Addr
	taken bool   // it isn't missed for another's sake
	asked bool   // a hook was asked for
	node  uint64 // the hook; 0: none
	moves int    // what fprobes.moves was when the hook was asked for
	alone bool   // no other hook was on its way then
	left  bool   // the entry handler has left out the exit handler
}

// A follow is a call that an fprobe follows, by the node of a rethook.
type follow struct {
	node   uint64
	task   kapi.TaskID
	n      int
	ip     arch.Addr
	frame  uint64 // where its return address lies; 0: it isn't hooked yet
	exited bool   // its exit handler has run
}

// handled calls the kernel's handler of a call of a function that an fprobe is on (fprobe_handler).
func (fs *fprobes) handled(x kapi.Context, n int, ops, ip arch.Addr, regs *arch.Regs) {
	cpu := x.CPU()
	other := fs.e.patched.open[cpu] > 0 &&
		!slices.ContainsFunc(fs.calls, func(c fprobeCall) bool { return c.cpu == cpu })
	fs.calls = append(fs.calls, fprobeCall{task: x.Task(), cpu: cpu, n: n, ip: ip})
	fs.e.patched.traced(x, ops, ip, regs)
	i := fs.top(x)
	c := fs.calls[i]
	fs.calls = slices.Delete(fs.calls, i, i+1)
	if !c.taken {
		fs.misses(x, n, ip, other)
		return
	}
	if c.left {
		fs.moved(-1)
	}
	if c.node != 0 || !c.asked {
		if j := fs.following(c.node); j >= 0 && fs.follows[j].frame == 0 {
			if !c.left {
				fs.tell(x, n, smpev.HookSkips, ip)
			}
			fs.follows = slices.Delete(fs.follows, j, j+1)
		}
		fs.tell(x, n, smpev.HookEntered, ip)
	}
	fs.tell(x, n, smpev.HookLeaves, ip)
}

// misses takes a call that the kernel has done nothing with. other: what runs on the CPU is a handler of its probes,
// which share the lock against recursion with fprobes.
func (fs *fprobes) misses(x kapi.Context, n int, ip arch.Addr, other bool) {
	p := &fs.list[n]
	if p.here && get(x, p.at, fs.k.fields.fprobe.flags)&fprobeDisabled != 0 {
		return
	}
	what := uint64(smpev.HookRecursion)
	if other {
		what = smpev.HookRaced
	}
	fs.tell(x, n, what, ip)
	x.Emit(smpev.Fprobe, uint64(ip), smpev.FprobeMiss, 0)
}

// moved counts what hooks do: n is how many more are on their way.
func (fs *fprobes) moved(n int) { fs.moves, fs.moving = fs.moves+1, fs.moving+n }

// top returns the index of the newest call that is handled for the task, or -1.
func (fs *fprobes) top(x kapi.Context) int {
	for i := len(fs.calls) - 1; i >= 0; i-- {
		if fs.calls[i].task == x.Task() {
			return i
		}
	}
	return -1
}

// following returns the index of the call that a node follows, or -1.
func (fs *fprobes) following(node uint64) int {
	return slices.IndexFunc(fs.follows, func(f follow) bool { return f.node == node })
}

// takes notes that a call isn't missed for another's sake.
func (fs *fprobes) takes(x kapi.Context, i int) {
	if c := &fs.calls[i]; !c.taken {
		c.taken = true
		fs.tell(x, c.n, smpev.HookTakes, c.ip)
	}
}

// asks is the beginning of rethook_try_get(rethook) for an fprobe.
func (fs *fprobes) asks(x kapi.Context) {
	i := fs.top(x)
	if i < 0 || fs.calls[i].asked {
		return
	}
	fs.takes(x, i)
	c := &fs.calls[i]
	c.asked, c.alone, c.moves = true, fs.moving == 0, fs.moves+1
	fs.moved(1)
}

// got is its end: node 0: there is no hook.
func (fs *fprobes) got(x kapi.Context, node uint64) {
	i := fs.top(x)
	if i < 0 || !fs.calls[i].asked || fs.calls[i].node != 0 {
		return
	}
	c := &fs.calls[i]
	c.alone = c.alone && fs.moves == c.moves
	fs.moved(-1)
	if c.node = node; node != 0 {
		fs.follows = append(fs.follows, follow{node: node, task: c.task, n: c.n, ip: c.ip})
		fs.tell(x, c.n, smpev.HookFollows, c.ip)
		return
	}
	what := uint64(smpev.HookRaced)
	if c.alone {
		what = smpev.HookNone
	}
	fs.tell(x, c.n, what, c.ip)
	x.Emit(smpev.Fprobe, uint64(c.ip), smpev.FprobeMiss, 0)
}

// hooks is arch_rethook_prepare(node, …) with the stack pointer of the call.
func (fs *fprobes) hooks(node uint64, frame arch.Addr) {
	if i := fs.following(node); i >= 0 {
		fs.follows[i].frame = uint64(frame)
	}
}

// onEntry is entry_handler(fp, ip, return address, registers, data).
func (fs *fprobes) onEntry(x kapi.Context, r *arch.Regs) {
	n, i := fs.of(r.R[fs.k.arch.Args[0]]), fs.top(x)
	if n < 0 || i < 0 || fs.calls[i].n != n {
		fs.bug(x, "an entry_handler is called for what is no fprobe, or not from its function")
		return
	}
	fs.takes(x, i)
	ip := fs.calls[i].ip
	if !fs.calls[i].asked {
		fs.tell(x, n, smpev.HookFollows, ip)
	}
	h := fs.list[n].of.Handlers()
	x.Emit(smpev.Fprobe, r.R[fs.k.arch.Args[1]], smpev.FprobeEntry, uint64(h.Entry))
	v := uint32(fs.run(x, h.Entry, r))
	if i = fs.top(x); v != 0 && h.Skips && i >= 0 && fs.calls[i].node != 0 {
		fs.calls[i].left = true
		fs.moved(1)
		fs.tell(x, n, smpev.HookSkips, ip)
	}
	if !h.Skips {
		v = 0
	}
	x.Regs().R[fs.k.arch.Result] = uint64(v)
}

// onExit is exit_handler(fp, ip, return address, registers, data). Of the calls that return together, those that are
// newer and whose exit handlers haven't run are left out.
func (fs *fprobes) onExit(x kapi.Context, r *arch.Regs) {
	n, ip := fs.of(r.R[fs.k.arch.Args[0]]), arch.Addr(r.R[fs.k.arch.Args[1]])
	if n < 0 {
		fs.bug(x, "an exit_handler is called for what is no fprobe")
		return
	}
	if i := fs.newest(x.Task(), func(f *follow) bool { return f.n == n && f.ip == ip && !f.exited }); i >= 0 {
		fs.follows[i].exited = true
		for j := len(fs.follows) - 1; j > i; j-- {
			f := &fs.follows[j]
			if f.task == x.Task() && f.frame == fs.follows[i].frame && !f.exited {
				f.exited = true
				fs.tell(x, f.n, smpev.HookStopped, f.ip)
			}
		}
	}
	h := fs.list[n].of.Handlers()
	x.Emit(smpev.Fprobe, uint64(ip), smpev.FprobeExit, uint64(h.Exit))
	fs.tell(x, n, smpev.HookExit, ip)
	fs.run(x, h.Exit, r)
	fs.tell(x, n, smpev.HookExited, ip)
}

// newest returns the index of the newest call of a task that is followed and that has a property, or -1.
func (fs *fprobes) newest(t kapi.TaskID, is func(f *follow) bool) int {
	for i := len(fs.follows) - 1; i >= 0; i-- {
		if f := &fs.follows[i]; f.task == t && is(f) {
			return i
		}
	}
	return -1
}

// run calls a handler of the scenario's. Its registers are those of the call, as the kernel gives them, but for that of
// the data.
func (fs *fprobes) run(x kapi.Context, f arch.Addr, r *arch.Regs) uint64 {
	const frame, data = 3, 4 // which argument
	a, live := fs.k.arch, x.Regs()
	open := &fs.regs[x.Task()]
	depth := len(*open)
	*open = append(roomy(*open), *live)
	sp, given := live.R[a.SP], r.R[a.Args[data]]
	fs.loadRegs(x, r.R[a.Args[frame]], live)
	live.R[a.SP], live.IP, live.R[a.Args[data]] = sp, (*open)[depth].IP, given
	live.Flags = (*open)[depth].Flags
	if fs.k.config.uncounted {
		x.PreemptDisable()
	}
	v := x.Call(f)
	if fs.k.config.uncounted {
		x.PreemptEnable()
	}
	flags := x.Regs().Flags
	*x.Regs() = (*open)[depth]
	x.Regs().Flags = flags
	*open = (*open)[:depth]
	return v
}

// returns is the beginning of rethook_trampoline_handler(regs, frame), which gives hooks back.
func (fs *fprobes) returns() {
	if len(fs.list) > 0 {
		fs.moved(1)
	}
}

// gone is its end. Exit handlers that haven't run are left out.
func (fs *fprobes) gone(x kapi.Context, frame uint64) {
	if len(fs.list) == 0 {
		return
	}
	fs.moved(-1)
	for {
		i := fs.newest(x.Task(), func(f *follow) bool { return f.frame == frame })
		if i < 0 {
			return
		}
		f := fs.follows[i]
		fs.follows = slices.Delete(fs.follows, i, i+1)
		if !f.exited {
			fs.tell(x, f.n, smpev.HookStopped, f.ip)
		}
	}
}

// flushed forgets the calls of a task that ends.
func (fs *fprobes) flushed(t kapi.TaskID) {
	fs.follows = slices.DeleteFunc(fs.follows, func(f follow) bool { return f.task == t })
}
