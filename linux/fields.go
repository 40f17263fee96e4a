package linux

import (
	"fmt"

	"kpsim/linux/vmlinux"
)

// A field is where a member of a struct lies.
type field struct{ off, size int }

// fields are the members that the Go side of the engine reads and writes. Where a size is 0, the
// kernel lacks the member.
type fields struct {
	kprobe struct {
		size                                                             int
		addr, symbol, offset, pre, post, flags, missed, list, hash, insn field
	}
	kretprobe struct {
		size                                        int
		handler, entry, maxactive, dataSize, missed field
	}
	instance struct{ data, hook, user field } // hook is that of the instance's probe, and user is its struct kretprobe
	node     struct {
		next, ret, frame field // a rethook_node; the return address that it keeps, and where that lay
		task             field // whose call it is, where a table has those of all tasks
	}
	task struct {
		size  int
		hooks field // the calls that return probes follow
	}
	work struct{ f, pending field }
	poke struct {
		size            int
		addr, len, text field
		list, count     field // of the pending pokes (6.16 and later)
	}
	optimized struct{ list, detour field }
	slots     struct{ mutex, size, pages, used, dirty field } // a cache of slots, and its pages
	opcode    int                                             // the size of kprobe_opcode_t, the unit of slots.size
	status    field
	thread    struct{ count, cpu, flags field } // of thread_info, with which a task_struct begins
	ban       struct{ list, start, end field }
	module    moduleFields
	fprobe    fprobeFields
	paca      paca
}

// slot returns the member of struct kprobe that holds the address of its slot.
func (k *Kernel) slot(t *vmlinux.Types) string {
	for _, name := range k.port.slot {
		if _, _, ok := t.Off("kprobe", name); ok {
			return name
		}
	}
	return k.port.slot[0]
}

// resolve looks up the members in the kernel's types. What only kprobes need is missing for them alone
// (config.without).
func (k *Kernel) resolve(t *vmlinux.Types) error {
	var missing string
	lacks := &missing
	size := func(name string) int {
		n, ok := t.Size(name)
		if !ok && *lacks == "" {
			*lacks = "its types have no struct " + name
		}
		return n
	}
	get := func(name, member string) field {
		off, size, ok := t.Off(name, member)
		if !ok && *lacks == "" {
			*lacks = "its types have no struct " + name + "'s " + member
		}
		return field{off, size}
	}
	f := &k.fields
	k.maskBytes, f.task.size = size("cpumask"), size("task_struct")
	poke := "text_poke_loc"
	if !k.port.batches {
		poke = ""
	}
	if k.at("text_poke_array") != 0 {
		poke = "smp_text_poke_loc"
		f.poke.list, f.poke.count = get("smp_text_poke_array", "vec"), get("smp_text_poke_array", "nr_entries")
	}
	if poke != "" {
		f.poke.size = size(poke)
		f.poke.addr, f.poke.len, f.poke.text = get(poke, "rel_addr"), get(poke, "len"), get(poke, "text")
	}
	if k.port.perTask {
		f.thread.count, f.thread.cpu = get("thread_info", "preempt_count"), get("thread_info", "cpu")
		f.thread.flags = get("thread_info", k.port.flags)
	}
	if m, ok := modules(t); ok {
		f.module = m
	}
	if k.port.data.boot != nil {
		var ok bool
		if f.paca, ok = pacaParts(t); !ok && missing == "" {
			missing = "its types have no struct paca_struct as it is known here"
		}
	}
	if missing != "" {
		return fmt.Errorf("%s, without which nothing of it can be run; this kpsim knows 5.10 to 7.3%s", missing,
			k.whole())
	}
	lacks = &k.config.without
	resolveProbes(k, t, size, get)
	return nil
}

// resolveProbes looks up what kprobes need.
func resolveProbes(k *Kernel, t *vmlinux.Types, size func(string) int, get func(name, member string) field) {
	f := &k.fields
	kp, rp := &f.kprobe, &f.kretprobe
	kp.size, rp.size = size("kprobe"), size("kretprobe")
	kp.addr, kp.symbol, kp.offset = get("kprobe", "addr"), get("kprobe", "symbol_name"), get("kprobe", "offset")
	kp.pre, kp.post = get("kprobe", "pre_handler"), get("kprobe", "post_handler")
	kp.flags, kp.missed = get("kprobe", "flags"), get("kprobe", "nmissed")
	kp.list, kp.hash, kp.insn = get("kprobe", "list"), get("kprobe", "hlist"), get("kprobe", k.slot(t))
	rp.handler, rp.entry = get("kretprobe", "handler"), get("kretprobe", "entry_handler")
	rp.maxactive, rp.dataSize = get("kretprobe", "maxactive"), get("kretprobe", "data_size")
	rp.missed = get("kretprobe", "nmissed")
	f.instance.data = get("kretprobe_instance", "data")
	k.hooks = hookingOf(t)
	hooks := k.hooks
	f.instance.hook = get("kretprobe_instance", hooks.hook)
	if hooks.holder != "" {
		f.instance.user = get(hooks.holder, hooks.user)
	}
	f.work.f, f.work.pending = get("delayed_work", "work.func"), get("delayed_work", "work.data")
	if k.port.batches || k.at("optimizing_list") != 0 {
		f.optimized.list, f.optimized.detour = get("optimized_kprobe", "list"), get("optimized_kprobe", "optinsn.insn")
	}
	f.opcode = size("kprobe_opcode_t")
	f.slots.mutex, f.slots.size = get("kprobe_insn_cache", "mutex"), get("kprobe_insn_cache", "insn_size")
	f.ban.list, f.ban.start, f.ban.end = get("kprobe_blacklist_entry", "list"),
		get("kprobe_blacklist_entry", "start_addr"), get("kprobe_blacklist_entry", "end_addr")
	f.task.hooks, _ = part(t, "task_struct", hooks.list, true)
	f.node.next, _ = part(t, hooks.node, hooks.next, true)
	f.node.ret, _ = part(t, hooks.node, "ret_addr", true)
	f.node.frame, _ = part(t, hooks.node, hooks.frame, true)
	f.node.task, _ = part(t, hooks.node, hooks.task, true)
	f.status, _ = part(t, "kprobe_ctlblk", "kprobe_status", true)
	if used, ok := part(t, "kprobe_insn_page", "nused", true); ok {
		f.slots.used = used
		f.slots.dirty, ok = part(t, "kprobe_insn_page", "ngarbage", ok)
		if f.slots.pages, ok = part(t, "kprobe_insn_cache", "pages", ok); !ok {
			f.slots.pages = field{}
		}
	}
}
