package linux

import (
	"fmt"

	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A lock is a mutex of the kernel's, identified by its address.
type lock struct {
	at         arch.Addr
	kapi.Mutex `state:"address: it is among the mutexes"`
}

// mutexes lists the mutexes made at each boot, in this order. Any other is made when it is
// first taken.
var mutexes = []string{"kprobe_mutex", "kprobe_insn_slots", "kprobe_optinsn_slots"}

// locks holds the kernel's mutexes.
type locks struct {
	*env `state:"boot"`
	list []lock
}

// renew makes the mutexes that a run begins with.
func (ls *locks) renew() {
	ls.list = ls.list[:0]
	for _, name := range mutexes {
		if at := ls.k.at(name); at != 0 {
			at += mutexIn(ls.k, name)
			ls.list = append(ls.list, lock{at, ls.d.Locks.NewMutex(name)})
		}
	}
	ls.list = append(ls.list, lock{ls.k.at("text_mutex"), ls.d.Text.Mutex()})
}

// of returns the mutex at an address.
func (ls *locks) of(at uint64) kapi.Mutex {
	for i := range ls.list {
		if ls.list[i].at == arch.Addr(at) {
			return ls.list[i].Mutex
		}
	}
	name, off, ok := ls.k.Symbol(arch.Addr(at))
	if !ok || off >= 64 {
		name = "mutex"
	}
	ls.list = append(ls.list, lock{arch.Addr(at), ls.d.Locks.NewMutex(name)})
	return ls.list[len(ls.list)-1].Mutex
}

func mutexLock(e *Linux, x kapi.Context, a *args) uint64 { e.locks.of(a[0]).Lock(x); return 0 }

func mutexUnlock(e *Linux, x kapi.Context, a *args) uint64 {
	if e.audit && arch.Addr(a[0]) == e.k.symbols.kprobeMutex {
		e.files.tellStates(x)
	}
	e.locks.of(a[0]).Unlock(x)
	return 0
}

func synchronizeRCU(e *Linux, x kapi.Context, _ *args) uint64 {
	e.d.RCU.Synchronize(x, kapi.QuiesceRCU)
	return 0
}

func synchronizeTasks(e *Linux, x kapi.Context, _ *args) uint64 {
	e.d.RCU.Synchronize(x, kapi.QuiesceTasks)
	return 0
}

func synchronizeRude(e *Linux, x kapi.Context, _ *args) uint64 {
	e.d.RCU.Synchronize(x, kapi.QuiesceSched)
	return 0
}

// A callback is a callback of call_rcu. It implements kapi.Reclaimer.
type callback struct {
	e    *Linux `state:"skip: the engine"`
	busy bool   // the callback waits for the end of a grace period
	due
}

// A due is the work after a grace period: f is called with head, or, if f is 0, head is freed.
type due struct {
	head, f uint64
	by      arch.Addr // the code that requested it
}

// Reclaim implements kapi.Reclaimer: the thread of callbacks makes the call.
func (c *callback) Reclaim(by kapi.Emitter) {
	by.Mark(c.e.memory.allocator.ID(), kapi.Write)
	c.e.works.due = append(c.e.works.due, c.due)
	c.busy = false
	c.e.works.wake()
}

// afterGrace schedules d to run after a grace period.
func (ws *works) afterGrace(x kapi.Context, d due) {
	x.Touch(ws.e.memory.allocator.ID(), kapi.Write)
	for _, c := range ws.callbacks {
		if !c.busy {
			c.due, c.busy = d, true
			ws.d.RCU.Call(x, c)
			return
		}
	}
	c := &callback{e: ws.e, busy: true, due: d}
	ws.callbacks = append(ws.callbacks, c)
	ws.d.RCU.Call(x, c)
}

func callRCU(e *Linux, x kapi.Context, a *args) uint64 {
	e.memory.touched(x, a[0])
	e.works.afterGrace(x, due{a[0], a[1], e.caller(x)})
	return 0
}

// callRCUTasks is call_rcu_tasks(head, function).
func callRCUTasks(e *Linux, x kapi.Context, a *args) uint64 {
	if e.works.wakeTasks == nil {
		e.refuse(x, "call_rcu_tasks, where ftrace's clients are kpsim's")
		return 0
	}
	e.memory.touched(x, a[0])
	x.Touch(e.memory.allocator.ID(), kapi.Write)
	e.works.ofTasks = append(e.works.ofTasks, due{a[0], a[1], e.caller(x)})
	e.works.wakeTasks()
	return 0
}

// callBackTasks is the body of the thread that runs the callbacks of call_rcu_tasks.
func (ws *works) callBackTasks(x kapi.Context) {
	for len(ws.ofTasks) > 0 {
		n := len(ws.ofTasks)
		ws.d.RCU.Synchronize(x, kapi.QuiesceTasks)
		for range n {
			x.Touch(ws.e.memory.allocator.ID(), kapi.Write)
			c := ws.ofTasks[0]
			ws.ofTasks = ws.ofTasks[:copy(ws.ofTasks, ws.ofTasks[1:])]
			ws.count(x, softirq)
			ws.call(x, arch.Addr(c.f), c.head)
			ws.count(x, -softirq)
		}
	}
}

// freeRCU is kvfree_call_rcu(head, ptr) of 6.4 and later. Before, the second argument is the
// offset of head in the freed object.
func freeRCU(e *Linux, x kapi.Context, a *args) uint64 {
	at := a[1]
	if at < page {
		at = a[0] - at
	}
	e.memory.touched(x, a[0])
	e.works.afterGrace(x, due{head: at, by: e.caller(x)})
	return 0
}

// callBack is the body of the thread that runs callbacks.
func (ws *works) callBack(x kapi.Context) {
	for len(ws.due) > 0 {
		x.Touch(ws.e.memory.allocator.ID(), kapi.Write)
		c := ws.due[0]
		ws.due = ws.due[:copy(ws.due, ws.due[1:])]
		if c.f == 0 {
			ws.e.memory.free(x, c.head, c.by)
			continue
		}
		ws.count(x, softirq)
		ws.call(x, arch.Addr(c.f), c.head)
		ws.count(x, -softirq)
	}
}

// Units of the preemption count (include/linux/preempt.h).
const (
	softirq       = 1 << 8
	nmiAndHardirq = 1<<20 + 1<<16
)

// count adds to the CPU's preemption count.
func (e *env) count(x kapi.Context, n int) {
	at := e.countAt(x.CPU(), x.Task())
	v, _ := x.Memory().Load(at, 4)
	x.Memory().Store(at, 4, uint64(uint32(int64(v)+int64(n))))
}

// A work is a delayed_work of the kernel's.
type work struct {
	at               arch.Addr
	kapi.DelayedWork `state:"address: it is among the works"`
}

// works holds the kernel's delayed works, and the callbacks that wait for a grace period.
type works struct {
	*env      `state:"boot"`
	list      []work
	callbacks []*callback // the callbacks of call_rcu; idle ones are reused
	due       []due       // callbacks whose grace period has ended
	ofTasks   []due       // callbacks of call_rcu_tasks
	wake      func()      `state:"boot"` // the thread of callbacks
	wakeTasks func()      `state:"boot"` // likewise of call_rcu_tasks; nil: there is none
}

// renew makes the works that a run begins with.
func (ws *works) renew() {
	ws.list, ws.due, ws.ofTasks = ws.list[:0], ws.due[:0], ws.ofTasks[:0]
	for _, c := range ws.callbacks {
		c.busy = false
	}
	if at := ws.k.at("optimizing_work"); at != 0 {
		ws.of(uint64(at))
	}
}

// of returns the kapi.DelayedWork for a delayed_work.
func (ws *works) of(at uint64) kapi.DelayedWork {
	for i := range ws.list {
		if ws.list[i].at == arch.Addr(at) {
			return ws.list[i].DelayedWork
		}
	}
	name, _, _ := ws.k.Symbol(arch.Addr(at))
	pending := arch.Addr(at) + arch.Addr(ws.k.fields.work.pending.off)
	f := arch.Addr(at) + arch.Addr(ws.k.fields.work.f.off)
	w := ws.d.Work.NewDelayedWork(name, func(x kapi.Context) {
		v, _ := x.Memory().Load(pending, ws.k.word)
		x.Memory().Store(pending, ws.k.word, v&^1)
		ws.call(x, ws.pointer(x, f), at)
	})
	ws.list = append(ws.list, work{arch.Addr(at), w})
	return w
}

// queueWork is queue_delayed_work_on(cpu, wq, work, delay).
func queueWork(e *Linux, x kapi.Context, a *args) uint64 {
	pending := arch.Addr(a[2]) + arch.Addr(e.k.fields.work.pending.off)
	v, _ := x.Memory().Load(pending, e.k.word)
	if v&1 != 0 {
		return 0
	}
	x.Memory().Store(pending, e.k.word, v|1)
	e.works.of(a[2]).Queue(x)
	return 1
}

func flushWork(e *Linux, x kapi.Context, a *args) uint64 {
	e.works.of(a[0]).Flush(x)
	return 1
}

// notifyStop is NOTIFY_STOP: a handler of a chain has claimed the event.
const notifyStop = 0x8001

// notifyDie is notify_die(…). The chain's handlers after kprobes aren't the kernel's own code
// here. For a trap from user mode, or if there is a debugger, they are asked once the kernel's
// handler has returned. If they don't claim the trap either, the kernel dies then.
func notifyDie(e *Linux, x kapi.Context, _ *args) uint64 {
	if !e.d.Traps.FromUser(x) && e.d.Debugger == nil {
		return 0
	}
	e.traps.chained[x.CPU()] = true
	return notifyStop
}

// onEachCPU is on_each_cpu_cond_mask(cond, func, info, wait, mask). The only functions it
// supports are those that serialise a CPU.
func onEachCPU(e *Linux, x kapi.Context, a *args) uint64 { return syncCores(e, x, a[1]) }

// callOthers is smp_call_function(function, data, wait). The only function that it supports orders what the CPU reads.
func callOthers(e *Linux, x kapi.Context, a *args) uint64 {
	if f := arch.Addr(a[0]); f == 0 || f != e.k.at("ftrace_sync_ipi") {
		name, _, _ := e.k.Symbol(f)
		e.refuse(x, "smp_call_function of "+name)
		return 0
	}
	e.d.Sync.Core(x, e.poke.why())
	return 0
}

// syncCores has each CPU call a function that serialises it.
func syncCores(e *Linux, x kapi.Context, function uint64) uint64 {
	if f := arch.Addr(function); f == 0 || f != e.k.at("do_sync_core") && f != e.k.at("ipi_remote_fence_i") {
		name, _, _ := e.k.Symbol(arch.Addr(function))
		e.refuse(x, "on_each_cpu of "+name)
		return 0
	}
	e.d.Sync.Core(x, e.poke.why())
	return 0
}

// poke follows the kernel's patching of text (text_poke_bp_batch, __text_poke).
type poke struct {
	*env    `state:"boot"`
	syncs   int         // which sync of text_poke_bp_batch is next; 0: none is under way
	scratch [page]byte  `state:"skip: each user fills it first"`
	words   [64][8]byte `state:"skip: each user fills it first"` // by CPU
}

// why returns the reason for a sync. In text_poke_bp_batch it tells which of the three syncs
// it is; elsewhere a sync follows arming.
func (po *poke) why() kapi.Why {
	if po.syncs == 0 {
		return kpev.SyncArm
	}
	w := kapi.Why(po.syncs)
	po.syncs = min(po.syncs+1, smpev.SyncPoke3)
	return w
}

// textPoke is __text_poke(func, addr, src, len). Before 5.19 there is no func: it only copies.
func textPoke(e *Linux, x kapi.Context, a *args) uint64 {
	how, to, from, n := a[0], a[1], a[2], a[3]
	if e.k.symbols.memset == 0 {
		how, to, from, n = 0, a[0], a[1], a[2]
	}
	at := arch.Addr(to)
	b := e.poked(x, "text_poke", at, n)
	if b == nil {
		return to
	}
	e.d.Text.Mutex().AssertHeld(x)
	if how != 0 && arch.Addr(how) == e.k.symbols.memset {
		v, _ := x.Memory().Load(arch.Addr(from), 1)
		for i := range b {
			b[i] = byte(v)
		}
	} else {
		e.read(x, arch.Addr(from), b)
	}
	e.poke.write(x, at, b, len(b) == 1) // a breakpoint, or the byte that it replaced
	return to
}

// poked returns room for n bytes that a function of the kernel's is to store to text at an address; nil if they are
// more than a page or none, or if there is no text: the run has ended then.
func (e *Linux) poked(x kapi.Context, what string, at arch.Addr, n uint64) []byte {
	switch {
	case n > page:
		e.refuse(x, what+" of more than a page")
		return nil
	case n == 0 || !e.d.Guest.Text(at) || !e.d.Guest.Text(at+arch.Addr(n-1)):
		e.bug(x, fmt.Sprintf("%s of %d bytes at %#x, where no text is", what, n, uint64(at)))
		return nil
	}
	return e.poke.scratch[:n]
}

// write stores bytes to text, and serialises the storing CPU. whole: they are all that is to stand there.
func (po *poke) write(x kapi.Context, at arch.Addr, b []byte, whole bool) {
	on := x.IRQ(false)
	po.store(x, at, b, whole)
	po.d.Sync.Self(x, smpev.SyncSelf)
	x.IRQ(on)
}

// store is write, but for the serialising. Interrupts are off.
func (po *poke) store(x kapi.Context, at arch.Addr, b []byte, whole bool) {
	if whole {
		lo, hi := traces.PackBytes(b)
		x.Emit(smpev.Image, uint64(at), lo, hi)
	}
	po.d.Text.Write(x, at, b)
}

// Messages of the kernel.

// printk reports the lines that monitors know to them.
func printk(e *Linux, x kapi.Context, a *args) uint64 {
	if line, ok := kpev.LineOf(e.text(x, arch.Addr(a[0]))); ok {
		x.Emit(kpev.Printk, uint64(line), a[1], a[2])
	}
	return 0
}

// die is die(text, registers, …), or die(registers, text).
func die(e *Linux, x kapi.Context, a *args) uint64 {
	e.bug(x, "die: "+e.text(x, arch.Addr(a[e.k.port.why])))
	return 0
}

func stackSmashed(e *Linux, x kapi.Context, a *args) uint64 {
	e.bug(x, "the stack's canary was overwritten")
	return 0
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// writtenBool is kstrtobool_from_user(text, size, to).
func writtenBool(e *Linux, x kapi.Context, a *args) uint64 {
	x.Memory().Store(arch.Addr(a[2]), 1, b2u(e.files.wanted[x.Task()]))
	return 0
}

// writtenText is _copy_from_user(to, text, size) of the file that switches kprobes off and on.
func writtenText(e *Linux, x kapi.Context, a *args) uint64 {
	for i := range min(a[2], page) {
		x.Memory().Store(arch.Addr(a[0]+i), 1, '0'+b2u(e.files.wanted[x.Task()]))
	}
	return 0
}

// writtenInt is proc_dointvec_minmax(table, write, …) of kprobes-optimization.
func writtenInt(e *Linux, x kapi.Context, a *args) uint64 {
	if at := e.k.at("sysctl_kprobes_optimization"); at != 0 && a[1] != 0 {
		x.Memory().Store(at, 4, b2u(e.files.wanted[x.Task()]))
	}
	return 0
}

// Reports of checks that the compiler or a macro has put into the kernel.

// undefined is the service for __ubsan_handle_*(data, …). data begins with the place in
// the source (struct source_location). A kernel prints it and goes on, as after a WARN.
func undefined(what string) func(e *Linux, x kapi.Context, a *args) uint64 {
	return func(e *Linux, x kapi.Context, a *args) uint64 {
		file := e.pointer(x, arch.Addr(a[0]))
		line, _ := x.Memory().Load(arch.Addr(a[0])+e.k.words(1), 4)
		e.d.Guest.Why(x, fmt.Sprintf("UBSAN at %s:%d: %s", e.text(x, file), line, what))
		x.Emit(linuxev.Warn, uint64(e.caller(x)), line, 0)
		return 0
	}
}

// warnTrap is __WARN_trap(bug, …): the WARN of a struct bug_entry.
func warnTrap(e *Linux, x kapi.Context, a *args) uint64 {
	b, ok := e.k.Image.BugEntry(a[0])
	if !ok {
		e.bug(x, "__WARN_trap without an entry")
		return 0
	}
	regs := *x.Regs()
	regs.IP = e.caller(x)
	e.traps.warn(x, &regs, b)
	return 0
}

func overrun(e *Linux, x kapi.Context, a *args) uint64 {
	e.bug(x, "a buffer is overrun: fortify_panic")
	return 0
}

// mightSleep is __might_resched(file, line, …). Property K1 reports more about sleeping where it is forbidden.
func mightSleep(e *Linux, x kapi.Context, a *args) uint64 {
	if e.d.Guest.Busy(x) {
		line := a[1] & 0xffffffff
		e.d.Guest.Why(x, fmt.Sprintf("might_sleep at %s:%d", e.text(x, arch.Addr(a[0])), line))
		x.Emit(smpev.MightSleep, 1, 0, 0)
	}
	return 0
}

// suspicious is lockdep_rcu_suspicious(file, line, text).
func suspicious(e *Linux, x kapi.Context, a *args) uint64 {
	line := a[1] & 0xffffffff
	e.d.Guest.Why(x, fmt.Sprintf("suspicious RCU usage at %s:%d: %s", e.text(x, arch.Addr(a[0])), line,
		e.text(x, arch.Addr(a[2]))))
	x.Emit(linuxev.Warn, uint64(e.caller(x)), line, 0)
	return 0
}
