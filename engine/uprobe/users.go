package uprobe

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// The errnos of Register and Unregister, besides 0.
const (
	EBUSY  = 16 // it is registered
	EINVAL = 22 // it isn't registered
)

var (
	treeFirst = kapi.DefineFault("uprobe-tree-first",
		"the uprobe is forgotten before its breakpoint is removed: a task that hits it meanwhile is killed",
		"uprobe_unregister: delete_uprobe before register_for_each_vma")
	flagCleared = kapi.DefineFault("uprobe-flag-cleared",
		"a task that finds no uprobe at its breakpoint clears its process's flag, and a task that has trapped before "+
			"isn't known to have hit a uprobe: as in kernels, were there no IPI that flushes translations",
		"find_active_uprobe: mmf_recalc_uprobes")
	filterUnasked = kapi.DefineFault("uprobe-filter-unasked",
		"unregistering a user removes the breakpoints without asking the filters of those that remain",
		"register_for_each_vma: filter_chain")
	removeAny = kapi.DefineFault("uprobe-remove-any",
		"a breakpoint is removed from a process as soon as one user's handler wants that, and others still need it",
		"handler_chain: remove &= rc")
	removeUnlocked = kapi.DefineFault("uprobe-remove-unlocked",
		"the breakpoint that no handler needs any more is removed without register_rwsem: a user that is registered "+
			"in between loses it", "handler_chain: unapply_uprobe; since 6.12: filter_chain, once more")
	unwaited = kapi.DefineFault("uprobe-unwaited",
		"unregistering doesn't wait for tasks that run the handlers", "uprobe_unregister: register_rwsem")
	unlocked = kapi.DefineFault("uprobe-unlocked",
		"a task that hits a breakpoint looks for its uprobe, and then at the text, without mmap_lock: a uprobe that "+
			"comes in between isn't found, and its breakpoint is", "find_active_uprobe: mmap_read_lock")
)

// users are the users of the uprobe (struct uprobe_consumer), of which the first to be registered brings it, and the
// last to be unregistered takes it away. The zero value: the uprobe is there for good, with a handler of its own.
type users struct {
	u       *Uprobes       // set at boot
	all     []*user        // set at boot
	returns bool           // set at boot: some user has a return handler
	filters bool           // set at boot: some user doesn't want each process, or its handler may say so
	text    []process      // set at boot: the processes that have the file
	tree    kapi.Var[bool] // the uprobe is found by its address (uprobes_tree)
	objects objects        // of return probes
	sem     kapi.Mutex     `state:"address: it is among the mutexes"` // set at boot: register_rwsem, for who writes
	readers kapi.Var[int]  // register_rwsem, who reads: they run handlers, which may sleep
	none    kapi.Is[int]   `state:"boot"` // set at boot
}

// A process has the file with the uprobe in its memory.
type process struct {
	stands kapi.Var[bool] // the breakpoint stands in its text
	has    kapi.Var[bool] // MMF_HAS_UPROBES, if it may be cleared: a mutant
	mmap   kapi.Mutex     `state:"address: it is among the mutexes"` // set at boot: mmap_lock
}

// A user is one user.
type user struct {
	handler arch.Addr // set at boot
	on      kapi.Var[bool]
	how     User // owned by register_rwsem: what it was registered with
	// skips says of each process that the user's filter is against it, or its handler has had it removed.
	skips []kapi.Var[bool]
}

// A User is what a user of the uprobe is registered with.
type User struct {
	Handler arch.Addr
	Return  arch.Addr // the function that its return handler calls; 0: it has none
	Skips   uint64    // the processes that its filter is against
	Removes bool      // its handler answers UPROBE_HANDLER_REMOVE: it needs the process no longer
}

// AddUser declares, at boot, that the uprobe comes and goes with a user.
func (u *Uprobes) AddUser(how User) {
	s := &u.users
	if s.u == nil {
		s.u = u
		s.text = make([]process, 1)
		s.text[0].stands.Init(u.d.Cells, false)
		s.tree.Init(u.d.Cells, false)
		s.readers.Init(u.d.Cells, 0)
		s.none = kapi.Is[int]{Var: &s.readers}
		s.sem, s.text[0].mmap = u.d.Boot.BootMutex("register_rwsem"), u.d.Boot.BootMutex("mmap_lock")
	}
	if s.of(how.Handler) == nil {
		c := &user{handler: how.Handler}
		c.on.Init(u.d.Cells, false)
		s.all = append(s.all, c)
	}
	s.returns, s.filters = s.returns || how.Return != 0, s.filters || how.Skips != 0 || how.Removes
	u.any = true
}

// Booted ends the declarations, at boot.
func (u *Uprobes) Booted() {
	s := &u.users
	if !s.any() {
		return
	}
	for range u.processes + 1 - len(s.text) {
		p := process{mmap: u.d.Boot.BootMutex("mmap_lock")}
		p.stands.Init(u.d.Cells, false)
		p.has.Init(u.d.Cells, false)
		s.text = append(s.text, p)
	}
	for _, c := range s.all {
		if s.filters {
			c.skips = make([]kapi.Var[bool], len(s.text))
		}
		for i := range c.skips {
			c.skips[i].Init(u.d.Cells, false)
		}
	}
	if s.returns {
		s.objects.init(u)
	}
}

func (s *users) any() bool { return s.u != nil }

func (s *users) begin() {
	if !s.any() {
		return
	}
	for i := range s.text {
		s.text[i].stands.Set(false)
		s.text[i].has.Set(false)
	}
	s.tree.Set(false)
	s.readers.Set(0)
	s.objects.begin()
	for _, c := range s.all {
		c.on.Set(false)
		c.how = User{}
		for i := range c.skips {
			c.skips[i].Set(false)
		}
	}
}

func (s *users) of(handler arch.Addr) *user {
	for _, c := range s.all {
		if c.handler == handler {
			return c
		}
	}
	return nil
}

// known reports whether a task's process is known to have uprobes, or hooked calls. Context: interrupts off.
func (s *users) known(x kapi.Context, t *utask) bool {
	return !s.any() || !s.u.d.Boot.Planted(flagCleared) || t.calls.hooked > 0 || s.text[t.process].has.ReadOnce(x)
}

// stands reports whether a task in user mode finds the breakpoint (point, if it comes and goes).
func (s *users) stands(x kapi.Context, process int) bool {
	return !s.any() || s.text[process].stands.ReadOnce(x)
}

// inUse reports whether any user is registered. Context: register_rwsem held.
func (s *users) inUse() bool {
	for _, c := range s.all {
		if c.on.Peek() {
			return true
		}
	}
	return false
}

// find reports whether there is a uprobe where a task has hit a breakpoint (find_active_uprobe). If there is none, and
// the breakpoint stands (is_trap_at_addr), the task is killed; else it runs the instruction. Context: may sleep; takes
// mmap_lock, with which no breakpoint comes or goes.
func (s *users) find(x kapi.Context, t *utask) bool {
	p := &s.text[t.process]
	locks := !s.u.d.Boot.Planted(unlocked)
	if locks {
		p.mmap.Lock(x)
	}
	found := s.tree.ReadOnce(x)
	if s.returns {
		t.object = s.objects.get(x)
		found = t.object != 0
	}
	if !found && s.traps(x, p) {
		x.Emit(smpev.Uprobe, uint64(s.u.addr(t.process)), smpev.UprobeKills, 0)
	}
	if !found && s.u.d.Boot.Planted(flagCleared) {
		p.has.WriteOnce(x, false)
	}
	if locks {
		p.mmap.Unlock(x)
	}
	return found
}

// traps reports whether a breakpoint stands in a process's text (is_trap_at_addr). Context: mmap_lock held.
func (s *users) traps(x kapi.Context, p *process) bool {
	if s.u.nop.there() {
		return s.u.firstByte(x) == s.u.d.Arch.Breakpoint[0]
	}
	return p.stands.ReadOnce(x)
}

// write makes the breakpoint stand in a process's text, or not, if that isn't so already (install_breakpoint,
// remove_breakpoint). Context: may sleep; takes mmap_lock.
func (s *users) write(x kapi.Context, process int, stands bool) {
	p := &s.text[process]
	p.mmap.Lock(x)
	if stands && s.u.d.Boot.Planted(flagCleared) {
		p.has.WriteOnce(x, true)
	}
	if !s.filters || p.stands.ReadOnce(x) != stands { // verify_opcode
		if p.stands.WriteOnce(x, stands); s.u.nop.there() {
			s.u.rewrite(x, stands)
		}
	}
	p.mmap.Unlock(x)
}

// chain calls the handlers of all users (handler_chain). If all of them say that they don't need this process, its
// breakpoint is removed; else, if one has a return handler, the call's return is hooked. Context: may sleep; reads
// register_rwsem.
func (s *users) chain(x kapi.Context, t *utask) {
	s.read(x)
	hooks, needed, left := false, false, false
	for _, c := range s.all {
		if !c.on.ReadOnce(x) {
			continue
		}
		if s.handle(x, t, c) {
			left = true
		} else {
			needed = true
		}
		hooks = hooks || c.how.Return != 0
	}
	if s.u.d.Boot.Planted(removeAny) && left {
		needed = false
	}
	remove := left && !needed
	if hooks && !remove {
		s.prepare(x, t)
	}
	early := s.u.d.Boot.Planted(removeUnlocked)
	if remove && !early {
		s.write(x, t.process, false) // unapply_uprobe
	}
	kapi.Add(&s.readers, x, kapi.Once, -1)
	if remove && early {
		s.write(x, t.process, false)
	}
}

// handle calls a user's handler, and reports whether that answers UPROBE_HANDLER_REMOVE. A handler asks its user's
// filter first. Context: register_rwsem read.
func (s *users) handle(x kapi.Context, t *utask, c *user) (remove bool) {
	if s.skips(x, t, c) {
		return true
	}
	s.u.call(x, t, c.handler, smpev.UprobeRuns, c.handler)
	if c.how.Removes {
		c.skips[t.process].WriteOnce(x, true)
		x.Emit(smpev.Uprobe, uint64(s.u.addr(t.process)), smpev.UprobeSkips, uint64(c.handler))
	}
	return c.how.Removes
}

// skips reports whether a user doesn't want a task's process.
func (s *users) skips(x kapi.Context, t *utask, c *user) bool {
	return s.filters && c.skips[t.process].ReadOnce(x)
}

// read takes register_rwsem to read.
func (s *users) read(x kapi.Context) {
	s.sem.Lock(x)
	kapi.Add(&s.readers, x, kapi.Once, 1)
	s.sem.Unlock(x)
}

// lock takes register_rwsem to write, and waits until no task runs handlers.
func (s *users) lock(x kapi.Context) {
	s.sem.Lock(x)
	if s.readers.ReadOnce(x) > 0 && !s.u.d.Boot.Planted(unwaited) {
		x.Sleep(&s.none)
	}
}

// Register makes the uprobe's hits call a handler (uprobe_register). Context: may sleep.
func (u *Uprobes) Register(x kapi.Context, how User) (errno int) {
	s, c := &u.users, u.users.of(how.Handler)
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeAdds, uint64(how.Handler))
	s.lock(x)
	if c.on.ReadOnce(x) {
		errno = EBUSY
	} else {
		first := !s.inUse()
		c.on.WriteOnce(x, true)
		s.describe(x, c, how)
		if first {
			s.tree.WriteOnce(x, true) // insert_uprobe
			s.objects.add(x)
		}
		s.each(x, true, func(i int) bool { return how.Skips>>i&1 == 0 })
	}
	s.sem.Unlock(x)
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeAdded, uint64(how.Handler))
	return errno
}

// describe keeps what a user is registered with. It begins within the step under way. Context: register_rwsem held.
func (s *users) describe(x kapi.Context, c *user, how User) {
	c.how = how
	if what := uint64(smpev.UprobeWithReturn); s.returns {
		if how.Return == 0 {
			what = smpev.UprobeNoReturn
		}
		x.Emit(smpev.Uprobe, uint64(s.u.at), what, uint64(c.handler))
	}
	for i := range c.skips {
		what := uint64(smpev.UprobeWants)
		skips := how.Skips>>i&1 != 0
		if skips {
			what = smpev.UprobeSkips
		}
		c.skips[i].WriteOnce(x, skips)
		x.Emit(smpev.Uprobe, uint64(s.u.addr(i)), what, uint64(c.handler))
	}
}

// each makes the breakpoint stand, or not, in each process that f names (register_for_each_vma). Without filters it
// stands in all processes or in none, and nothing is done where it is so already. Context: may sleep; register_rwsem
// held.
func (s *users) each(x kapi.Context, stands bool, f func(process int) bool) {
	for i := range s.text {
		if (s.filters || s.text[i].stands.Owned() != stands) && f(i) {
			s.write(x, i, stands)
		}
	}
}

// needed reports whether any user wants a process (filter_chain). Context: register_rwsem held.
func (s *users) needed(x kapi.Context, process int) bool {
	for _, c := range s.all {
		if c.on.Owned() && !(s.filters && c.skips[process].ReadOnce(x)) {
			return !s.u.d.Boot.Planted(filterUnasked)
		}
	}
	return false
}

// Unregister makes them no longer call it; it doesn't run when that returns (uprobe_unregister). Context: may sleep.
func (u *Uprobes) Unregister(x kapi.Context, handler arch.Addr) (errno int) {
	s, c := &u.users, u.users.of(handler)
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeRemoves, uint64(handler))
	s.lock(x)
	if !c.on.ReadOnce(x) {
		errno = EINVAL
	} else {
		c.on.WriteOnce(x, false)
		last, early := !s.inUse(), u.d.Boot.Planted(treeFirst)
		if last && early {
			s.forget(x)
		}
		s.each(x, false, func(i int) bool { return !s.needed(x, i) })
		if last && !early {
			s.forget(x)
		}
	}
	s.sem.Unlock(x)
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeRemoved, uint64(handler))
	return errno
}

// forget makes the uprobe no longer be found (delete_uprobe).
func (s *users) forget(x kapi.Context) {
	s.tree.WriteOnce(x, false)
	s.objects.forget(x, s)
}
