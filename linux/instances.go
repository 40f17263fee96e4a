package linux

import (
	"kpsim/kprobes/kpev"
	"kpsim/linux/closure"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// The instances of return probes: the nodes of a rethook. A call takes one and gives it back.

// A hooking is how return probes keep their calls: by the names of structs and members.
type hooking struct {
	own                 bool   // there is no rethook (CONFIG_KRETPROBE_ON_RETHOOK): the calls are kprobes' own
	hook, holder, user  string // members from an instance to its struct kretprobe; no holder: it points there itself
	node, frame, next   string // of a call
	list                string // of a task: its calls
	table, task         string // where the calls of all tasks are instead; of a call: its task
	trampoline, handler string
	recycle, flush      string
}

// The rows, by release: with CONFIG_KRETPROBE_ON_RETHOOK; without, with a list of each task's calls (5.11 and later);
// with a hash table of all tasks' calls.
var hookings = [...]hooking{
	{hook: "node.rethook", holder: "rethook", user: "data", node: "rethook_node", frame: "frame", next: "llist",
		list: "rethooks", trampoline: "arch_rethook_trampoline", handler: "rethook_trampoline_handler",
		recycle: "rethook_recycle", flush: "rethook_flush_task"},
	{own: true, hook: "rph", holder: "kretprobe_holder", user: "rp", node: "kretprobe_instance", frame: "fp",
		next: "llist", list: "kretprobe_instances", trampoline: "__kretprobe_trampoline",
		handler: "__kretprobe_trampoline_handler", recycle: "recycle_rp_inst", flush: "kprobe_flush_task"},
	{own: true, hook: "rp", node: "kretprobe_instance", next: "hlist", table: "kretprobe_inst_table", task: "task",
		trampoline: "kretprobe_trampoline", handler: "__kretprobe_trampoline_handler", recycle: "recycle_rp_inst",
		flush: "kprobe_flush_task"},
}

// hookingOf returns the row of a kernel, by the types that it has.
func hookingOf(t *vmlinux.Types) *hooking {
	for i := range hookings {
		h := &hookings[i]
		if _, ok := t.Size(h.holder); ok || h.holder == "" {
			return h
		}
	}
	return nil
}

// An instance is a node of a rethook that some call has taken. Its number in events is its
// position in the list, from 1.
type instance struct {
	at      arch.Addr // 0: its memory was given back
	probe   int       // the number of its probe
	flushed bool      // rethook_flush_task is giving it back
}

// countable reports whether every return of an instance is seen. It isn't if the compiler has
// inlined rethook_recycle into its callers.
func (k *Kernel) countable() (yes bool) {
	f := k.Closure.Function(uint64(k.compiled(k.hooks.handler)))
	if f == nil {
		return false
	}
	k.Closure.Decode(f, func(in arch.Inst) {
		s, kind := k.Closure.Target(f, in)
		yes = yes || kind == closure.Inner && s.Name == k.hooks.recycle
	})
	return yes
}

// Lost returns the registers that say nothing of what a call has done, by number, a bit each, beside those that sites
// of ftrace and return probes use themselves. What points to the data of a CPU says where the call has ended. The link
// register has the trampoline's address if a call that a return probe follows comes back so; and if there are sites,
// there is that by which one reaches kpsim's trampoline through the kernel's. Calls may change both (AAPCS64 and RISC-V
// psABI, on registers).
//
// With clients, tasks execute the trampolines of the kernel's ftrace, which keep neither all registers nor the flags.
func (k *Kernel) Lost(sites, clients bool) (lost uint64) {
	if clients {
		lost |= k.port.traced
	}
	if k.hooks.own && k.arch.Pushed == 0 {
		lost |= 1 << k.arch.Link
	}
	if via := k.port.text.via; sites && via != 0 {
		lost |= 1 << via
	}
	if k.port.data.load != nil {
		lost |= 1 << k.port.data.reg
	}
	return lost
}

// instances lists the nodes that calls have taken.
type instances struct {
	*env `state:"boot"`
	list []instance
}

// number returns the number of a node, or 0 if the node isn't known.
func (ns *instances) number(at uint64) uint64 {
	for i := len(ns.list) - 1; at != 0 && i >= 0; i-- {
		if ns.list[i].at == arch.Addr(at) {
			return uint64(i) + 1
		}
	}
	return 0
}

// tryGet is the beginning of rethook_try_get(rethook).
func tryGet(e *Linux, x kapi.Context, a *args) {
	if len(e.fprobes.list) > 0 && e.fprobes.of(get(x, arch.Addr(a[0]), e.k.fields.instance.user)) >= 0 {
		e.fprobes.asks(x)
	}
}

// triedGet is the end of rethook_try_get(rethook): without an instance the call is missed.
func triedGet(e *Linux, x kapi.Context, a *args) {
	of := get(x, arch.Addr(a[0]), e.k.fields.instance.user)
	at, i := e.returned(x), e.users.of(of)
	switch {
	case e.fprobes.of(of) >= 0:
		e.fprobes.got(x, at)
	case i < 0:
	case at == 0:
		x.Emit(kpev.RetMissed, uint64(i), 0, 0)
	default:
		e.instances.took(x, at, i)
	}
}

// took reports that a call of a probe has taken a node.
func (ns *instances) took(x kapi.Context, at uint64, probe int) {
	if !ns.k.config.counts {
		return
	}
	n := ns.number(at)
	if n == 0 {
		ns.list = append(ns.list, instance{at: arch.Addr(at), probe: probe})
		n = uint64(len(ns.list))
		x.Emit(kpev.InstanceNew, n, uint64(probe), 0)
	}
	ns.list[n-1].flushed = false
	x.Emit(kpev.InstanceGet, n, uint64(probe), 0)
}

// missedReturn comes before the kernel counts a call that it can't follow: (kretprobe).
func missedReturn(e *Linux, x kapi.Context, a *args) uint64 {
	if i := e.users.of(a[0]); i >= 0 {
		x.Emit(kpev.RetMissed, uint64(i), 0, 0)
	}
	return 0
}

// prepared is arch_prepare_kretprobe(ri, regs), which saves the return address. The entry_handler, if there is one, was
// the first to see the instance.
func prepared(e *Linux, x kapi.Context, a *args) {
	if i := e.users.ofInstance(x, arch.Addr(a[0])); i >= 0 && !e.users.list[i].has(kpev.Entry) {
		e.instances.took(x, a[0], i)
	}
	hooked(e, x, a)
}

// recycled is rethook_recycle(node): a call gives the node back.
func recycled(e *Linux, x kapi.Context, a *args) { e.instances.put(x, a[0]) }

func (ns *instances) put(x kapi.Context, at uint64) {
	if n := ns.number(at); n != 0 && !ns.list[n-1].flushed {
		x.Emit(kpev.InstancePut, n, uint64(ns.list[n-1].probe), 0)
	}
}

// HashesReturns reports whether a hash table has the calls of all tasks that return probes follow, whose handlers run
// under a lock of it, with interrupts off (until 5.10).
func (k *Kernel) HashesReturns() bool { return k.hooks.table != "" }

// buckets is how many lists the hash table of calls has (KPROBE_TABLE_SIZE).
const buckets = 1 << 6

// calls calls f with each call of a task that a return probe follows, until f returns false: by a list of the task's,
// the last call first, or by the table of all tasks' calls.
func (ns *instances) calls(t kapi.TaskID, f func(node arch.Addr) bool) {
	in := &ns.k.fields
	task := ns.taskAt(t)
	head, n := task+arch.Addr(in.task.hooks.off), 1
	if ns.k.hooks.table != "" {
		head, n = ns.k.symbols.calls, buckets
	}
	for i := range n {
		at := ns.next(head + ns.k.words(i))
		for left := most; at != 0 && left > 0; left-- {
			node := at - arch.Addr(in.node.next.off)
			at = ns.next(at)
			if in.node.task.size > 0 && arch.Addr(ns.look(node, in.node.task)) != task {
				continue
			}
			if !f(node) {
				return
			}
		}
	}
}

// flushTask gives back the instances of a task that exits, as delayed_put_task_struct does.
func (ns *instances) flushTask(x kapi.Context) {
	if ns.k == nil || ns.k.symbols.flushTask == 0 {
		return
	}
	ns.e.fprobes.flushed(x.Task())
	any := false
	ns.calls(x.Task(), func(node arch.Addr) bool { // rethook_recycle may be inlined into the kernel's function
		any = true
		ns.put(x, uint64(node))
		if i := ns.number(uint64(node)); i != 0 {
			ns.list[i-1].flushed = true
		}
		return true
	})
	if any {
		ns.call(x, ns.k.symbols.flushTask, uint64(ns.taskAt(x.Task())))
	}
}

// findRetAddr is rethook_find_ret_addr for unwinders. For a word of a task's stack that holds
// the address of the return probes' trampoline, it returns the return address that this word
// replaced. Inside the trampoline's code, unwinders don't know the frame. Kernels without such a function (before 5.16)
// know neither.
func (ns *instances) findRetAddr(_ kapi.Context, t kapi.TaskID, slot, word arch.Addr) (to arch.Addr, ok bool) {
	f := &ns.k.fields
	if word != ns.k.symbols.trampoline {
		name, off, known := ns.k.Symbol(word)
		return word, !known || off == 0 || ns.k.at(name) != ns.k.symbols.trampoline
	}
	if slot == 0 || f.node.frame.size == 0 {
		return word, false
	}
	to = word
	ns.calls(t, func(node arch.Addr) bool {
		ret, frame := arch.Addr(ns.look(node, f.node.ret)), arch.Addr(ns.look(node, f.node.frame))
		if frame != slot || ret == word {
			return true
		}
		to = ret
		return false
	})
	return to, to != word
}

// freeNodes reports the instances whose memory is freed.
func (ns *instances) freeNodes(x kapi.Context, in span) {
	for i := range ns.list {
		if n := &ns.list[i]; n.at != 0 && in.has(n.at) {
			n.at = 0
			x.Emit(kpev.InstanceFree, uint64(i)+1, uint64(n.probe), 0)
		}
	}
}
