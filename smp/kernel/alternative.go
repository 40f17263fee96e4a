package kernel

import (
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
)

// An LockPrefix is an instruction whose lock prefix is taken away while one CPU
// is online and put back before a second one is: the one sort of alternative
// that is rewritten while the kernel runs (alternatives_smp_unlock, _lock).
// Without the prefix stands that of segment ds, which means nothing there: one
// byte is stored, and either instruction is whole.
type LockPrefix struct {
	k  *Kernel
	at isa.Addr // set at boot
}

const (
	prefixLock = 0xf0
	prefixDS   = 0x3e
)

// NewLockPrefix makes one of the instruction at at, whose first byte is the
// prefix, at boot.
func (k *Kernel) NewLockPrefix(at isa.Addr) *LockPrefix {
	k.Symbols.AddSite(kapi.Site{Addr: at, Size: 1, Kind: kapi.SiteAlternative})
	return &LockPrefix{k, at}
}

// Set puts the prefix there or takes it away. Context: may sleep; takes
// text_mutex. No other CPU may run the instruction meanwhile, for it wouldn't be
// atomic: in the kernel there is none.
func (l *LockPrefix) Set(x kapi.Context, smp bool) {
	b := [1]byte{prefixDS}
	if smp {
		b[0] = prefixLock
	}
	l.k.Text.mutex.Lock(x)
	l.k.Text.Poke(x, l.at, b[:])
	l.k.Text.mutex.Unlock(x)
}
