package kernel

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// A JumpLabel is a 5-byte nop in text that is turned into a jump and back: a
// raw client of text_poke_bp, with no probe and no other breakpoint on it.
type JumpLabel struct {
	k      *Kernel
	at     arch.Addr // set at boot
	target arch.Addr // set at boot
	nop    [5]byte   // set at boot
	jump   [5]byte   // set at boot
}

// NewJumpLabel makes a label of the nop at at, at boot. ok false: the target
// is out of reach.
func (k *Kernel) NewJumpLabel(at, target arch.Addr) (l *JumpLabel, ok bool) {
	l = &JumpLabel{k: k, at: at, target: target, nop: x86.Nop5}
	l.jump, ok = x86.JumpRel32(at, target)
	k.labels++
	k.Symbols.AddSite(kapi.Site{Addr: at, Size: len(l.jump), Kind: kapi.SiteJumpLabel})
	return l, ok
}

// Images returns the two instructions that may stand at the label.
func (l *JumpLabel) Images() (at arch.Addr, nop, jump [5]byte) { return l.at, l.nop, l.jump }

// LockLabels makes jump_label_mutex, at boot, if there are labels: for who looks
// where they are while they may change. A kernel in which nobody looks has no use
// for it.
func (k *Kernel) LockLabels() {
	if k.labels > 0 && k.labelMutex == nil {
		k.labelMutex = k.Locks.bootMutex("jump_label_mutex")
	}
}

// LabelMutex returns jump_label_mutex, nil if there is none.
func (k *Kernel) LabelMutex() kapi.Mutex {
	if k.labelMutex == nil {
		return nil
	}
	return k.labelMutex
}

// Set turns the label on (a jump) or off (a nop) with the patcher. Context: may
// sleep; takes jump_label_mutex, then text_mutex.
func (l *JumpLabel) Set(x kapi.Context, on bool, p kapi.Patcher) {
	if m := l.k.labelMutex; m != nil {
		m.Lock(x)
		l.set(x, on, p)
		m.Unlock(x)
		return
	}
	l.set(x, on, p)
}

// set is Set with jump_label_mutex held, if there is one.
func (l *JumpLabel) set(x kapi.Context, on bool, p kapi.Patcher) {
	insn, resume := l.nop[:], l.at+5
	if on {
		insn, resume = l.jump[:], l.target
	}
	l.k.Text.mutex.Lock(x)
	p.Patch(x, l.at, insn, resume)
	l.k.Text.mutex.Unlock(x)
}
