package kernel

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// LockPrefixes are instructions whose lock prefix is taken away while one CPU is
// online and put back before a second one is: the one sort of alternative that is
// rewritten while the kernel runs (alternatives_smp_unlock, _lock), all of them at
// once, and those of a module when it is loaded. Without the prefix stands that of
// segment ds, which means nothing there: one byte is stored, and either
// instruction is whole.
type LockPrefixes struct {
	k    *Kernel       // set at boot
	list []*lockPrefix // set at boot
	up   bool          // owned by text_mutex: they are taken away
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

// Set puts all prefixes there or takes them away. Context: may sleep; takes
// text_mutex. Where another CPU runs one of the instructions meanwhile it isn't
// atomic: in the kernel there is none.
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

// write makes one what it is to be, unless something else stands there than the
// other prefix: a breakpoint. Context: text_mutex held.
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

// follow is called when a module's section has come or is about to go
// (alternatives_smp_module_add, _del). Context: may sleep; takes text_mutex.
func (l *LockPrefixes) follow(x kapi.Context, in kapi.Section, here bool) {
	for _, p := range l.list {
		if !in.Has(p.at) {
			continue
		}
		l.k.Text.mutex.Lock(x)
		if p.here = here; here && l.up {
			l.write(x, p)
		}
		l.k.Text.mutex.Unlock(x)
	}
}
