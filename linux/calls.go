package linux

import (
	"kpsim/engine/staticcall"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Static calls of a scenario. Each has a struct static_call_key and rows of a table of
// sites, as the linker and static_call_init would have left them. The kernel's own code
// updates them.

// Flags of a static call (include/linux/static_call_types.h).
const (
	tailSite  = 1 // in the row of a site: the site is a jump
	ownsSites = 1 // in the key: the key has sites, not a list of modules
)

// callParts are the parts of static calls that the engine uses.
type callParts struct {
	update        arch.Addr // __static_call_update; 0: the kernel has no static calls
	to, sites     field     // of struct static_call_key
	at, of        field     // of struct static_call_site
	keySize, step arch.Addr
}

// findCalls looks up the parts of static calls. It finds all of them or none.
func (k *Kernel) findCalls() {
	t := k.Image.Types()
	c := callParts{update: k.at("__static_call_update")}
	ok := c.update != 0 && k.at("static_call_init") != 0 // else calls only go through trampolines
	c.to, ok = part(t, "static_call_key", "func", ok)
	c.sites, ok = part(t, "static_call_key", "sites", ok)
	c.at, ok = part(t, "static_call_site", "addr", ok)
	c.of, ok = part(t, "static_call_site", "key", ok)
	size, _ := t.Size("static_call_key")
	step, _ := t.Size("static_call_site")
	if c.keySize, c.step = arch.Addr(size), arch.Addr(step); ok {
		k.static = c
	}
}

// CallSites reports whether the kernel patches the sites of static calls
// (CONFIG_HAVE_STATIC_CALL_INLINE). Kernels for i386 call their trampolines instead.
func (k *Kernel) CallSites() bool { return k.static.update != 0 }

// layCalls finds where the keys lie, and writes them and the sites.
func (e *Linux) layCalls() {
	e.keys = e.keys[:0]
	c := &e.k.static
	if e.d.Calls == nil || c.update == 0 {
		return
	}
	at, end := e.k.near()+callsAt, e.k.near()+recordsAt
	for _, call := range e.d.Calls.All() {
		n := 0
		call.Sites(func(staticcall.CallSite) { n++ })
		key, rows := at, at+c.keySize // a row of zeros ends a call's own rows: its key is another
		at = rows + arch.Addr(roundUp((n+1)*int(c.step), 16))
		if at > end {
			return
		}
		e.keys = append(e.keys, key)
		if e.kept == nil {
			e.layCall(call, key, rows, n)
		}
	}
}

// layCall writes the key of a call and the rows of its sites.
func (e *Linux) layCall(call *staticcall.Call, key, row arch.Addr, n int) {
	c, g := &e.k.static, e.d.Guest
	first, _ := call.Target()
	g.Put(key+arch.Addr(c.to.off), c.to.size, uint64(first))
	if n > 0 {
		g.Put(key+arch.Addr(c.sites.off), c.sites.size, uint64(row)|ownsSites)
	}
	call.Sites(func(s staticcall.CallSite) {
		e.putRelative(row, c.at, s.At)
		flags := arch.Addr(0)
		if s.Tail {
			flags = tailSite
		}
		e.putRelative(row, c.of, key+flags)
		row += c.step
	})
}

// SetCall implements engine.Patcher.
func (e *Linux) SetCall(x kapi.Context, call int, target arch.Addr) (done bool) {
	if call >= len(e.keys) {
		return false
	}
	_, trampoline := e.d.Calls.All()[call].Target()
	e.call(x, e.k.static.update, uint64(e.keys[call]), uint64(trampoline), uint64(target))
	return true
}
