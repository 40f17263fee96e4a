package jumplabel

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Site is the kind of its sites.
const Site kapi.SiteKind = 1

// Labels are the jump labels of one kernel.
type Labels struct {
	boot  kapi.Boot  // set at boot
	text  kapi.Text  // set at boot
	list  []*Label   // set at boot
	mutex kapi.Mutex // jump_label_mutex; set at boot, nil: see Lock
}

// New returns a kernel's labels: none.
func New(boot kapi.Boot, text kapi.Text) *Labels { return &Labels{boot: boot, text: text} }

// A Label is a 5-byte nop in text that is turned into a jump and back.
type Label struct {
	of     *Labels
	at     arch.Addr // set at boot
	target arch.Addr // set at boot
	jump   arch.Code // set at boot
}

// Add makes a label of the nop at at, at boot. ok false: the target is out of
// reach.
func (ls *Labels) Add(at, target arch.Addr) (l *Label, ok bool) {
	l = &Label{of: ls, at: at, target: target}
	l.jump, ok = ls.text.Arch().Jump(at, target)
	ls.list = append(ls.list, l)
	ls.boot.AddSite(kapi.Site{Addr: at, Size: len(l.jump.Bytes()), Kind: Site})
	return l, ok
}

// All returns the labels in the order in which they were added.
func (ls *Labels) All() []*Label { return ls.list }

// Lock makes jump_label_mutex, at boot, if there are labels: for an engine that
// looks where they are while they may change. A kernel without one has no use for
// it.
func (ls *Labels) Lock() {
	if len(ls.list) > 0 && ls.mutex == nil {
		ls.mutex = ls.boot.BootMutex("jump_label_mutex")
	}
}

// Mutex returns jump_label_mutex, nil if there is none.
func (ls *Labels) Mutex() kapi.Mutex { return ls.mutex }

// Images returns the two instructions that may stand at the label.
func (l *Label) Images() (at arch.Addr, nop, jump arch.Code) {
	return l.at, l.of.text.Arch().BranchNop, l.jump
}

// Target returns where its jump goes.
func (l *Label) Target() arch.Addr { return l.target }

// Set turns the label on (a jump) or off (a nop) with the patcher. Context: may
// sleep; takes jump_label_mutex, then text_mutex.
func (l *Label) Set(x kapi.Context, on bool, p kapi.Patcher) {
	if m := l.of.mutex; m != nil {
		m.Lock(x)
		l.set(x, on, p)
		m.Unlock(x)
		return
	}
	l.set(x, on, p)
}

// set is Set with jump_label_mutex held, if there is one.
func (l *Label) set(x kapi.Context, on bool, p kapi.Patcher) {
	a := l.of.text.Arch()
	insn, resume := a.BranchNop.Bytes(), l.at+arch.Addr(a.BranchLen)
	if on {
		insn, resume = l.jump.Bytes(), l.target
	}
	l.of.text.Mutex().Lock(x)
	p.Patch(x, l.at, insn, resume)
	l.of.text.Mutex().Unlock(x)
}
