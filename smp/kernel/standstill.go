package kernel

import (
	"fmt"
	"math/bits"
	"strings"

	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A link is what one task waits for, and the task that would have to act first.
type link struct {
	from  *smp.Task   // owned by Standstill
	what  string      // owned by Standstill
	whose string      // owned by Standstill
	to    []*smp.Task // owned by Standstill
}

// Standstill explains in one line why no task makes progress: which task waits for what, and for which task; a circle
// if there is one, else the chain as far as it leads. cell names cells that aren't the kernel's. It is "" if no task
// waits.
func (k *Kernel) Standstill(cell func(kapi.CellID) string) string {
	longest, circle := k.chain(cell)
	switch {
	case circle:
		return "a circle: " + say(longest)
	case len(longest) == 0:
		return ""
	}
	s := say(longest)
	for _, t := range longest[len(longest)-1].to {
		switch {
		case t.Dead():
			s += "; " + t.Name + " has ended"
		case k.M.Inspect().Current(t.CPUID()) == t && !t.Idle():
			s += "; " + t.Name + " keeps its CPU"
		}
	}
	return s
}

// A Waiting is a link of the chain that Standstill says: a task, what it waits for, and the tasks that would have to
// act first, which Whose relates to it ("held by").
type Waiting struct {
	Task       *smp.Task
	For, Whose string
	On         []*smp.Task
}

// Waiting returns the chain that Standstill says.
func (k *Kernel) Waiting(cell func(kapi.CellID) string) (list []Waiting) {
	path, _ := k.chain(cell)
	for _, l := range path {
		list = append(list, Waiting{l.from, l.what, l.whose, l.to})
	}
	return list
}

// chain returns a circle of waits if there is one, else the longest chain.
func (k *Kernel) chain(cell func(kapi.CellID) string) (longest []link, circle bool) {
	for _, t := range k.M.Tasks().All() {
		if _, waits := t.WaitsFor(); !waits {
			continue
		}
		path, circle := k.follow(nil, t, cell)
		if circle {
			return path, true
		}
		if len(path) > len(longest) {
			longest = path
		}
	}
	return longest, false
}

// follow goes from a waiting task to the task that it waits for, and on, until
// it meets a task for the second time: it returns the circle.
func (k *Kernel) follow(path []link, t *smp.Task, cell func(kapi.CellID) string) (way []link, circle bool) {
	for i := range path {
		if path[i].from == t {
			return path[i:], true
		}
	}
	l, ok := k.waits(t, cell)
	if !ok {
		return path, false
	}
	path = append(path[:len(path):len(path)], l)
	longest := path
	for _, next := range l.to {
		p, circle := k.follow(path, next, cell)
		if circle {
			return p, true
		}
		if len(p) > len(longest) {
			longest = p
		}
	}
	return longest, false
}

func say(path []link) string {
	var s strings.Builder
	for i, l := range path {
		if i > 0 {
			s.WriteString("; ")
		}
		fmt.Fprintf(&s, "%s waits for %s", l.from.Name, l.what)
		if n := len(path); len(l.to) > 0 {
			names := make([]string, len(l.to))
			for j, t := range l.to {
				names[j] = t.Name
				if t == path[(i+1)%n].from { // of several tasks the one that the chain names next
					names = []string{t.Name}
					break
				}
			}
			fmt.Fprintf(&s, ", %s %s", l.whose, strings.Join(names, " and "))
		}
	}
	return s.String()
}

// waits returns what a task waits for. ok is false if it waits for nothing, or nothing will end the wait.
func (k *Kernel) waits(t *smp.Task, cell func(kapi.CellID) string) (l link, ok bool) {
	l.from = t
	id, waits := t.WaitsFor()
	if !waits {
		if now := k.M.Inspect().Current(t.CPUID()); t.OnQueue() && now != t && !now.Idle() {
			return link{t, fmt.Sprintf("cpu%d", t.CPUID()), "kept by", []*smp.Task{now}}, true
		}
		return l, false
	}
	tasks := k.M.Tasks().All()
	for _, m := range k.Locks.mutexes[:k.Locks.n] {
		if owner := m.owner.Peek(); m.owner.ID() == id && owner != 0 {
			return link{t, k.Locks.Name(m.id), "held by", []*smp.Task{tasks[owner-1]}}, true
		}
	}
	for _, s := range k.Locks.spins[:k.Locks.nSpins] {
		if owner := s.owner.Peek(); s.owner.ID() == id && owner != 0 {
			return link{t, k.Locks.Name(s.id), "held by", []*smp.Task{k.M.Inspect().Current(owner - 1)}}, true
		}
	}
	for _, w := range k.Work.works[:k.Work.n] {
		if w.state.ID() == id {
			return link{t, "the work " + w.worker.Name, "done by", []*smp.Task{w.worker}}, true
		}
	}
	for _, g := range k.RCU.active {
		if g.done.ID() == id {
			l.what, l.whose = graceNames[g.flavour], "held up by"
			if g.flavour != smpev.GPTasks && k.M.Processors().IsOff(int(g.on)) {
				l.what += fmt.Sprintf(", whose callback is on cpu%d", g.on)
			}
			l.to = k.among(g.cpus, g.tasks)
			return l, true
		}
	}
	switch id {
	case k.Hotplug.readers.ID(), k.Hotplug.writer.ID():
		if k.cfg.Hotplug {
			return k.waitsForCPUs(l, id), true
		}
	case k.Hotplug.empty.ID(), k.Hotplug.dead.ID(), k.Hotplug.active.ID():
		if k.cfg.Offline {
			return k.Hotplug.waitsFor(l, id), true
		}
	case k.Latch.open.ID():
		if k.cfg.Latch {
			return l.opened("release()", &k.Latch, tasks), true
		}
	case k.Signal.open.ID():
		if k.cfg.Signal {
			return l.opened("signal()", &k.Signal, tasks), true
		}
	case k.Pager.served.ID():
		if k.Pager.work != nil {
			return link{t, "a page", "brought in by", []*smp.Task{k.Pager.work.worker}}, true
		}
	case k.Stacks.later.ID():
		if k.cfg.StackCheck && !k.Stacks.sure {
			return link{t, "its next look at stacks", "called for by", []*smp.Task{k.Stacks.timer.worker}}, true
		}
		l.what, l.whose = "a region to be left", "held up by"
		l.to = k.among(0, k.Stacks.inside)
		return l, true
	case k.Stop.state.ID():
		l.what, l.whose = "stop_machine", "held up by"
		for c := range k.M.CPUs() {
			if s := k.M.Tasks().Stopper(c); s != t {
				if _, there := s.WaitsFor(); !there {
					l.to = append(l.to, s)
				}
			}
		}
		return l, true
	case k.Sync.wake.ID():
		w := &k.Sync.waits[t.ID]
		l.what, l.whose = "the answer to an IPI", "held up by"
		for c := range k.M.CPUs() {
			if w.set>>c&1 != 0 && *k.Sync.served.Of(c) < w.call {
				l.to = append(l.to, k.M.Inspect().Current(c))
			}
		}
		return l, true
	}
	if l.what = cell(id); l.what == "" {
		l.what = fmt.Sprintf("cell %d", id)
	}
	return l, true
}

// graceNames is indexed by smpev.GP….
var graceNames = [...]string{1: "all CPUs to schedule", 2: "an RCU grace period", 3: "all tasks to schedule"}

// among returns the tasks that the given CPUs run, and those of a set.
func (k *Kernel) among(cpus uint64, tasks [4]uint64) (list []*smp.Task) {
	for ; cpus != 0; cpus &= cpus - 1 {
		list = append(list, k.M.Inspect().Current(bits.TrailingZeros64(cpus)))
	}
	for _, t := range k.M.Tasks().All() {
		if tasks[t.ID/64]>>(t.ID%64)&1 != 0 {
			list = append(list, t)
		}
	}
	return list
}

// waitsForCPUs is a wait for the CPU-hotplug lock: for its readers, or for a writer.
func (k *Kernel) waitsForCPUs(l link, id kapi.CellID) link {
	l.what, l.whose = "cpu_hotplug_lock", "held by"
	for _, t := range k.M.Tasks().All() {
		cell, waits := t.WaitsFor()
		switch {
		case id == k.Hotplug.readers.ID() && k.Hotplug.reads[t.ID]:
			l.to = append(l.to, t)
		case id == k.Hotplug.writer.ID() && k.Hotplug.mutex.owner.Peek() == 1+int(t.ID):
			if l.to = append(l.to, t); waits && cell == k.Hotplug.readers.ID() {
				l.whose = "wanted before by"
			}
		}
	}
	return l
}

// opened is a link for a latch: what the task waits for, and the task that will open it.
func (l link) opened(what string, by *Latch, tasks []*smp.Task) link {
	l.what, l.whose = what, "left to"
	for _, n := range by.Openers {
		if !tasks[n].Dead() {
			l.to = append(l.to, tasks[n])
		}
	}
	return l
}
