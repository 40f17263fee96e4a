package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/kapi"
)

// The interface files as tasks read them while others register and unregister probes. debugfs.go has their text for
// when nothing runs.

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
