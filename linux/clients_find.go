package linux

import (
	"slices"

	"kpsim/engine/ftrace"
	"kpsim/linux/closure"
	"kpsim/smp/arch"
)

// clientParts are the parts of the kernel's ftrace that its clients use.
type clientParts struct {
	text  []Patch // what stands where calls of these functions are served otherwise
	lacks string  // what isn't in the kernel; "": its ftrace has the clients

	register, unregister, filter arch.Addr // register_ftrace_function, unregister_ftrace_function, ftrace_set_filter_ip
	direct                       directAPI
	poke                         arch.Addr // text_poke_bp, or smp_text_poke_single (6.16)
	size                         int       // of struct ftrace_ops
	partial                      bool      // handlers get some registers at least (struct ftrace_regs)

	fn, flags, hash, allows field // of struct ftrace_ops: func, flags, func_hash, ops_func
	trampoline              field // likewise
	filters                 field // of struct ftrace_ops_hash: filter_hash
	bits, buckets, count    field // of struct ftrace_hash
	next, ip                field // of struct ftrace_func_entry: hlist.next
}

// A directAPI is the kernel's functions for direct calls.
type directAPI struct {
	register, unregister, modify arch.Addr
	byOps                        bool // they get a struct ftrace_ops, which has the site in its filter
	leaves                       bool // who modifies one waits for the tasks in what it led to
}

// directNames are the names of these functions by release. Since 6.4 those of a struct ftrace_ops have the names that
// those of an address had; a kernel that has both is taken by the former.
var directNames = [...][3]string{
	{"register_ftrace_direct_multi", "unregister_ftrace_direct_multi", "modify_ftrace_direct_multi"},
	{"register_ftrace_direct", "unregister_ftrace_direct", "modify_ftrace_direct"},
}

// trampolineText are the labels of the kernel's trampolines (arch/x86/kernel/ftrace_64.S).
var trampolineText = []string{"ftrace_caller", "ftrace_caller_op_ptr", "ftrace_call", "ftrace_caller_end",
	"ftrace_epilogue", "ftrace_stub", "ftrace_regs_caller", "ftrace_regs_caller_op_ptr", "ftrace_regs_call",
	"ftrace_regs_caller_jmp", "ftrace_regs_caller_ret", "ftrace_regs_caller_end"}

// Flags of a struct ftrace_ops (include/linux/ftrace.h).
const (
	opsEnabled   = 1 << 0
	opsSaveRegs  = 1 << 2
	opsAllocated = 1 << 11 // it has a trampoline of its own
	opsModifies  = 1 << 12
)

// opsAt is where the structs of clients lie, after the tables near the kernel's text.
const opsAt = nearSize

// mostOps is how many there are at most, and opsStep the distance of two.
const (
	mostOps = 64
	opsStep = 512
)

// findClients looks up the parts of ftrace that its clients use.
func findClients(k *Kernel) {
	t := k.Image.Types()
	c := &k.records.clients
	need := func(name string) arch.Addr {
		at := k.at(name)
		if at == 0 && c.lacks == "" {
			c.lacks = "it has no symbol " + name
		}
		return at
	}
	get := func(name, member string) field {
		off, size, ok := t.Off(name, member)
		if !ok && c.lacks == "" {
			c.lacks = "its types have no struct " + name + "'s " + member
		}
		return field{off, size}
	}
	c.register, c.unregister = need("register_ftrace_function"), need("unregister_ftrace_function")
	c.filter = need("ftrace_set_filter_ip")
	if c.poke = k.at("text_poke_bp"); c.poke == 0 {
		c.poke = need("smp_text_poke_single")
	}
	need("ftrace_enabled")
	if k.records.pages == 0 && c.lacks == "" {
		c.lacks = "its sites of ftrace aren't as they are known here"
	}
	c.size, _ = t.Size("ftrace_ops")
	_, c.partial = t.Size("ftrace_regs")
	c.fn, c.flags, c.hash = get("ftrace_ops", "func"), get("ftrace_ops", "flags"), get("ftrace_ops", "func_hash")
	c.trampoline = get("ftrace_ops", "trampoline")
	c.filters = get("ftrace_ops_hash", "filter_hash")
	c.bits, c.buckets = get("ftrace_hash", "size_bits"), get("ftrace_hash", "buckets")
	c.count = get("ftrace_hash", "count")
	c.next, c.ip = get("ftrace_func_entry", "hlist.next"), get("ftrace_func_entry", "ip")
	c.allows, _ = part(t, "ftrace_ops", "ops_func", true)
	if c.size > opsStep && c.lacks == "" {
		c.lacks = "its struct ftrace_ops is larger than what is known here"
	}
	if at := k.at("kprobe_ipmodify_ops"); at != 0 && c.lacks == "" {
		flags := k.Image.Class().Get(k.Image.Bytes(uint64(at)+uint64(c.flags.off), uint64(k.word)))
		if flags&(opsSaveRegs|opsModifies) != opsSaveRegs|opsModifies {
			c.lacks = "the flags of its struct ftrace_ops aren't those that are known here"
		}
	}
	for i, names := range directNames {
		if k.at(names[0]) == 0 {
			continue
		}
		_, _, opsSay := t.Off("ftrace_ops", "direct_call")
		c.direct = directAPI{need(names[0]), need(names[1]), need(names[2]), i == 0 || opsSay, i > 0 && opsSay}
		break
	}
	if c.direct.register == 0 && c.lacks == "" {
		c.lacks = "it has no symbol " + directNames[1][0]
	}
	if k.port.traced == 0 && c.lacks == "" {
		c.lacks = "kpsim runs them on x86-64"
	}
}

// ClientsLack returns what ftrace's own clients can't be run without, and isn't in the kernel; "" if they are run.
func ClientsLack(k *Kernel) string { return k.records.clients.lacks }

// ClientText returns the kernel's text that tasks execute between a site and a client, which is written while they do.
func ClientText(k *Kernel) (list []ftrace.Text) {
	for i := range k.Closure.Inside {
		f := &k.Closure.Inside[i]
		if f.Set != "clients" || f.File != "" || !slices.Contains(trampolineText, f.Name) {
			continue
		}
		code := slices.Clone(k.bytes(arch.Addr(f.Addr), upToLabel(k, f)))
		for _, p := range k.records.clients.text {
			if p.At == f.Addr {
				copy(code, p.Bytes)
			}
		}
		list = append(list, ftrace.Text{Name: f.Name, At: arch.Addr(f.Addr), Code: code, Patched: true})
	}
	return list
}

// upToLabel returns the size in bytes of a piece of the trampolines, up to the label after it: the nops at its end are
// executed.
func upToLabel(k *Kernel, f *closure.Function) int {
	n := int(f.Size)
	for i := range k.Closure.Inside {
		g := &k.Closure.Inside[i]
		d := int(g.Addr - f.Addr)
		if g.Addr > f.Addr && d > n && d < n+k.arch.MaxLen && slices.Contains(trampolineText, g.Name) {
			return d
		}
	}
	return n
}
