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
	text    kapi.Var[bool] // the breakpoint stands in the text of user mode
	tree    kapi.Var[bool] // the uprobe is found by its address (uprobes_tree)
	sem     kapi.Mutex     `state:"address: it is among the mutexes"` // set at boot: register_rwsem, for who writes
	mmap    kapi.Mutex     `state:"address: it is among the mutexes"` // set at boot: mmap_lock
	readers kapi.Var[int]  // register_rwsem, who reads: they run handlers, which may sleep
	none    kapi.Is[int]   `state:"boot"` // set at boot
}

// A user is one user.
type user struct {
	handler arch.Addr // set at boot
	on      kapi.Var[bool]
}

// AddUser declares, at boot, that the uprobe comes and goes with a user that has a handler.
func (u *Uprobes) AddUser(handler arch.Addr) {
	s := &u.users
	if s.u == nil {
		s.u = u
		s.text.Init(u.d.Cells, false)
		s.tree.Init(u.d.Cells, false)
		s.readers.Init(u.d.Cells, 0)
		s.none = kapi.Is[int]{Var: &s.readers}
		s.sem, s.mmap = u.d.Boot.BootMutex("register_rwsem"), u.d.Boot.BootMutex("mmap_lock")
	}
	if s.of(handler) == nil {
		c := &user{handler: handler}
		c.on.Init(u.d.Cells, false)
		s.all = append(s.all, c)
	}
	u.any = true
}

func (s *users) any() bool { return s.u != nil }

func (s *users) begin() {
	if !s.any() {
		return
	}
	s.text.Set(false)
	s.tree.Set(false)
	s.readers.Set(0)
	for _, c := range s.all {
		c.on.Set(false)
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

// stands reports whether a task in user mode finds the breakpoint (point, if it comes and goes).
func (s *users) stands(x kapi.Context) bool { return !s.any() || s.text.ReadOnce(x) }

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
func (s *users) find(x kapi.Context) bool {
	locks := !s.u.d.Boot.Planted(unlocked)
	if locks {
		s.mmap.Lock(x)
	}
	found := s.tree.ReadOnce(x)
	if !found && s.text.ReadOnce(x) {
		x.Emit(smpev.Uprobe, uint64(s.u.at), smpev.UprobeKills, 0)
	}
	if locks {
		s.mmap.Unlock(x)
	}
	return found
}

// write makes the breakpoint stand in the text, or not (install_breakpoint, remove_breakpoint). Context: may sleep;
// takes mmap_lock.
func (s *users) write(x kapi.Context, stands bool) {
	s.mmap.Lock(x)
	s.text.WriteOnce(x, stands)
	s.mmap.Unlock(x)
}

// chain calls the handlers of all users (handler_chain). Context: may sleep; reads register_rwsem.
func (s *users) chain(x kapi.Context) {
	s.sem.Lock(x)
	kapi.Add(&s.readers, x, kapi.Once, 1)
	s.sem.Unlock(x)
	for _, c := range s.all {
		if c.on.ReadOnce(x) {
			s.u.call(x, c.handler)
		}
	}
	kapi.Add(&s.readers, x, kapi.Once, -1)
}

// lock takes register_rwsem to write, and waits until no task runs handlers.
func (s *users) lock(x kapi.Context) {
	s.sem.Lock(x)
	if s.readers.ReadOnce(x) > 0 && !s.u.d.Boot.Planted(unwaited) {
		x.Sleep(&s.none)
	}
}

// Register makes the uprobe's hits call a handler (uprobe_register). Context: may sleep.
func (u *Uprobes) Register(x kapi.Context, handler arch.Addr) (errno int) {
	s, c := &u.users, u.users.of(handler)
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeAdds, uint64(handler))
	s.lock(x)
	if c.on.ReadOnce(x) {
		errno = EBUSY
	} else {
		first := !s.inUse()
		c.on.WriteOnce(x, true)
		if first {
			s.tree.WriteOnce(x, true) // insert_uprobe
			s.write(x, true)
		}
	}
	s.sem.Unlock(x)
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeAdded, uint64(handler))
	return errno
}

// Unregister makes them no longer call it; it doesn't run when that returns (uprobe_unregister). Context: may sleep.
func (u *Uprobes) Unregister(x kapi.Context, handler arch.Addr) (errno int) {
	s, c := &u.users, u.users.of(handler)
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeRemoves, uint64(handler))
	s.lock(x)
	if !c.on.ReadOnce(x) {
		errno = EINVAL
	} else if c.on.WriteOnce(x, false); !s.inUse() {
		early := u.d.Boot.Planted(treeFirst)
		if early {
			s.tree.WriteOnce(x, false)
		}
		s.write(x, false)
		if !early {
			s.tree.WriteOnce(x, false) // delete_uprobe
		}
	}
	s.sem.Unlock(x)
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeRemoved, uint64(handler))
	return errno
}
