package kprobes

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// The interface files (spec 7): kprobes/list, kprobes/enabled and kprobes/blacklist in debugfs, and the sysctl
// debug.kprobes-optimization. Their text equals the recorded one byte for byte where a kernel was recorded, and
// elsewhere follows the kernels' source. A write is what the shell's echo writes, including its newline.

// Files are the interface files, and the switches that they control.
type Files struct {
	*env               `state:"boot"` // set at New
	kprobeSysctlMutex  kapi.Mutex     `state:"boot"` // set at New: one writer of the sysctl at a time
	kprobesAllDisarmed bool           // owned by kprobe_mutex: the file enabled says 0
}

// probeType returns the letter of a probe's type: k, r for a return probe, j for a jprobe.
func probeType(p *Kprobe) byte {
	switch {
	case p.ret != nil:
		return 'r'
	case p.jp != nil:
		return 'j'
	}
	return 'k'
}

// chainOf returns the chain of the kernel's hash table that an address is in (hash_ptr, 6
// bits). List walks the chains in order.
func (t *Table) chainOf(addr arch.Addr) uint64 {
	return uint64(addr) * golden(t.s.Kernel.Edition) >> (64 - 6)
}

// List appends kprobes/list (spec 7.1): one line for each probe. The aggrs are ordered by
// chain, the newest of a chain first. Context: nothing running, or kprobe_mutex held.
func (t *Table) List(buf []byte) []byte {
	var listed []*Aggr
	for i := len(t.aggrs) - 1; i >= 0; i-- {
		if ap := t.aggrs[i]; !ap.freed && !ap.Unused() {
			listed = append(listed, ap)
		}
	}
	if t.s.NopTrampoline() { // the probe on the trampoline exists from boot
		boot := &Aggr{addr: t.e.Rethook.trampoline}
		boot.probes.Set(&probeList{probes: []*Kprobe{{}}})
		listed = append(listed, boot)
	}
	slices.SortStableFunc(listed, func(ap, q *Aggr) int { return cmp.Compare(t.chainOf(ap.addr), t.chainOf(q.addr)) })
	for _, ap := range listed {
		buf = t.do.Files.ShowKprobes(t.e, buf, ap)
	}
	return buf
}

// showKprobes appends the lines of the probes of an address.
func (f *Files) showKprobes(buf []byte, ap *Aggr) []byte {
	for _, p := range ap.List() {
		buf = f.ReportProbe(buf, ap, p)
	}
	return buf
}

// ReportProbe appends the line of one probe.
func (f *Files) ReportProbe(buf []byte, ap *Aggr, p *Kprobe) []byte {
	buf = fmt.Appendf(buf, "%0*x  %c  ", 2*f.row.word, ap.addr, f.do.Files.ProbeType(p))
	fn, known := f.d.Symbols.Lookup(ap.addr)
	switch {
	case known:
		module := cmp.Or(f.do.Files.ListedModule(fn.Module), " ")
		buf = fmt.Appendf(buf, "%s+%#x  %s", fn.Name, ap.addr-fn.Addr, module)
	case f.s.Files == era.FilesFirst || f.s.Files == era.FilesPlain:
		buf = fmt.Appendf(buf, "%0*x", 2*f.row.word, ap.addr)
	default:
		buf = fmt.Appendf(buf, "%#x", ap.addr)
	}
	if f.s.Files == era.FilesFirst {
		return append(buf, '\n')
	}
	buf = append(buf, ' ')
	flags := f.do.Files.ListedFlags(f.e, ap, p)
	for _, t := range [...]struct {
		shown bool
		tag   string
	}{
		{flags&FlagGone != 0, "[GONE]"},
		{flags&(FlagGone|FlagDisabled) == FlagDisabled, "[DISABLED]"},
		{flags&FlagOptimized != 0, "[OPTIMIZED]"},
		{flags&FlagFtrace != 0, "[FTRACE]"},
	} {
		if t.shown {
			buf = append(buf, t.tag...)
		}
	}
	return append(buf, '\n')
}

// HasBlacklist reports whether the file kprobes/blacklist exists (3.16 and later).
func (f *Files) HasBlacklist() bool { return f.s.Files != era.FilesFirst }

// Blacklist appends kprobes/blacklist: one line for each function that refuses probes.
// Context: as List.
func (f *Files) Blacklist(buf []byte) []byte {
	for _, b := range f.d.Symbols.Blacklist(nil) {
		buf = fmt.Appendf(buf, "0x%0*x-0x%0*x\t%s", 2*f.row.word, b.Addr, 2*f.row.word, b.Addr+arch.Addr(b.Size),
			b.Name)
		if b.Module != "" {
			buf = fmt.Appendf(buf, " [%s]", b.Module)
		}
		buf = append(buf, '\n')
	}
	return buf
}

// HasOptimization reports whether the sysctl debug.kprobes-optimization exists
// (with CONFIG_OPTPROBES).
func (f *Files) HasOptimization() bool { return f.s.Kernel.Optprobes }

// ReadOptimization returns the contents of the sysctl.
func (f *Files) ReadOptimization() string { return digit(f.e.Optimizer.kprobesAllowOptimization) }

// WriteOptimization writes s to the sysctl (spec 7.3): a number, 0 or 1, in decimal, octal or hexadecimal, between
// blanks; otherwise EINVAL, and nothing changes. Text after a blank is ignored. Context: as SetOptimization.
func (f *Files) WriteOptimization(x kapi.Context, s string) error {
	on, ok := f.ParseOptimization(s)
	if !ok {
		return EINVAL
	}
	f.SetOptimization(x, on)
	return nil
}

// ParseOptimization returns the value that a write of s to the sysctl sets. ok is false if s is meaningless.
func (f *Files) ParseOptimization(s string) (on, ok bool) {
	n, ok := sysctlNumber(s)
	return n == 1, ok && f.do.Files.SysctlRange(n)
}

// sysctlNumber reads a number as proc_dointvec does. ok is false if there is none, or if it is negative or too long.
func sysctlNumber(s string) (n uint64, ok bool) {
	for s != "" && blank(s[0]) {
		s = s[1:]
	}
	base := uint64(10)
	if len(s) > 1 && s[0] == '0' {
		if base, s = 8, s[1:]; len(s) > 1 && s[0]|0x20 == 'x' {
			base, s = 16, s[1:]
		} else {
			ok = true // the 0 itself is a number
		}
	}
	for ; s != "" && !blank(s[0]); s = s[1:] {
		d := nibble(s[0])
		if d >= base || n > 1<<32 {
			return 0, false
		}
		n, ok = n*base+d, true
	}
	return n, ok
}

func nibble(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return 16
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0 }

// ReadEnabled returns the contents of kprobes/enabled.
func (f *Files) ReadEnabled() string { return digit(!f.kprobesAllDisarmed) }

// WriteEnabled writes s to kprobes/enabled (spec 7.2). A meaningless word returns EINVAL, or
// is ignored (2.6), and changes nothing. Context: as SetArmed.
func (f *Files) WriteEnabled(x kapi.Context, s string) error {
	on, ok := f.ParseEnabled(s)
	switch {
	case ok:
		f.SetArmed(x, on)
	case f.s.Files != era.FilesFirst:
		return EINVAL
	}
	return nil
}

// ParseEnabled returns the meaning of a write of s to kprobes/enabled: 0, 1, y and n in either case; since 5.16 on,
// of and words that begin so, since 5.19 t and f (kstrtobool). Only the first characters are read. ok is false if the
// text has no meaning.
func (f *Files) ParseEnabled(s string) (on, ok bool) { return f.do.Files.ParseEnabled(f.e, s) }

func (f *Files) parseEnabled(s string) (on, ok bool) {
	s += "\x00\x00"
	switch s[0] {
	case 'y', 'Y', '1':
		return true, true
	case 'n', 'N', '0':
		return false, true
	}
	if f.s.Files != era.FilesBool {
		return false, false
	}
	switch s[0] {
	case 't', 'T':
		return true, true
	case 'f', 'F':
		return false, true
	case 'o', 'O':
		return s[1]|0x20 == 'n', s[1]|0x20 == 'n' || s[1]|0x20 == 'f'
	}
	return false, false
}

func digit(on bool) string {
	if on {
		return "1\n"
	}
	return "0\n"
}

// printk logs a line, as the kernel does.
func (f *Files) printk(x kapi.Context, line kpev.Line, a, b uint64) {
	if f.s.Files == era.FilesBool {
		line |= kpev.Prefixed
	}
	x.Emit(kpev.Printk, uint64(line), a, b)
}

// line chooses between the words of kernels until 5.15 and of those since.
func (f *Files) line(was, is kpev.Line) kpev.Line {
	if f.s.Files == era.FilesBool {
		return is
	}
	return was
}

// What follows is for tasks that read the files while others register and unregister probes.

// Show gets a line of kprobes/list: an address, the letter of a probe's type, and its tags (kpev.Listed).
type Show func(addr, letter, tags uint64)

// poison is what a reader of freed memory finds (POISON_FREE).
const poison = 0x6b6b6b6b6b6b6b6b

// ReadList reads kprobes/list: one chain of the table after the other, each under RCU (kprobe_seq_start,
// show_kprobe_addr). Context: may sleep.
func (f *Files) ReadList(x kapi.Context, show Show) {
	for chain := range kapi.Chains {
		f.do.Files.ShowKprobeAddr(f.e, x, chain, show)
	}
}

// WalkChain shows the probes of a chain. Context: preemption off, so that no aggr of the chain is freed meanwhile.
func (f *Files) WalkChain(x kapi.Context, chain int, show Show) {
	var few [4]*Aggr
	for _, ap := range f.e.Table.probes.Chain(x, chain, few[:0]) {
		probes := ap.probes.Deref(x).probes
		if x.Mark(ap.slot.ID(), kapi.Read); ap.freed {
			show(poison, poison&0xff, kpev.TagNone)
			continue
		}
		for _, p := range probes {
			f.showProbe(x, ap, p, show)
		}
	}
}

// showProbe reads the line of a probe (report_probe).
func (f *Files) showProbe(x kapi.Context, ap *Aggr, p *Kprobe, show Show) {
	disabled := p.disabled.ReadOnce(x)
	x.Mark(ap.optimized.ID(), kapi.Read)
	flags, tags := f.do.Files.ListedFlags(f.e, ap, p), uint64(0)
	for _, t := range [...]struct {
		shown bool
		tag   uint64
	}{
		{f.s.Files == era.FilesFirst, kpev.TagNone},
		{flags&FlagGone != 0, kpev.TagGone},
		{disabled && flags&(FlagGone|FlagDisabled) == FlagDisabled, kpev.TagDisabled},
		{flags&FlagOptimized != 0, kpev.TagOptimized},
		{flags&FlagFtrace != 0, kpev.TagFtrace},
	} {
		if t.shown {
			tags |= t.tag
		}
	}
	show(uint64(p.Addr), uint64(f.do.Files.ProbeType(p)), tags)
}

// SeesEnabled reads kprobes/enabled, without a lock (read_enabled_file_bool).
func (f *Files) SeesEnabled(x kapi.Context) bool {
	x.Access(f.switchCell(), kapi.Read)
	return f.do.Files.ReadEnabled(f.e)
}

// switchCell is the cell that stands for kprobes_all_disarmed, which has none of its own.
func (f *Files) switchCell() kapi.CellID { return f.e.Table.probes.ID() }

// SeesOptimization reads the sysctl, after any write that is under way (proc_kprobes_optimization_handler). Context:
// may sleep.
func (f *Files) SeesOptimization(x kapi.Context) bool {
	f.kprobeSysctlMutex.Lock(x)
	on := f.e.Optimizer.kprobesAllowOptimization
	f.kprobeSysctlMutex.Unlock(x)
	return on
}

// SeesMissed reads the nmissed of a probe. Context: any.
func (p *Kprobe) SeesMissed(x kapi.Context) int { return seesMissed(&p.nmissed, x) }

// SeesMissed is Kprobe.SeesMissed of the calls that found no instance.
func (rp *Kretprobe) SeesMissed(x kapi.Context) int { return seesMissed(&rp.nmissed, x) }

func seesMissed(n *kapi.Var[int], x kapi.Context) int {
	if n.ID() == 0 {
		return 0 // it has never been registered
	}
	return n.ReadOnce(x)
}

// SetOptimization writes the sysctl debug.kprobes-optimization (spec 7.3). If on is false, no
// more jumps are written, existing jumps are queued for removal, and it returns when the
// optimizer has removed them. If on is true, every aggr that can be optimized is queued again,
// and it doesn't wait. Writing the current value does nothing. Context: may sleep. Takes
// kprobe_sysctl_mutex, then kprobe_mutex.
func (f *Files) SetOptimization(x kapi.Context, on bool) {
	f.kprobeSysctlMutex.Lock(x)
	f.e.kprobeMutex.Lock(x)
	changed := f.e.Optimizer.kprobesAllowOptimization != on
	f.e.Optimizer.kprobesAllowOptimization = on
	for i := 0; changed && i < len(f.e.Table.aggrs); i++ {
		if ap := f.e.Table.aggrs[i]; ap.freed || !f.do.Arm.AggrEnabled(ap) {
			continue // a disabled aggr's jump is on its way out already
		} else if on {
			f.e.Optimizer.optimizeKprobe(x, ap)
		} else {
			f.e.Optimizer.unoptimizeKprobe(x, ap, false)
		}
	}
	if changed && on {
		f.printk(x, f.line(kpev.LineOptimized, kpev.LineAllowed), 0, 0)
	}
	f.e.kprobeMutex.Unlock(x)
	if changed && !on {
		f.e.Optimizer.WaitOptimizer(x)
		f.printk(x, f.line(kpev.LineUnoptimized, kpev.LineForbidden), 0, 0)
	}
	f.kprobeSysctlMutex.Unlock(x)
}

// SetArmed writes the file enabled (spec 7.2). Off: every aggr is disarmed, a jump at once, and it returns when the
// optimizer has nothing left to do; until it is on again nothing is armed, and no probe's own state changes. On:
// every aggr with a probe that isn't disabled is armed. A write of the current value does nothing. Context: may
// sleep. Takes kprobe_mutex.
func (f *Files) SetArmed(x kapi.Context, on bool) {
	f.e.kprobeMutex.Lock(x)
	if f.kprobesAllDisarmed != on {
		f.e.kprobeMutex.Unlock(x)
		return
	}
	x.Mark(f.switchCell(), kapi.Write)
	failed, all := 0, 0
	if on {
		f.do.Files.SetAllDisarmed(f.e, false) // before anything is armed, because armed aggrs are optimized, too
		failed, all = f.do.Files.ArmAllKprobes(f.e, x)
	} else {
		f.do.Files.SetAllDisarmed(f.e, true)
		f.do.Files.DisarmAllKprobes(f.e, x)
	}
	switch {
	case on && failed > 0 && f.s.Kernel.Edition >= rules.Edition514: // since 4.16 (12310e343755)
		f.printk(x, f.line(kpev.LineArmedSome, kpev.LineEnabledSome), uint64(failed), uint64(all))
	case on:
		f.printk(x, kpev.LineArmed, 0, 0)
	default:
		f.printk(x, kpev.LineDisarmed, 0, 0)
	}
	f.e.kprobeMutex.Unlock(x)
	if !on {
		f.e.Optimizer.WaitOptimizer(x)
	}
}

// DisarmKprobeNow disarms an aggr at once, without leaving its jump to the optimizer. Only the
// breakpoint of an aggr that was already queued is left to the optimizer. Context: kprobe_mutex
// held.
func (e *Engine) DisarmKprobeNow(x kapi.Context, ap *Aggr) {
	if ap.client != nil {
		e.do.Gone.DisarmKprobeFtrace(e, x, ap)
		return
	}
	e.do.Arm.LockText(e, x)
	e.Optimizer.unoptimizeKprobe(x, ap, true)
	if ap.list == nil && ap.armed.ReadOnce(x) {
		e.archDisarmKprobe(x, ap)
	}
	e.locks.unlockText(x)
}

// armAllKprobes arms every aggr with a probe that isn't disabled. Context:
// kprobe_mutex held.
func (f *Files) armAllKprobes(x kapi.Context) (failed, all int) {
	for i := 0; i < len(f.e.Table.aggrs); i++ {
		ap := f.e.Table.aggrs[i]
		if ap.freed || !f.do.Arm.AggrEnabled(ap) {
			continue
		}
		if !ap.armed.ReadOnce(x) { // an aggr whose jump is removed keeps its breakpoint until the optimizer runs
			// a site of ftrace that another client has taken meanwhile stays as it is
			if f.do.Arm.ArmKprobe(f.e, x, ap) != nil {
				failed++
			}
		}
		all++
		f.e.Optimizer.optimizeKprobe(x, ap)
	}
	return failed, all
}

// disarmAllKprobes disarms every aggr, including those about to be disarmed by the optimizer:
// they may be enabled again before it runs. Context: kprobe_mutex held.
func (f *Files) disarmAllKprobes(x kapi.Context) {
	for i := 0; i < len(f.e.Table.aggrs); i++ {
		if ap := f.e.Table.aggrs[i]; !ap.freed {
			f.e.DisarmKprobeNow(x, ap)
		}
	}
}

// Disarmed reports whether the file enabled says 0. Context: kprobe_mutex held.
func (f *Files) Disarmed() bool { return f.kprobesAllDisarmed }
