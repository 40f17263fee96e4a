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
	notify        arch.Addr // static_call_module_notify
	to, sites     field     // of struct static_call_key
	at, of        field     // of struct static_call_site
	keySize, step arch.Addr
}

// findCalls looks up the parts of static calls. It finds all of them or none.
func (k *Kernel) findCalls() {
	t := k.Image.Types()
	c := callParts{update: k.at("__static_call_update"), notify: k.at("static_call_module_notify")}
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
func (pa *patched) layCalls() {
	pa.keys = pa.keys[:0]
	c := &pa.k.static
	if pa.d.Calls == nil || c.update == 0 {
		return
	}
	at, end := pa.k.near()+callsAt, pa.k.near()+recordsAt
	for _, call := range pa.d.Calls.All() {
		n := 0
		call.Sites(func(s staticcall.CallSite) { n += int(b2u(pa.e.modules.holds(s.At) < 0)) })
		key, rows := at, at+c.keySize // a row of zeros ends a call's own rows: its key is another
		at = rows + arch.Addr(roundUp((n+1)*int(c.step), 16))
		if at > end {
			return
		}
		pa.keys = append(pa.keys, key)
		if pa.e.kept == nil {
			pa.layCall(call, key, rows, n)
		}
	}
}

// layCall writes the key of a call and the rows of its sites.
func (pa *patched) layCall(call *staticcall.Call, key, row arch.Addr, n int) {
	c, g := &pa.k.static, pa.d.Guest
	first, _ := call.Target()
	g.Put(key+arch.Addr(c.to.off), c.to.size, uint64(first))
	if n > 0 {
		g.Put(key+arch.Addr(c.sites.off), c.sites.size, uint64(row)|ownsSites)
	}
	call.Sites(func(s staticcall.CallSite) {
		if pa.e.modules.holds(s.At) < 0 {
			pa.laySite(row, key, s)
			row += c.step
		}
	})
}

// laySite writes the row of a site.
func (pa *patched) laySite(row, key arch.Addr, s staticcall.CallSite) {
	flags := arch.Addr(0)
	if s.Tail {
		flags = tailSite
	}
	pa.putRelative(row, pa.k.static.at, s.At)
	pa.putRelative(row, pa.k.static.of, key+flags)
}

// layModuleCalls writes the table of a module that comes, as it lies in the module's file.
func (pa *patched) layModuleCalls(module int) (from arch.Addr, n int) {
	if pa.d.Calls == nil || module < 0 {
		return 0, 0
	}
	from = pa.k.near() + moduleCallsAt
	for i, call := range pa.d.Calls.All()[:len(pa.keys)] {
		call.Sites(func(s staticcall.CallSite) {
			row := from + arch.Addr(n)*pa.k.static.step
			switch in := pa.e.modules.holds(s.At); {
			case in < 0 || in > module || row+pa.k.static.step > pa.k.near()+nearSize:
			case in < module:
				from += pa.k.static.step
			default:
				pa.laySite(row, pa.keys[i], s)
				n++
			}
		})
	}
	return from, n
}

// SetCall implements engine.Patcher.
func (pa *patched) SetCall(x kapi.Context, call int, target arch.Addr) (done bool) {
	if call >= len(pa.keys) {
		return false
	}
	_, trampoline := pa.d.Calls.All()[call].Target()
	pa.call(x, pa.k.static.update, uint64(pa.keys[call]), uint64(trampoline), uint64(target))
	return true
}
