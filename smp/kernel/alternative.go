package kernel

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// What mutants do.
var (
	prefixKept = kapi.DefineFault("prefix-kept",
		"lock prefixes of a module that is loaded stay, although they are removed",
		"alternatives_smp_module_add: if (uniproc_patched), alternatives_smp_unlock")
	alternativeSkipped = kapi.DefineFault("alternative-skipped", "the last alternative is left out",
		"apply_alternatives: for (a = start; a < end; a++)")
)

// LockPrefixes are instructions whose lock prefix is removed while one CPU is online and put
// back before a second one comes online (alternatives_smp_unlock, _lock). They are the only
// alternatives that are rewritten while the kernel runs: all at once, and those of a module
// when it is loaded. The prefix is replaced by that of segment ds, which has no effect there.
// A single byte is stored, and the instruction is whole before and after.
type LockPrefixes struct {
	k    *Kernel       // set at boot
	list []*lockPrefix // set at boot
	up   bool          // owned by text_mutex: they are removed
}

// A lockPrefix is one instruction.
type lockPrefix struct {
	at   arch.Addr // set at boot
	here bool      // owned by text_mutex: the text is there
}

const (
	prefixLock = 0xf0
	prefixDS   = 0x3e
)

func (l *LockPrefixes) init(k *Kernel) { l.k = k }

func (l *LockPrefixes) reset() {
	l.up = false
	for _, p := range l.list {
		p.here = l.k.Present(p.at)
	}
}

// Add adds the instruction at at, whose first byte is the prefix, at boot, when
// its module has been made.
func (l *LockPrefixes) Add(at arch.Addr) {
	l.k.Symbols.AddSite(kapi.Site{Addr: at, Size: 1, Kind: kapi.SiteAlternative})
	l.list = append(l.list, &lockPrefix{at: at})
	l.reset()
}

// Images calls f with the first bytes that each instruction may have.
func (l *LockPrefixes) Images(f func(at arch.Addr, prefixes [2]byte)) {
	for _, p := range l.list {
		f(p.at, [2]byte{prefixLock, prefixDS})
	}
}

// Set adds or removes all prefixes. Context: may sleep; takes text_mutex. An instruction that
// another CPU runs meanwhile isn't atomic; in the kernel no other CPU is online.
func (l *LockPrefixes) Set(x kapi.Context, smp bool) {
	l.k.Text.mutex.Lock(x)
	l.up = !smp
	for _, p := range l.list {
		if p.here {
			l.write(x, p)
		}
	}
	l.k.Text.mutex.Unlock(x)
}

// write gives one instruction its wanted prefix, unless its first byte is neither prefix but
// a breakpoint. Context: text_mutex held.
func (l *LockPrefixes) write(x kapi.Context, p *lockPrefix) {
	was, is := byte(prefixDS), byte(prefixLock)
	if l.up {
		was, is = is, was
	}
	var b [1]byte
	if l.k.Text.Read(x, p.at, b[:]); b[0] == was {
		b[0] = is
		l.k.Text.Poke(x, p.at, b[:])
	}
}

// follow is called when a module's section has been loaded or is about to be unloaded (alternatives_smp_module_add,
// _del). Context: may sleep; takes text_mutex.
func (l *LockPrefixes) follow(x kapi.Context, in kapi.Section, here bool) {
	for _, p := range l.list {
		if !in.Has(p.at) {
			continue
		}
		l.k.Text.mutex.Lock(x)
		if p.here = here; here && l.up && !l.k.Planted(prefixKept) {
			l.write(x, p)
		}
		l.k.Text.mutex.Unlock(x)
	}
}

// Alternatives are instructions that are replaced once, while the kernel boots (apply_alternatives). They are copied
// over with interrupts off, and nothing else keeps other CPUs from running them meanwhile (text_poke_early): this is
// meant for a time with one CPU and no NMIs. It doesn't check whether the text was changed before.
type Alternatives struct {
	k    *Kernel       // set at boot
	list []alternative // set at boot
	done bool          // owned by text_mutex: they are in the text
	// Open and Unsynced are faults of text_poke_early: interrupts stay on while it copies
	// (before 2dc419613805), or are on again before the CPU serialises (before 3ea1704a9296).
	Open, Unsynced bool // owned by the boot of a run
}

// An alternative is one instruction.
type alternative struct {
	at   arch.Addr
	insn []byte
}

func (a *Alternatives) init(k *Kernel) { a.k = k }

func (a *Alternatives) reset() { a.done, a.Open, a.Unsynced = false, false, false }

// Add adds, at boot, the instruction that replaces the one at an address.
func (a *Alternatives) Add(at arch.Addr, insn []byte) {
	a.list = append(a.list, alternative{at, slices.Clone(insn)})
}

// Apply installs all alternatives in the order in which they were added; later calls do
// nothing. Context: may sleep; takes text_mutex.
func (a *Alternatives) Apply(x kapi.Context) {
	a.k.Text.mutex.Lock(x)
	if !a.done {
		a.done = true
		for i := range a.list {
			if i > 0 && i == len(a.list)-1 && a.k.Planted(alternativeSkipped) {
				break
			}
			a.early(x, &a.list[i])
		}
	}
	a.k.Text.mutex.Unlock(x)
}

// early is text_poke_early. Context: text_mutex held.
func (a *Alternatives) early(x kapi.Context, to *alternative) {
	on := x.IRQ(a.Open)
	a.k.Text.Write(x, to.at, to.insn)
	a.k.Shares(x, to.at, len(to.insn), kapi.SiteAlternative, true)
	if a.Unsynced {
		x.IRQ(on)
		x.Step("text_poke_early", 1)
	}
	a.k.Sync.Self(x, smpev.SyncSelf)
	x.IRQ(on)
}
