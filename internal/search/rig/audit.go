package rig

import (
	"strconv"

	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// audit is how monitors come to know what the engine says of itself: who is about to
// let kprobe_mutex go has them told the state of every point, and at the end of a run
// they are told what kprobes/list says. It is no part of a run: nothing is stored,
// there is no point, and no digest changes.
type audit struct {
	kapi.Locks // set at wire: of the engine
	r          *Rig
	mutex      audited
	list       []byte // the file as it was read last
}

// audited is kprobe_mutex.
type audited struct {
	kapi.Mutex
	r *Rig
}

// watch has the engine's locks made by way of a.
func (a *audit) watch(r *Rig) {
	a.Locks, a.r = r.deps.Locks, r
	r.deps.Locks = a
}

// NewMutex implements kapi.Locks.
func (a *audit) NewMutex(name string) kapi.Mutex {
	m := a.Locks.NewMutex(name)
	if name != "kprobe_mutex" {
		return m
	}
	a.mutex = audited{m, a.r}
	return &a.mutex
}

// Unlock implements kapi.Mutex.
func (m *audited) Unlock(x kapi.Context) {
	c, e := x.(*smp.Ctx), m.r.engine
	for i := range e.Points() {
		if addr, bits, detour, ok := e.StateOf(i); ok {
			c.Tell(kpev.State, addr, bits, detour)
		}
	}
	m.Mutex.Unlock(x)
}

// resetMonitors has the monitors, if there are any, begin a run: they are told which tasks
// want a CPU from the beginning, whose Wakes came before.
func (r *Rig) resetMonitors() {
	if r.monitors == nil {
		return
	}
	r.monitors.Reset()
	if r.linear != nil {
		r.linear.calls, r.linear.now = r.linear.calls[:0], 0
	}
	for _, t := range r.Machine.Tasks() {
		if t.OnQueue() && !t.Idle() {
			r.Log.Tell(smpev.Wake, uint8(t.CPUID()), traces.NoTask, uint64(t.ID), 0, 0)
		}
	}
}

// tellList tells the monitors what kprobes/list says, line by line.
func (r *Rig) tellList() {
	r.Log.Tell(kpev.Listed, 255, traces.NoTask, 0, 0, 0)
	r.audit.list = r.engine.List(r.audit.list[:0])
	old := uint64(0)
	if r.settings.Files == kprobes.FilesFirst {
		old = kpev.TagNone
	}
	for rest := r.audit.list; len(rest) > 0; {
		n := 0
		for rest[n] != '\n' {
			n++
		}
		addr, letter, tags := listed(rest[:n])
		r.Log.Tell(kpev.Listed, 255, traces.NoTask, addr, letter, tags|old)
		rest = rest[n+1:]
	}
}

// listed takes a line of kprobes/list apart: "ffffffff81000000  k  name+0x0    [DISABLED]".
func listed(line []byte) (addr, letter, tags uint64) {
	const digits, at = 16, 18 // of the address; where the letter is
	addr, _ = strconv.ParseUint(string(line[:digits]), 16, 64)
	letter = uint64(line[at])
	for i := at; i < len(line); i++ {
		if line[i] != '[' || i+1 == len(line) {
			continue
		}
		switch line[i+1] { // a module's name is in brackets, too, and in small letters
		case 'G':
			tags |= kpev.TagGone
		case 'D':
			tags |= kpev.TagDisabled
		case 'O':
			tags |= kpev.TagOptimized
		case 'F':
			tags |= kpev.TagFtrace
		}
	}
	return addr, letter, tags
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
