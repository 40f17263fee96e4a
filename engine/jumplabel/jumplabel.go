package jumplabel

import (
	"bytes"
	"cmp"
	"slices"

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
	oneTable = kapi.DefineFault("label-one-table",
		"a key that has sites in a module, too, is set in the kernel's own text alone",
		"jump_label_update: __jump_label_mod_update of a key whose sites are in several tables")
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

	// set at boot: they look at a site before they write it (bug_at in __jump_label_transform, x86, 3.13)
	Looks bool `state:"boot"`

	// set at boot: they write the sites of a key that doesn't turn, too (jump_label_enable, 2.6.37)
	Again bool `state:"boot"`

	// Batches says whether a batch writes the sites of a key together, if the patcher can
	// (arch_jump_label_transform_queue, since 5.3). Set at boot.
	Batches bool `state:"boot"`

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
		l.on = l.first
		for i := range l.entries {
			l.entries[i].here = ls.boot.Present(l.entries[i].At)
		}
	}
}

// A Label is a key (struct static_key) and its sites: nops in text that become jumps, and jumps that become nops.
type Label struct {
	of      *Labels        `state:"boot"` // set at boot
	first   bool           // set at boot: it is on when a run begins
	entries []Entry        // set at boot: in the order in which they are written
	write   []kapi.Rewrite `state:"skip: follows from what its maker has read"` // owned by text_mutex
	on      bool           // owned by text_mutex: it is turned on
}

// A Place is a place for Add.
type Place struct {
	At, Target arch.Addr
	// Likely says that the jump stands there while the key is off: the code after it is that of a key that is on
	// (static_branch_likely).
	Likely bool
	Form   int // which of the processor's forms it has (arch.Branches.Labels)
	// Table is whose jump table has the site: 0 the kernel's own, n that of the module of that number. The sites of
	// a table are written together.
	Table int
}

// An Entry is a site (struct jump_entry).
type Entry struct {
	Place
	nop, jump arch.Code // set at boot
	here      bool      // owned by text_mutex: the text is there
}

// Form returns the instruction at the site while the key is off or on, and where a CPU goes that executes it.
func (e *Entry) Form(on bool) (insn *arch.Code, to arch.Addr) {
	if on != e.Likely {
		return &e.jump, e.Target
	}
	return &e.nop, e.At + arch.Addr(len(e.nop.Bytes()))
}

// Add makes a key, at boot, whose sites' text is that of first. ok false: the target of a site is out of reach.
func (ls *Labels) Add(first bool, sites ...Place) (l *Label, ok bool) {
	l = &Label{of: ls, first: first, on: first}
	a := ls.text.Arch()
	ok = true
	for _, p := range sites {
		f := &a.Labels[p.Form]
		jump, reached := f.Jump(p.At, p.Target)
		e := Entry{Place: p, nop: f.Nop, jump: jump, here: ls.boot.Present(p.At)}
		ok = ok && reached
		l.entries = append(l.entries, e)
		ls.boot.AddSite(kapi.Site{Addr: p.At, Size: len(e.nop.Bytes()), Kind: Site})
	}
	// jump_label_cmp; jump_label_update goes through modules' tables first, the last one first.
	slices.SortStableFunc(l.entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Table, a.Table), cmp.Compare(a.At, b.At))
	})
	ls.list = append(ls.list, l)
	return l, ok
}

// All returns the labels in the order in which they were added.
func (ls *Labels) All() []*Label { return ls.list }

// Lock makes jump_label_mutex, at boot, if there are labels: for an engine that checks where they are while they may
// change, and for keys whose sites are written one by one. Otherwise text_mutex does.
func (ls *Labels) Lock() {
	if len(ls.list) > 0 && ls.mutex == nil {
		ls.mutex = ls.boot.BootMutex("jump_label_mutex")
	}
}

// Mutex returns jump_label_mutex, nil if there is none.
func (ls *Labels) Mutex() kapi.Mutex { return ls.mutex }

// First reports whether the label is on when a run begins.
func (l *Label) First() bool { return l.first }

// Entries returns the label's sites. They are l's own.
func (l *Label) Entries() []Entry { return l.entries }

// Set turns the label on or off with the patcher (static_key_enable, static_key_disable). Sites in an unloaded module
// are turned when the module is loaded. Context: may sleep; takes jump_label_mutex, then cpu_hotplug_lock and
// text_mutex.
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
	here := func(e *Entry) bool { return e.here && !l.left(e) }
	batcher, is := p.(kapi.Batcher)
	if is && l.of.Batches && len(l.entries) > 1 {
		l.of.text.Mutex().Lock(x)
		turns := l.mark(on)
		l.batch(x, on, turns, batcher)
		l.of.text.Mutex().Unlock(x)
	} else {
		l.each(x, on, p, here)
	}
	l.of.cpus.ReadUnlock(x)
}

// left reports whether a mutant leaves a site as it is. The kernel's own table is the last one.
func (l *Label) left(e *Entry) bool {
	return l.of.boot.Planted(oneTable) && e.Table != l.entries[len(l.entries)-1].Table
}

// mark makes the label on or off, and reports whether it was off or on before. Context: text_mutex held.
func (l *Label) mark(on bool) (turns bool) {
	turns = l.on != on
	if !l.of.boot.Planted(onlyHere) || slices.ContainsFunc(l.entries, func(e Entry) bool { return e.here }) {
		l.on = on
	}
	return turns
}

// each writes the sites for which ask is true, one by one (arch_jump_label_transform). Context: text_mutex isn't held.
func (l *Label) each(x kapi.Context, on bool, p kapi.Patcher, ask func(e *Entry) bool) {
	turns := false
	for i := range l.entries {
		l.of.text.Mutex().Lock(x)
		if i == 0 {
			turns = l.mark(on)
		}
		if e := &l.entries[i]; ask(e) && l.expected(x, e, on, turns) {
			insn, resume := e.Form(on)
			p.Patch(x, e.At, insn.Bytes(), resume)
			l.of.boot.Shares(x, e.At, len(insn.Bytes()), Site, true)
		}
		l.of.text.Mutex().Unlock(x)
	}
}

// batch writes the sites of each table together (__jump_label_update). Context: text_mutex held.
func (l *Label) batch(x kapi.Context, on, turns bool, p kapi.Batcher) {
	for i := 0; i < len(l.entries); {
		table := l.entries[i].Table
		l.write = l.write[:0]
		for ; i < len(l.entries) && l.entries[i].Table == table; i++ {
			if e := &l.entries[i]; e.here && !l.left(e) && l.expected(x, e, on, turns) {
				insn, _ := e.Form(on)
				l.write = append(l.write, kapi.Rewrite{At: e.At, Insn: insn.Bytes()})
			}
		}
		if len(l.write) > 0 {
			p.Batch(x, l.write)
			for _, w := range l.write {
				l.of.boot.Shares(x, w.At, len(w.Insn), Site, true)
			}
		}
	}
}

// expected reports whether a site is written: it has the bytes that the labels have left there. If it hasn't the
// kernel dies (BUG(): "unexpected op"). A site that only the labels write isn't read. One that others write, too, isn't
// written where the key doesn't turn (static_key_enable returns early). Context: text_mutex held.
func (l *Label) expected(x kapi.Context, e *Entry, on, turns bool) bool {
	was, _ := e.Form(!on)
	if !l.of.boot.Foreign(e.At, len(was.Bytes())) {
		return true
	}
	if !turns && !l.of.Again {
		return false
	}
	if !l.of.Looks {
		return true
	}
	now := *was
	l.of.text.Read(x, e.At, now.Bytes())
	l.of.boot.Shares(x, e.At, len(was.Bytes()), Site, false)
	if bytes.Equal(now.Bytes(), was.Bytes()) {
		return true
	}
	l.of.traps.Bug(x, "jump_label: Fatal kernel bug, unexpected op")
	return false
}

// WriteBlind is Write for text that may not be there: for a mutant.
func (l *Label) WriteBlind(x kapi.Context, on bool, p kapi.Patcher) {
	l.each(x, on, p, func(*Entry) bool { return true })
}

// Here reports whether the label's text is there, at each of its sites. Without text_mutex it may go meanwhile.
func (l *Label) Here() bool {
	return !slices.ContainsFunc(l.entries, func(e Entry) bool { return !e.here })
}

// follow is called when a module's section has been loaded or is about to be unloaded: its sites are as they were
// compiled, and those of keys that have changed are written before any task runs there (jump_label_add_module). Sites
// in unloaded text are forgotten without a store. Context: may sleep; takes text_mutex.
func (ls *Labels) follow(x kapi.Context, in kapi.Section, here bool) {
	for _, l := range ls.list {
		for i := range l.entries {
			e := &l.entries[i]
			if !in.Has(e.At) {
				continue
			}
			ls.text.Mutex().Lock(x)
			if e.here = here; here && l.on != l.first && !ls.boot.Planted(forgotten) {
				insn, _ := e.Form(l.on)
				ls.text.Poke(x, e.At, insn.Bytes())
			}
			ls.text.Mutex().Unlock(x)
		}
	}
}
