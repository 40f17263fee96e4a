package ftrace

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A Trampolines says which of ftrace's trampolines are text, which tasks execute instruction by instruction and may be
// preempted in, and whose call is patched.
type Trampolines uint8

// The constants are the possibilities.
const (
	NoText Trampolines = iota // none: the trampoline is a routine that calls the clients in its first step
	Shared                    // one for all clients, as until 3.18
	Own                       // and one for each client, which a site calls that only this client wants (3.19)
)

// TrampolineWords are their names.
var TrampolineWords = []string{"", "shared", "own"}

// The addresses of text. What the call in the common trampoline may lead to is far apart, as it is in a kernel: its
// calls differ in several bytes.
const (
	callerAt arch.Addr = 0xffffffff82c00000 // ftrace_caller
	listAt   arch.Addr = 0xffffffff82d12340 // arch_ftrace_ops_list_func
)

// trampolineSize is how much memory a trampoline of a client has.
const trampolineSize = 64

// Memory is the kind of executable memory that trampolines of clients need.
var Memory = kapi.Memory{What: smpev.TrampolineMem, Most: trampolineSize, Alloc: "create_trampoline",
	Collect: "arch_ftrace_trampoline_free", Unmap: "arch_ftrace_trampoline_free"}

// A Text is a piece of the kernel's text.
type Text struct {
	Name string
	At   arch.Addr
	Code []byte
	// Patched says that it changes while tasks execute it.
	Patched bool
}

// trampolines are the trampolines as text:
//
//	save the registers; call clients; restore the registers; ret
//
// The second call of the common one, ftrace_call, leads to ftrace_stub, to the function of the only client, or to the
// list of all (ftrace_trace_function).
type trampolines struct {
	// set at boot: the routines that the text calls
	save, restore, list arch.Addr
	code                []byte    // set at boot: of the common one
	stub                arch.Addr // set at boot
	to                  arch.Addr // owned by ftrace_lock: what its call leads to
}

// The words of a trampoline's frame, above the registers. Above the frame is the return address of the site's call.
const (
	frameIP    = FrameRegs + iota // where the function continues
	frameSite                     // the site that has called
	frameThen                     // the direct call that comes when the clients have been called; 0: none
	frameWords                    // how many there are
)

// Faults of mutants.
var (
	freesEarly = kapi.DefineFault("ftrace-trampoline-early",
		"a client's trampoline is freed when each CPU has scheduled: a task may have been preempted in it",
		"ftrace_shutdown: synchronize_rcu_tasks, since 0598e4f08e3d (4.12)")
	storesCall = kapi.DefineFault("ftrace-call-stored",
		"the call in ftrace's trampoline is changed by plain stores, while other CPUs may execute it",
		"ftrace_update_ftrace_func, since 8a4d0a687a59 (3.5)")
	keepsSite = kapi.DefineFault("ftrace-site-kept",
		"a site that calls a client's own trampoline calls that also when another client joins, or remains",
		"ftrace_get_addr_new: FTRACE_FL_TRAMP, __ftrace_hash_rec_update")
)

// bootText makes the common trampoline, at boot.
func (f *Ftrace) bootText() {
	t, bind := &f.inside, f.d.Boot.BootBind
	t.save, t.restore = bind("save_mcount_regs", f.saveRegs), bind("restore_mcount_regs", f.restoreRegs)
	t.list = bind("ftrace_ops_list_func", f.callList)
	f.at = callerAt
	t.code = f.text(callerAt, 0)
	t.stub = callerAt + arch.Addr(len(t.code))
	t.code = f.text(callerAt, t.stub)
}

// text returns the text of a trampoline at an address. Its second call leads to to; all are in reach.
func (f *Ftrace) text(at, to arch.Addr) (code []byte) {
	a := f.d.Text.Arch()
	for _, to := range [...]arch.Addr{f.inside.save, to, f.inside.restore} {
		c, _ := a.Call(at+arch.Addr(len(code)), to)
		code = append(code, c.Bytes()...)
	}
	return append(code, a.Ret...)
}

// Text returns the kernel's text that is ftrace's.
func (f *Ftrace) Text() []Text {
	if f.lock == nil {
		return nil
	}
	if f.d.Trampolines == NoText {
		return f.stubs()
	}
	a, t := f.d.Text.Arch(), &f.inside
	list, _ := a.Jump(listAt, t.list)
	return []Text{{"ftrace_caller", callerAt, t.code, true}, {"ftrace_stub", t.stub, a.Ret, false},
		{"arch_ftrace_ops_list_func", listAt, list.Bytes(), false}}
}

// callAt is where the call of the common trampoline stands (ftrace_call).
func (f *Ftrace) callAt() arch.Addr { return callerAt + arch.Addr(f.d.Text.Arch().BranchLen) }

// CallImages calls image with the calls that may stand in the common trampoline.
func (f *Ftrace) CallImages(image func(at arch.Addr, insn arch.Code)) {
	if f.Core != nil {
		for _, c := range f.Core.Calls() {
			image(c.At, c.Insn)
		}
	}
	if f.d.Trampolines == NoText || f.lock == nil {
		return
	}
	to := []arch.Addr{f.inside.stub, listAt}
	for _, o := range f.made[:f.n] {
		if o.flags&Dynamic == 0 {
			to = append(to, o.gate)
		}
	}
	for _, to := range to {
		c, _ := f.d.Text.Arch().Call(f.callAt(), to)
		image(f.callAt(), c)
	}
}

// leads returns what the call of the common trampoline is to lead to (update_ftrace_function): to a client's function
// if it is the only one and isn't dynamic. Context: ftrace_lock held.
func (f *Ftrace) leads() arch.Addr {
	switch list := f.ops.Owned().list; {
	case len(list) == 0:
		return f.inside.stub
	case len(list) == 1 && list[0].flags&Dynamic == 0:
		return list[0].gate
	}
	return listAt
}

// lead makes the call of the common trampoline lead to to (ftrace_update_ftrace_func). Context: ftrace_lock and
// text_mutex held.
func (f *Ftrace) lead(x kapi.Context, to arch.Addr) {
	if f.inside.to == to {
		return
	}
	f.inside.to = to
	c, _ := f.d.Text.Arch().Call(f.callAt(), to)
	if f.d.Boot.Planted(storesCall) {
		f.d.Text.Write(x, f.callAt(), c.Bytes())
		return
	}
	f.d.Patch.Batch(x, []kapi.Rewrite{{At: f.callAt(), Insn: c.Bytes()}})
}

// makeTrampoline makes the trampoline of a client that hasn't one yet (create_trampoline). It calls the client's
// function. If there is no memory for it the client is called from the common one. Context: ftrace_lock held.
func (o *client) makeTrampoline(x kapi.Context) {
	f := o.f
	if f.d.Trampolines != Own || o.own != 0 || o.direct != nil {
		return
	}
	if at, ok := f.d.Exec.Alloc(x, trampolineSize, smpev.TrampolineMem); ok {
		f.d.Text.Fill(x, at, f.text(at, o.gate))
		if f.d.Sync != nil { // a CPU that traps on a site's breakpoint comes there before any serialises
			f.d.Sync.Core(x, smpev.SyncImage)
		}
		o.own = at
	}
}

// freeTrampoline waits until no task is in the trampoline of a dynamic client, which no site calls any more, and frees
// it:
//
//	step 1: wait until each CPU has scheduled: handlers have preemption off (synchronize_rcu_tasks_rude)
//	step 2: wait until each task has given its CPU up: one may have been preempted in the trampoline
//
// Context: ftrace_lock held; may sleep.
func (o *client) freeTrampoline(x kapi.Context) {
	f := o.f
	f.d.RCU.Synchronize(x, kapi.QuiesceSched)
	if o.own == 0 {
		return
	}
	if !f.d.Boot.Planted(freesEarly) {
		f.d.RCU.Synchronize(x, kapi.QuiesceTasks)
	}
	f.d.Exec.Free(x, o.own, trampolineSize, smpev.TrampolineMem)
	o.own = 0
}

// Caller is ftrace's trampoline for text that a Writer has written.
func (f *Ftrace) Caller(x kapi.Context, regs *arch.Regs) { f.caller(x, regs) }

// caller is ftrace's trampoline (ftrace_caller, ftrace_ops_list_func), called by a site. It calls the clients that
// want the site and continues where they say, through a direct call if there is one.
func (f *Ftrace) caller(x kapi.Context, regs *arch.Regs) {
	r, ok := f.entered(x, regs)
	if !ok {
		f.d.Traps.Bug(x, "ftrace_caller was called without a return address")
		return
	}
	x.PreemptDisable()
	back := r.IP
	then := f.callClients(x, back-arch.Addr(f.d.Text.Arch().BranchLen), &r) // comes when all clients have been called
	if then != 0 && f.DirectOwn {
		r.IP = back
	}
	f.leave(x, regs, &r, then, back)
	x.PreemptEnable()
}

// entered returns the registers as the function has them behind the site whose call leads to a routine.
func (f *Ftrace) entered(x kapi.Context, regs *arch.Regs) (r arch.Regs, ok bool) {
	r = *regs
	switch a := f.d.Text.Arch(); a.Pushed {
	case 0:
		r.IP, r.R[a.Link] = arch.Addr(regs.R[f.d.Form.Link]), regs.R[f.d.Form.Parent]
		if f.d.Form.Stub != nil {
			s := f.behind(r.IP)
			if s == nil {
				return r, false
			}
			r.IP = s.at + arch.Addr(a.BranchLen)
		}
		return r, true
	default:
		sp := a.StackPointer(regs)
		back, ok := x.Memory().Load(sp, a.Word)
		r.IP, r.R[a.SP] = arch.Addr(back), uint64(sp)+uint64(a.Word)
		return r, ok
	}
}

// leave makes a routine that a site has called continue in the function with registers r, if a direct call doesn't
// come first: that returns there as if the site had called it. Behind the site is back, where its stub leads.
func (f *Ftrace) leave(x kapi.Context, regs, r *arch.Regs, then, back arch.Addr) {
	a := f.d.Text.Arch()
	sp := a.StackPointer(regs)
	link, to := regs.R[f.d.Form.Link], r.IP
	regs.Flags = r.Flags&^arch.IRQ | regs.Flags&arch.IRQ
	regs.R = r.R
	if a.Pushed == 0 {
		stub := f.d.Form.Stub != nil && to == back
		if stub {
			to = arch.Addr(link)
		}
		if then != 0 || stub {
			regs.R[f.d.Form.Link], regs.R[f.d.Form.Parent] = uint64(to), r.R[a.Link]
		}
		if regs.IP = to; then != 0 {
			regs.IP = then
		}
		return
	}
	x.Memory().Store(sp, a.Word, uint64(r.IP))
	if then != 0 {
		sp -= arch.Addr(a.Word)
		x.Memory().Store(sp, a.Word, uint64(then))
	}
	regs.R[a.SP] = uint64(sp)
}

// callClients calls the clients that want the site at ip. It returns the direct call there, 0 if there is none.
func (f *Ftrace) callClients(x kapi.Context, ip arch.Addr, regs *arch.Regs) (then arch.Addr) {
	for _, o := range f.ops.Deref(x).list {
		if takes(o.filter.All(x), ip) {
			o.h(x, ip, regs)
			if o.direct != nil {
				then = o.direct.to.ReadOnce(x)
			}
		}
	}
	return then
}

// saveRegs makes the frame. Like restoreRegs it is one step.
func (f *Ftrace) saveRegs(x kapi.Context, regs *arch.Regs) {
	a := f.d.Text.Arch()
	fr := FrameOf(x, a, regs)
	ip, ok := fr.Mem.Load(fr.At, a.Word)
	if !ok {
		f.d.Traps.Bug(x, "a trampoline of ftrace was called without a return address")
		return
	}
	fr.At -= arch.Addr(frameWords * a.Word)
	fr.Keep(0, regs)
	fr.Store(frameIP, ip)
	fr.Store(frameSite, ip-uint64(a.BranchLen))
	fr.Store(frameThen, 0)
	fr.Leave(0, regs, fr.Back, fr.At)
}

// restoreRegs takes the frame away. The trampoline returns to where the clients say, through a direct call if there is
// one.
func (f *Ftrace) restoreRegs(x kapi.Context, regs *arch.Regs) {
	fr := FrameOf(x, f.d.Text.Arch(), regs)
	sp := fr.Word(frameWords)
	ip, then := fr.Load(frameIP), fr.Load(frameThen)
	if then != 0 && f.DirectOwn {
		ip = fr.Load(frameSite) + uint64(fr.Arch.BranchLen)
	}
	fr.Mem.Store(sp, fr.Arch.Word, ip)
	if then != 0 {
		sp -= arch.Addr(fr.Arch.Word)
		fr.Mem.Store(sp, fr.Arch.Word, then)
	}
	fr.Leave(0, regs, fr.Back, sp)
}

// serve has do call clients with the registers of the frame, as the function has them at the site. What do returns is a
// direct call that comes then, or 0.
func (f *Ftrace) serve(x kapi.Context, regs *arch.Regs,
	do func(ip arch.Addr, r *arch.Regs) (then arch.Addr)) {
	x.PreemptDisable()
	fr := FrameOf(x, f.d.Text.Arch(), regs)
	r := arch.Regs{IP: arch.Addr(fr.Load(frameIP))}
	fr.Registers(0, &r)
	r.R[fr.Arch.SP] = uint64(fr.Word(frameWords + 1))
	then := do(arch.Addr(fr.Load(frameSite)), &r)
	fr.Keep(0, &r)
	fr.Store(frameIP, uint64(r.IP))
	fr.Store(frameThen, uint64(then))
	x.PreemptEnable()
}

// callList calls the clients that want the site (ftrace_ops_list_func).
func (f *Ftrace) callList(x kapi.Context, regs *arch.Regs) {
	f.serve(x, regs, func(ip arch.Addr, r *arch.Regs) arch.Addr { return f.callClients(x, ip, r) })
}

// called calls the client alone. Where the common trampoline has called it for a site that it doesn't want, a client
// before it has gone meanwhile: the only clients that aren't dynamic are kprobes', whose handler finds no probe then.
func (o *client) called(x kapi.Context, regs *arch.Regs) {
	o.f.serve(x, regs, func(ip arch.Addr, r *arch.Regs) arch.Addr {
		common := FrameOf(x, o.f.d.Text.Arch(), regs).Back == o.f.callAt()+arch.Addr(o.f.d.Text.Arch().BranchLen)
		if !common || takes(o.filter.All(x), ip) {
			o.h(x, ip, r)
		}
		return 0
	})
}
