package linux

import (
	"kpsim/kprobes/kpev"
	"kpsim/linux/closure"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// The instances of return probes: the nodes of a rethook. A call takes one and gives it back.

// A hooking is how return probes keep their calls: by the names of structs and members.
type hooking struct {
	hook, holder, user  string // members from an instance to its struct kretprobe
	node, frame, list   string // of the calls of a task
	trampoline, handler string
	recycle, flush      string
}

// rethooks are those of kernels with CONFIG_KRETPROBE_ON_RETHOOK, ownHooks of those without.
var (
	rethooks = hooking{"node.rethook", "rethook", "data", "rethook_node", "frame", "rethooks",
		"arch_rethook_trampoline", "rethook_trampoline_handler", "rethook_recycle", "rethook_flush_task"}
	ownHooks = hooking{"rph", "kretprobe_holder", "rp", "kretprobe_instance", "fp", "kretprobe_instances",
		"__kretprobe_trampoline", "__kretprobe_trampoline_handler", "recycle_rp_inst", "kprobe_flush_task"}
)

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
func (k *Kernel) Lost(sites bool) (lost uint64) {
	if k.hooks == &ownHooks {
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

// triedGet is the end of rethook_try_get(rethook): without an instance the call is missed.
func triedGet(e *Linux, x kapi.Context, a *args) {
	at, i := e.returned(x), e.users.of(get(x, arch.Addr(a[0]), e.k.fields.instance.user))
	switch {
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

// flushTask gives back the instances of a task that exits, as delayed_put_task_struct does.
func (ns *instances) flushTask(x kapi.Context) {
	if ns.k == nil {
		return
	}
	f := &ns.k.fields
	if ns.k.symbols.flushTask == 0 || ns.look(ns.taskAt(x.Task()), f.task.hooks) == 0 {
		return
	}
	// rethook_recycle may be inlined into it.
	at := arch.Addr(ns.look(ns.taskAt(x.Task()), f.task.hooks))
	for n := 0; at != 0 && n < most; n++ {
		node := uint64(at) - uint64(f.node.next.off)
		ns.put(x, node)
		if i := ns.number(node); i != 0 {
			ns.list[i-1].flushed = true
		}
		at = ns.next(at)
	}
	ns.call(x, ns.k.symbols.flushTask, uint64(ns.taskAt(x.Task())))
}

// findRetAddr is rethook_find_ret_addr for unwinders. For a word of a task's stack that holds
// the address of the return probes' trampoline, it returns the return address that this word
// replaced. Inside the trampoline's code, unwinders don't know the frame.
func (ns *instances) findRetAddr(_ kapi.Context, t kapi.TaskID, slot, word arch.Addr) (to arch.Addr, ok bool) {
	f := &ns.k.fields
	if word != ns.k.symbols.trampoline {
		name, off, known := ns.k.Symbol(word)
		return word, !known || off == 0 || name != ns.k.hooks.trampoline
	}
	if slot == 0 || f.task.hooks.size == 0 || f.node.frame.size == 0 {
		return word, false
	}
	at := arch.Addr(ns.look(ns.taskAt(t), f.task.hooks))
	for n := 0; at != 0 && n < most; n++ {
		node := at - arch.Addr(f.node.next.off)
		to, frame := arch.Addr(ns.look(node, f.node.ret)), arch.Addr(ns.look(node, f.node.frame))
		if frame == slot && to != word {
			return to, true
		}
		at = ns.next(at)
	}
	return word, false
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
