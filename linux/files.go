package linux

import (
	"fmt"

	"kpsim/engine"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// The flags of a struct kprobe (include/linux/kprobes.h).
const (
	flagGone      = 1
	flagDisabled  = 2
	flagOptimized = 4
	flagFtrace    = 8
)

// chains is the number of chains of kprobe_table. most bounds how many entries of a list are
// read, because a corrupted list may be endless.
const (
	chains = 64
	most   = 4096
)

// files serves the engine's interface files, and reports the engine's claims about itself.
type files struct {
	*env   `state:"boot"`
	wanted [256]bool // by task: the value that the task writes to an interface file
}

// look reads a member while nothing runs, or for monitors. No step depends on it.
func (e *env) look(at arch.Addr, f field) uint64 {
	v, _ := e.d.Guest.Get(at+arch.Addr(f.off), f.size)
	return v
}

// next reads a pointer as look reads a member.
func (e *env) next(at arch.Addr) arch.Addr {
	v, _ := e.d.Guest.Get(at, e.k.word)
	return arch.Addr(v)
}

// points calls f with each struct kprobe of the table, in its order.
func (e *env) points(f func(p arch.Addr)) {
	if e.k.config.without != "" {
		return
	}
	for i := range chains {
		at := e.next(e.k.symbols.table + e.k.words(i))
		for n := 0; at != 0 && n < most; n++ {
			f(at - arch.Addr(e.k.fields.kprobe.hash.off))
			at = e.next(at)
		}
	}
}

// holds reports whether a user's struct kprobe is in the table, as a point or as one of the
// probes that a point stands for.
func (e *env) holds(p arch.Addr) (found bool) {
	list := arch.Addr(e.k.fields.kprobe.list.off)
	e.points(func(pp arch.Addr) {
		found = found || pp == p
		if !e.aggregate(pp) {
			return
		}
		at := e.next(pp + list)
		for n := 0; at != pp+list && at != 0 && n < most; n++ {
			found = found || at == p+list
			at = e.next(at)
		}
	})
	return found
}

// queue returns the index of the optimizer's list that a point is on: 0, 1 or 2, or -1 for none.
func (e *env) queue(p arch.Addr) int {
	node := p + arch.Addr(e.k.fields.optimized.list.off)
	for i, head := range e.k.symbols.optimizer {
		if head == 0 {
			continue
		}
		at := e.next(head)
		for n := 0; at != head && n < most; n++ {
			if at == node {
				return i
			}
			at = e.next(at)
		}
	}
	return -1
}

// aggregate reports whether a point is a struct of the kernel's own that stands for users' probes.
func (e *env) aggregate(p arch.Addr) bool {
	return arch.Addr(e.look(p, e.k.fields.kprobe.pre)) == e.k.symbols.aggrPre
}

// tellStates reports the engine's state of each point to monitors.
func (fi *files) tellStates(x kapi.Context) {
	f := &fi.k.fields
	armed := fi.Switched(engine.Armed)
	fi.tellCarried(x)
	fi.points(func(p arch.Addr) {
		flags := fi.look(p, f.kprobe.flags)
		bits, detour := uint64(0), uint64(0)
		if fi.aggregate(p) {
			if q := fi.queue(p); q >= 0 {
				bits |= kpev.StateOptimizing << q
			}
			detour = fi.look(p, f.optimized.detour)
		}
		if flags&flagOptimized != 0 {
			bits |= kpev.StateOptimized
			if bits&kpev.StateOptimizing == 0 {
				bits |= kpev.StateJumped
			}
		}
		// A point that is on the freeing list when the mutex is released was unoptimized by
		// force, and waits with its breakpoint (unoptimize_kprobe).
		if flags&flagGone == 0 &&
			(flags&flagDisabled == 0 && armed ||
				bits&(kpev.StateJumped|kpev.StateUnoptimizing|kpev.StateFreeing) != 0) {
			bits |= kpev.StateArmed
		}
		if flags&flagGone != 0 {
			bits |= kpev.StateGone
		}
		if flags&flagFtrace != 0 {
			bits |= kpev.StateFtrace
			if fi.e.patched.calledFrom(arch.Addr(fi.look(p, f.kprobe.addr))) {
				bits |= kpev.StateCalled
			}
		}
		fi.d.Tell(x, kpev.State, fi.look(p, f.kprobe.addr), bits, detour)
	})
}

// tellCarried reports the probes of each point to monitors. It reports nothing if tasks have
// used one struct at the same time, which is misuse.
func (fi *files) tellCarried(x kapi.Context) {
	for _, p := range fi.e.users.list {
		if p.mixed {
			fi.d.Tell(x, kpev.Carries, 0, 0, 2)
			return
		}
	}
	list := arch.Addr(fi.k.fields.kprobe.list.off)
	fi.d.Tell(x, kpev.Carries, 0, 0, 1)
	fi.points(func(p arch.Addr) {
		at := fi.look(p, fi.k.fields.kprobe.addr)
		if i := fi.e.users.of(uint64(p)); i >= 0 {
			fi.d.Tell(x, kpev.Carries, at, uint64(i), 0)
		}
		if !fi.aggregate(p) {
			return
		}
		for q, n := fi.next(p+list), 0; q != p+list && q != 0 && n < most; q, n = fi.next(q), n+1 {
			if i := fi.e.users.of(uint64(q - list)); i >= 0 {
				fi.d.Tell(x, kpev.Carries, at, uint64(i), 0)
			}
		}
	})
}

// Claim implements engine.Engine. It reports the lines of kprobes/list.
func (fi *files) Claim(tell func(k traces.Kind, a, b, c uint64)) {
	if fi.k == nil {
		return
	}
	fi.leak(tell)
	fi.e.remains(tell)
	tell(kpev.Listed, 0, 0, 0)
	fi.listed(func(addr arch.Addr, letter byte, tags uint64) { tell(kpev.Listed, uint64(addr), uint64(letter), tags) })
}

// listed calls f with each line of kprobes/list (show_kprobe_addr).
func (fi *files) listed(f func(addr arch.Addr, letter byte, tags uint64)) {
	m := &fi.k.fields
	fi.points(func(pp arch.Addr) {
		if !fi.aggregate(pp) {
			f(fi.line(pp, pp))
			return
		}
		head := pp + arch.Addr(m.kprobe.list.off)
		at := fi.next(head)
		for n := 0; at != head && at != 0 && n < most; n++ {
			f(fi.line(at-arch.Addr(m.kprobe.list.off), pp))
			at = fi.next(at)
		}
	})
}

// line returns the line of probe p at point pp (report_probe).
func (fi *files) line(p, pp arch.Addr) (addr arch.Addr, letter byte, tags uint64) {
	m := &fi.k.fields
	letter = 'k'
	if arch.Addr(fi.look(p, m.kprobe.pre)) == fi.k.symbols.retPre {
		letter = 'r'
	}
	own, all := fi.look(p, m.kprobe.flags), fi.look(pp, m.kprobe.flags)
	if own&flagGone != 0 {
		own &^= flagDisabled // report_probe prints one of the two
	}
	for _, t := range [...]struct{ flags, flag, tag uint64 }{
		{own, flagGone, kpev.TagGone}, {own, flagDisabled, kpev.TagDisabled}, {all, flagOptimized, kpev.TagOptimized},
		{all, flagFtrace, kpev.TagFtrace},
	} {
		if t.flags&t.flag != 0 {
			tags |= t.tag
		}
	}
	return arch.Addr(fi.look(p, m.kprobe.addr)), letter, tags
}

// list returns the text of the file kprobes/list.
func (fi *files) list() string {
	out := ""
	fi.listed(func(addr arch.Addr, letter byte, tags uint64) {
		at := fmt.Sprintf("%#x", uint64(addr))
		if f, ok := fi.d.Symbols.Lookup(addr); ok {
			at = fmt.Sprintf("%s+%#x", f.Name, uint64(addr-f.Addr))
		} else if name, off, ok := fi.k.Symbol(addr); ok {
			at = fmt.Sprintf("%s+%#x", name, off)
		}
		out += fmt.Sprintf("%016x  %c  %s     ", uint64(addr), letter, at)
		for _, t := range [...]struct {
			tag  uint64
			text string
		}{{kpev.TagGone, "[GONE]"}, {kpev.TagDisabled, "[DISABLED]"}, {kpev.TagOptimized, "[OPTIMIZED]"},
			{kpev.TagFtrace, "[FTRACE]"}} {
			if tags&t.tag != 0 {
				out += t.text
			}
		}
		out += "\n"
	})
	return out
}

// Files implements engine.Engine.
func (fi *files) Files() []engine.File {
	if fi.k == nil {
		return nil
	}
	file := func(dir, name string, s engine.Switch) engine.File {
		return engine.File{
			Dir: dir, Name: name, Mode: "-rw-r--r--", Switch: s, Parse: parse,
			Read: func() string { return fmt.Sprintln(b2u(fi.Switched(s))) },
			Write: func(x kapi.Context, text string) error {
				on, ok := parse(text)
				if !ok {
					return fmt.Errorf("EINVAL")
				}
				fi.Set(x, s, on)
				return nil
			},
		}
	}
	debugfs := "/sys/kernel/debug/kprobes"
	list := []engine.File{{Dir: debugfs, Name: "list", Mode: "-r--------", Read: fi.list}}
	if fi.k.Has(engine.Armed) {
		list = append([]engine.File{file(debugfs, "enabled", engine.Armed)}, list...)
	}
	if fi.k.Has(engine.Optimization) {
		list = append(list, file("/proc/sys/debug", "kprobes-optimization", engine.Optimization))
	}
	return list
}

// writers lists the handlers of the files that set switches.
var writers = map[engine.Switch]string{
	engine.Armed: "write_enabled_file_bool", engine.Optimization: "proc_kprobes_optimization_handler",
}

// Has reports whether the kernel has a switch. A kernel without CONFIG_DEBUG_FS has no file
// "enabled"; one without CONFIG_SYSCTL has no kprobes-optimization.
func (k *Kernel) Has(s engine.Switch) bool { return k.at(writers[s]) != 0 }

// parse parses the text written to a file.
func parse(text string) (on, ok bool) {
	switch text {
	case "0", "0\n":
		return false, true
	case "1", "1\n":
		return true, true
	}
	return false, false
}

// Set implements engine.Engine: it calls the handler of the file.
func (fi *files) Set(x kapi.Context, s engine.Switch, on bool) {
	fi.wanted[x.Task()] = on
	if s == engine.Armed {
		fi.call(x, fi.k.at(writers[s]), 0, 0, 1, 0)
		return
	}
	fi.call(x, fi.k.at(writers[s]), 0, 1, 0, 0, 0)
}

// Switched implements engine.Engine.
func (fi *files) Switched(s engine.Switch) bool {
	if fi.k == nil {
		return true
	}
	if s == engine.Armed {
		v, _ := fi.d.Guest.Get(fi.k.at("kprobes_all_disarmed"), 1)
		return v == 0
	}
	v, _ := fi.d.Guest.Get(fi.k.at("kprobes_allow_optimization"), 1)
	return v != 0
}

// Trampoline implements engine.Engine.
func (fi *files) Trampoline() arch.Addr {
	if fi.k == nil {
		return 0
	}
	return fi.k.symbols.trampoline
}
