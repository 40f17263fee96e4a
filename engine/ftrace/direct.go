package ftrace

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// directs are the functions that call a trampoline of a client's own, without ftrace
// between (CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, 5.5 and later). Where another client
// wants the function, too, its site calls ftrace's trampoline, which goes to the direct one
// when it has called the others.
type directs struct {
	// direct_mutex; set at boot, nil: there is never a direct call
	mutex  kapi.Mutex `state:"address: it is among the mutexes"`
	list   []*direct  // set at boot
	claims bool       // set at boot: a direct call counts as a client that changes the path (until 5.19)
}

// A direct is a function that may call a client directly.
type direct struct {
	site *site               // set at boot
	ops  *client             // set at the boot of a run: direct_ops
	tmp  *client             // set at the boot of a run: while it is registered the site calls ftrace's trampoline
	to   kapi.Var[arch.Addr] // the client's trampoline
	// owned by ftrace_lock: the call instruction
	code arch.Code `state:"skip: follows from what its maker has read"`
}

// BootDirect declares, at boot, that the site at ip may call a trampoline directly. claims: this counts as changing
// the path there.
func (f *Ftrace) BootDirect(ip arch.Addr, claims bool) {
	if f.direct.mutex == nil {
		f.direct.mutex = f.d.Boot.BootMutex("direct_mutex")
	}
	f.direct.claims = claims
	f.direct.list = append(f.direct.list, &direct{site: f.find(ip)})
}

// BeginDirects makes the clients of direct calls, at the boot of a run.
func (f *Ftrace) BeginDirects() {
	flags := Dynamic
	if f.direct.claims {
		flags |= Modifies
	}
	nothing := func(kapi.Context, arch.Addr, *arch.Regs) {}
	for _, d := range f.direct.list {
		if f.Core != nil {
			f.Core.NewDirect(d.site.at)
			continue
		}
		d.to.Init(f.d.Cells, 0)
		d.ops = f.NewOps("direct_ops", nothing, flags).(*client)
		d.tmp = f.NewOps("tmp_ops", nothing, 0).(*client) // static in kernels
		d.ops.direct = d
	}
}

var modifiesNothing = kapi.DefineFault("direct-not-modified", "a direct call that is modified leads to what it led to",
	"modify_ftrace_direct")

func (f *Ftrace) directAt(ip arch.Addr) (n int, d *direct) {
	for i, d := range f.direct.list {
		if d.site != nil && d.site.at == ip {
			return i, d
		}
	}
	return 0, nil
}

// call returns the call of a client's trampoline.
func (d *direct) call(f *Ftrace, to arch.Addr) (c arch.Code, ok bool) {
	return f.d.Form.Call(d.site.at, to)
}

// RegisterDirect makes the site at ip call to (register_ftrace_direct). EBUSY: it has a direct call already, or a
// client that changes the path and doesn't share it; EINVAL: there is no site, or to is out of reach. Context: may
// sleep; takes direct_mutex.
func (f *Ftrace) RegisterDirect(x kapi.Context, ip, to arch.Addr) (errno int) {
	n, d := f.directAt(ip)
	if d == nil {
		return EINVAL
	}
	if _, ok := d.call(f, to); !ok && f.Direct() {
		return EINVAL
	}
	f.direct.mutex.Lock(x)
	switch {
	case f.Core != nil:
		errno = f.Core.RegisterDirect(x, n, to)
	case d.ops.active:
		errno = EBUSY
	default:
		d.to.WriteOnce(x, to)
		if errno = d.ops.Filter(x, ip, true); errno == 0 {
			if errno = d.ops.Register(x); errno != 0 {
				d.ops.Filter(x, ip, false)
			}
		}
	}
	f.direct.mutex.Unlock(x)
	return errno
}

// UnregisterDirect removes the direct call (unregister_ftrace_direct). With waits it returns when no task is in the
// trampoline any more: it may be freed. EINVAL: there is no direct call. Context: as RegisterDirect.
func (f *Ftrace) UnregisterDirect(x kapi.Context, ip arch.Addr, waits bool) (errno int) {
	n, d := f.directAt(ip)
	if d == nil {
		return EINVAL
	}
	f.direct.mutex.Lock(x)
	if f.Core != nil {
		errno = f.Core.UnregisterDirect(x, n)
	} else if errno = d.ops.Unregister(x); errno == 0 {
		d.ops.Filter(x, ip, false)
		f.leaveDirect(x, waits)
	}
	f.direct.mutex.Unlock(x)
	return errno
}

// ModifyDirect makes the site at ip call another trampoline (modify_ftrace_direct). A second client makes it call
// ftrace's in between, so that the new call is never written over the old one:
//
//	step 1: register the second client; the site calls ftrace's trampoline
//	step 2: ftrace's trampoline continues in the new one
//	step 3: unregister the second client; the site calls the new one
//
// With waits it returns when no task is in the old one; since 6.4 a kernel leaves that to the caller. EINVAL: there is
// no direct call, or it is out of reach. Context: as RegisterDirect.
func (f *Ftrace) ModifyDirect(x kapi.Context, ip, to arch.Addr, waits bool) (errno int) {
	n, d := f.directAt(ip)
	if d == nil {
		return EINVAL
	}
	if _, ok := d.call(f, to); !ok && f.Direct() {
		return EINVAL
	}
	f.direct.mutex.Lock(x)
	switch {
	case f.Core != nil:
		errno = f.Core.ModifyDirect(x, n, to, waits)
	case !d.ops.active:
		errno = EINVAL
	case f.PlainDirect:
		d.to.WriteOnce(x, to)
		f.lock.Lock(x)
		f.writePlain(x, d)
		f.lock.Unlock(x)
	default:
		if errno = d.tmp.Filter(x, ip, true); errno == ENODEV {
			break
		}
		d.tmp.Register(x)

		if !f.d.Boot.Planted(modifiesNothing) {
			d.to.WriteOnce(x, to)
		}

		d.tmp.Unregister(x)
		d.tmp.Filter(x, ip, false)
		f.leaveDirect(x, waits)
	}
	f.direct.mutex.Unlock(x)
	return errno
}

// writePlain writes a direct call over another one, with no breakpoint before it and no sync
// between: a mutant. Context: ftrace_lock held.
func (f *Ftrace) writePlain(x kapi.Context, d *direct) {
	insn, target := f.wanted(d.site)
	f.d.Text.Mutex().Lock(x)
	d.site.calls = target
	f.d.Text.Write(x, d.site.at, insn.Bytes())
	f.d.Text.Mutex().Unlock(x)
}

// leaveDirect waits until no task is in a trampoline that no site calls any more (synchronize_rcu_tasks): one may
// have been preempted there. Context: may sleep.
func (f *Ftrace) leaveDirect(x kapi.Context, waits bool) {
	if waits && !f.DirectStays {
		f.d.RCU.Synchronize(x, kapi.QuiesceTasks)
	}
}

// Direct reports whether sites call the trampolines of direct calls. Where part of a call stays as it was at boot, and
// where it stands out of line, they all call ftrace's own, which goes to the other one (DYNAMIC_FTRACE_WITH_CALL_OPS).
func (f *Ftrace) Direct() bool { return f.d.Form != nil && f.d.Form.Keep == 0 && f.d.Form.Stub == nil }

// wanted returns the instruction that the clients want at a site, and its target, 0 if it is a nop. If the only
// client is a direct call, it is that call; if the only one has a trampoline of its own, it is a call of that. Context:
// ftrace_lock held.
func (f *Ftrace) wanted(s *site) (insn *arch.Code, target arch.Addr) {
	n, only := 0, (*client)(nil)
	for _, o := range f.ops.Owned().list {
		if o.wants(s.at) {
			n++
			only = o
		}
	}
	switch {
	case n == 0:
		return &s.nop, 0
	case n == 1 && only.direct != nil && f.Direct():
		d := only.direct
		target = d.to.Owned()
		d.code, _ = d.call(f, target) // registration has checked its reach
		return &d.code, target
	case n == 1 && only.own != 0:
		s.own, _ = f.d.Form.Call(s.at, only.own) // all memory for it is in reach
		return &s.own, only.own
	}
	return &s.call, f.at
}

// keeps reports whether a fault keeps the site's call.
func (f *Ftrace) keeps(s *site, target arch.Addr) bool {
	return s.calls != 0 && s.calls != f.at && target != 0 && f.d.Boot.Planted(keepsSite)
}
