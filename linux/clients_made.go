package linux

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A made is the memory of a client's trampoline.
type made struct {
	at      arch.Addr
	size    uint64 // in bytes, as they were asked for
	written bool   // it is executed; until then the kernel's own stores write to it
}

// ofFtrace reports whether the processor's part of ftrace has called a service.
func (t *tracing) ofFtrace(x kapi.Context) bool {
	f := t.k.Closure.Function(uint64(t.caller(x)))
	return t.entry != 0 && f != nil && f.Set == "ftrace"
}

// handed notes memory for code that the kernel has got.
func (t *tracing) handed(x kapi.Context, at arch.Addr, size uint64) {
	if !t.ofFtrace(x) {
		return
	}
	t.made = append(t.made, made{at: at, size: size})
	t.d.Guest.DraftExec(x, at, roundUp(int(size), page)/page, true)
	x.Emit(smpev.Alloc, uint64(at), size, smpev.TrampolineMem)
}

// written notes that the kernel has finished writing memory for code.
func (t *tracing) written(x kapi.Context, at arch.Addr) {
	for i := range t.made {
		if m := &t.made[i]; m.at == at && !m.written {
			m.written = true
			t.d.Guest.DraftExec(x, at, roundUp(int(m.size), page)/page, false)
		}
	}
}

// freed notes that the kernel has freed memory for code.
func (t *tracing) freed(x kapi.Context, at arch.Addr) {
	for i := range t.made {
		if t.made[i].at == at {
			x.Emit(smpev.Free, uint64(at), t.made[i].size, smpev.TrampolineMem)
			t.made = slices.Delete(t.made, i, i+1)
			return
		}
	}
}

// reach finds the objects that the kernel's ftrace keeps: hashes of clients, and of direct calls. Any word that may
// point to one counts.
func (t *tracing) reach() {
	t.reached = t.reached[:0]
	if t.entry == 0 {
		return
	}
	t.scan(t.k.at("direct_functions"), t.k.word)
	t.scan(t.k.at("ftrace_direct_funcs"), t.k.word) // a list, until 6.3
	for _, name := range [...]string{"kprobe_ftrace_ops", "kprobe_ipmodify_ops", "direct_ops", "stub_ops"} {
		t.scan(t.k.at(name), t.k.records.clients.size)
	}
	t.scan(t.k.near()+opsAt, t.n*opsStep)
	for i := 0; i < len(t.reached); i++ {
		t.scan(t.reached[i].at, t.reached[i].size)
	}
}

// scan adds the objects that n bytes of memory point to.
func (t *tracing) scan(at arch.Addr, n int) {
	objects := t.e.memory.heap.objects
	for end := at + arch.Addr(n); at != 0 && at < end; at += t.k.words(1) {
		to := arch.Addr(t.look(at, field{0, t.k.word}))
		for i := range objects {
			if o := &objects[i]; !o.freed && o.has(to) && !slices.Contains(t.reached, o) {
				t.reached = append(t.reached, o)
			}
		}
	}
}

// stays returns the trampoline of a client that isn't registered, 0 if there is none: each but kprobes' is freed then.
func (t *tracing) stays() (at arch.Addr) {
	c := &t.k.records.clients
	for _, o := range t.list[:t.n] {
		flags := t.look(o.at, c.flags)
		if flags&opsEnabled == 0 && flags&opsAllocated != 0 && t.look(o.at, c.trampoline) != 0 {
			return arch.Addr(t.look(o.at, c.trampoline))
		}
	}
	return 0
}

// keeps reports whether the kernel's ftrace keeps an object, as reach has found.
func (t *tracing) keeps(o *object) bool { return slices.Contains(t.reached, o) }
