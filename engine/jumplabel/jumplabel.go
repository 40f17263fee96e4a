package jumplabel

import (
	"bytes"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Site is the kind of its sites.
const Site kapi.SiteKind = 1

// What mutants do.
var (
	forgotten = kapi.DefineFault("label-forgotten",
		"a module's labels are nops when it is loaded again, whatever is on",
		"jump_label_add_module: jump_label_update of keys that are on")
	onlyHere = kapi.DefineFault("label-only-here", "a key that is set while its module isn't there keeps its old state",
		"static_key_enable, static_key_disable: key->enabled")
	asIs = kapi.DefineFault("label-as-is",
		"a setter returns before it has the lock if the label is already marked as it asks",
		"static_key_enable_cpuslocked")
)

// Labels are the jump labels of one kernel.
type Labels struct {
	boot  kapi.Boot  `state:"boot"` // set at boot
	text  kapi.Text  `state:"boot"` // set at boot
	traps kapi.Traps `state:"boot"` // set at boot
	cpus  kapi.CPUs  `state:"boot"` // set at boot: while a label's text is written no CPU comes or goes
	list  []*Label   // set at boot
	mutex kapi.Mutex `state:"address: it is among the mutexes"` // jump_label_mutex; set at boot, nil: see Lock

	// set at boot: they look at a site before they write it (bug_at in __jump_label_transform, 3.13)
	Looks bool

	// Turn, if it isn't nil, replaces Set. It is a mutant's.
	Turn func(l *Label, x kapi.Context, on bool, p kapi.Patcher) `state:"boot"` // owned by the boot of a run
}

// New returns a kernel's labels: none.
func New(boot kapi.Boot, text kapi.Text, traps kapi.Traps, cpus kapi.CPUs) *Labels {
	ls := &Labels{boot: boot, text: text, traps: traps, cpus: cpus}
	boot.OnReset(ls.reset)
	boot.OnSections(ls.follow)
	return ls
}

func (ls *Labels) reset() {
	ls.Turn = nil
	for _, l := range ls.list {
		l.on, l.here = false, ls.boot.Present(l.at)
	}
}

// A Label is a 5-byte nop in text that is turned into a jump and back.
type Label struct {
	of     *Labels   `state:"boot"` // set at boot
	at     arch.Addr // set at boot
	target arch.Addr // set at boot
	jump   arch.Code // set at boot
	on     bool      // owned by text_mutex: it is turned on
	here   bool      // owned by text_mutex: the text is there
}

// Add makes a label of the nop at at, at boot. ok false: the target is out of
// reach.
func (ls *Labels) Add(at, target arch.Addr) (l *Label, ok bool) {
	l = &Label{of: ls, at: at, target: target, here: ls.boot.Present(at)}
	l.jump, ok = ls.text.Arch().Jump(at, target)
	ls.list = append(ls.list, l)
	ls.boot.AddSite(kapi.Site{Addr: at, Size: len(l.jump.Bytes()), Kind: Site})
	return l, ok
}

// All returns the labels in the order in which they were added.
func (ls *Labels) All() []*Label { return ls.list }

// Lock makes jump_label_mutex, at boot, if there are labels: for an engine that checks where they are while they may
// change. A kernel without one has no use for it.
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

// Set turns the label on (a jump) or off (a nop) with the patcher (static_key_enable, static_key_disable). A label in
// an unloaded module is turned when the module is loaded. Context: may sleep; takes jump_label_mutex, then
// cpu_hotplug_lock and text_mutex.
func (l *Label) Set(x kapi.Context, on bool, p kapi.Patcher) {
	if turn := l.of.Turn; turn != nil {
		turn(l, x, on, p)
		return
	}
	l.Update(x, on, p)
}

// Update is Set without Turn (jump_label_update).
func (l *Label) Update(x kapi.Context, on bool, p kapi.Patcher) {
	if l.of.boot.Planted(asIs) && l.on == on {
		return
	}
	l.Lock(x)
	l.Write(x, on, p)
	l.Unlock(x)
}

// Lock takes jump_label_mutex, if there is one; Unlock releases it.
func (l *Label) Lock(x kapi.Context) {
	if m := l.of.mutex; m != nil {
		m.Lock(x)
	}
}

// Unlock undoes Lock.
func (l *Label) Unlock(x kapi.Context) {
	if m := l.of.mutex; m != nil {
		m.Unlock(x)
	}
}

// Write is Set with jump_label_mutex held, if there is one. No CPU comes or goes meanwhile: one that comes would run
// text while it is written with the machine stopped (arch_jump_label_transform in 2.6.37; since 4.13
// static_key_slow_inc takes that lock before jump_label_mutex).
func (l *Label) Write(x kapi.Context, on bool, p kapi.Patcher) {
	l.of.cpus.ReadLock(x)
	l.of.text.Mutex().Lock(x)
	expected := !l.here || l.expected(x)
	if l.here || !l.of.boot.Planted(onlyHere) {
		l.on = on
	}
	if l.here && expected {
		l.patch(x, p)
	}
	l.of.text.Mutex().Unlock(x)
	l.of.cpus.ReadUnlock(x)
}

// expected reports whether the site has the bytes that the labels have left there. If it hasn't the kernel dies (BUG():
// "unexpected op"). A site that only the labels write isn't read. Context: text_mutex held.
func (l *Label) expected(x kapi.Context) bool {
	was, _ := l.insn()
	if !l.of.Looks || !l.of.boot.Foreign(l.at, len(was)) {
		return true
	}
	now := l.jump
	l.of.text.Read(x, l.at, now.Bytes())
	l.of.boot.Shares(x, l.at, len(was), Site, false)
	if bytes.Equal(now.Bytes(), was) {
		return true
	}
	l.of.traps.Bug(x, "jump_label: Fatal kernel bug, unexpected op")
	return false
}

// WriteBlind is Write for text that may not be there: for a mutant.
func (l *Label) WriteBlind(x kapi.Context, on bool, p kapi.Patcher) {
	l.of.text.Mutex().Lock(x)
	l.on = on
	l.patch(x, p)
	l.of.text.Mutex().Unlock(x)
}

// Here reports whether the label's text is there. Without text_mutex it may go meanwhile.
func (l *Label) Here() bool { return l.here }

// patch writes the label's state to the text (arch_jump_label_transform). Context: text_mutex held.
func (l *Label) patch(x kapi.Context, p kapi.Patcher) {
	insn, resume := l.insn()
	p.Patch(x, l.at, insn, resume)
	l.of.boot.Shares(x, l.at, len(insn), Site, true)
}

// insn is the instruction at the label, and its target.
func (l *Label) insn() (insn []byte, to arch.Addr) {
	a := l.of.text.Arch()
	if l.on {
		return l.jump.Bytes(), l.target
	}
	return a.BranchNop.Bytes(), l.at + arch.Addr(a.BranchLen)
}

// follow is called when a module's section has been loaded or is about to be unloaded: its labels are nops, and those
// that are on are written before any task runs there (jump_label_add_module). Labels in unloaded text are forgotten
// without a store. Context: may sleep; takes text_mutex.
func (ls *Labels) follow(x kapi.Context, in kapi.Section, here bool) {
	for _, l := range ls.list {
		if !in.Has(l.at) {
			continue
		}
		ls.text.Mutex().Lock(x)
		if l.here = here; here && l.on && !ls.boot.Planted(forgotten) {
			insn, _ := l.insn()
			ls.text.Poke(x, l.at, insn)
		}
		ls.text.Mutex().Unlock(x)
	}
}
