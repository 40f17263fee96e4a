package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/traces"
)

// The possible states of a probe's registration.
const (
	regNo    uint8 = iota // never registered, or its unregister has returned
	regMaybe              // a call that changes it is in progress, or two overlapped
	regYes                // register has returned 0
)

// A probe is the state of a probe, known from its API calls.
type probe struct {
	id, addr uint64
	reg      uint8
	own      bool // certainly enabled: register or enable returned 0, and no disable or unregister has begun
	sure     bool // and so certainly armed: no task has written 0 to kprobes/enabled either
	lost     bool // its module's text has gone, since it was registered or while it was: it is never armed again
	// certainly disabled: disable, or register of a disabled probe, returned 0, and no other call but
	// disable has begun
	down bool

	regs, unregs, downs                uint32 // calls in progress: register, unregister, disable or unregister
	regsBegun, unregsBegun, downsBegun uint32 // calls begun so far
	moves                              uint32 // register and unregister: begun or returned
	others, othersBegun                uint32 // all calls but disable: in progress, and begun so far
}

// A call of the API that hasn't returned.
type call struct {
	task       uint8
	was        uint8 // the registration when it began
	alone      bool  // no opposite call was in progress
	up         bool  // no disable or unregister was in progress
	lone       bool  // so far, see ended
	api, probe uint64
	mark       uint32 // of the opposite calls
	downs      uint32
	moves      uint32
	others     uint32
}

// probes follows the API calls of a run, from the rig's own events. Calls of
// several tasks may overlap. Facts that can't be known then are left open, so that no
// monitor claims more than the callers could.
type probes struct {
	list  []probe
	calls []call
	kinds []kindOf // of probes other than plain kprobes

	last ended // from the last ApiReturn

	file enabledFile
}

// An enabledFile is the knowledge about kprobes/enabled.
type enabledFile struct {
	off    bool      // it may be 0
	busy   uint32    // writes in progress
	wrote  [2]bool   // among these and the ones that they overlapped: is one of them of 0, is one of 1
	prints kpev.Line // the last line that one of these printed about the switch; 0: none
	failed []uint64  // addresses that one of these may have failed to arm, by the lines before that one
	vain   []uint64  // addresses that the last write of 1 may have failed to arm, by the kernel's line
}

// ended is the knowledge about a call that has returned.
type ended struct {
	was  uint8 // the registration when it began
	lone bool  // no other call for its probe overlapped it, nor one of its own task, as in an array
}

// A kindOf is what the head of the log says about a probe.
type kindOf struct{ probe, kind, about uint64 }

// The facts that Kind reports about a probe.
const (
	aboutDisabled = kpev.IsDisabled
	aboutEntry    = kpev.HasEntry
	aboutPost     = kpev.HasPost
	aboutPath     = kpev.ChangesPath
)

func (ps *probes) reset() {
	ps.list, ps.calls, ps.kinds = ps.list[:0], ps.calls[:0], ps.kinds[:0]
	f := &ps.file
	ps.last, ps.file = ended{}, enabledFile{failed: f.failed[:0], vain: f.vain[:0]}
}

// kind returns what the head says about a probe, the zero value for a plain kprobe.
func (ps *probes) kind(id uint64) kindOf {
	for _, k := range ps.kinds {
		if k.probe == id {
			return k
		}
	}
	return kindOf{}
}

// enabled handles a write of kprobes/enabled. From the beginning of a write of 0
// nothing is certainly armed, until a write of 1 returns that overlaps none of 0. Where
// writes of both values overlap, the order of their returns says nothing: the one that
// took the engine's mutex last decides. That is the one whose line the kernel printed
// last, because it prints with the mutex held; it is known when all have returned. If
// none has printed anything, which would be wrong, it stays open.
func (ps *probes) enabled(e *traces.Event) {
	w := &ps.file
	switch {
	case e.B == 0:
		if w.busy == 0 {
			w.wrote, w.prints, w.failed = [2]bool{}, 0, w.failed[:0]
		}
		w.busy++
		w.wrote[e.A&1] = true
		w.off = w.off || e.A == 0
	case w.busy > 0:
		if w.busy--; !w.wrote[0] {
			w.off = false
		} else if w.busy == 0 && w.wrote[1] {
			_, on := w.prints.Switched()
			w.off = !on
		}
	}
	for i := range ps.list {
		p := &ps.list[i]
		p.sure = p.own && ps.arms(p.addr)
	}
}

// arms reports whether what is enabled at an address is armed: kprobes/enabled is 1, and no
// write of it has said that it failed there.
func (ps *probes) arms(addr uint64) bool {
	return !ps.file.off && !slices.Contains(ps.file.vain, addr)
}

// printed handles a line of the kernel's log. Where a write of 1 fails for some probes, these stay enabled but not
// armed, until a write fails for none: to enable such a probe once more does nothing. Only ftrace refuses to arm. A
// line that doesn't name its probes may be about each that is, or may be, registered at one of ftrace's sites.
func (ps *probes) printed(e *traces.Event, proc *processor, sites images) {
	w, line := &ps.file, kpev.Line(e.A)
	if w.busy == 0 {
		return
	}
	if line.Failed() {
		for i := range ps.list {
			p := &ps.list[i]
			about := line&^kpev.Prefixed != kpev.LineFtraceArm || p.addr == e.B
			if about && p.reg != regNo && sites.calls(proc, p.addr) {
				w.failed = insert(w.failed, p.addr)
			}
		}
	}
	if aboutSwitch(e) {
		if w.prints = line &^ kpev.Prefixed; w.prints == kpev.LineArmed || line.Failed() {
			w.vain = append(w.vain[:0], w.failed...)
		}
		w.failed = w.failed[:0]
	}
}

// insert puts a number into a list, in order, unless it is there.
func insert(list []uint64, n uint64) []uint64 {
	i, there := slices.BinarySearch(list, n)
	if there {
		return list
	}
	return slices.Insert(list, i, n)
}

// aboutSwitch reports whether a line is about switching by kprobes/enabled.
func aboutSwitch(e *traces.Event) bool {
	s, _ := kpev.Line(e.A).Switched()
	return s == kpev.EnabledFile
}

// index returns the index of a probe in the list, or -1.
func (ps *probes) index(id uint64) int {
	for i := range ps.list {
		if ps.list[i].id == id {
			return i
		}
	}
	return -1
}

// none reports whether there is certainly no registered probe.
func (ps *probes) none() bool {
	for i := range ps.list {
		if ps.list[i].reg != regNo {
			return false
		}
	}
	return true
}

// at reports whether a probe is, or may be, registered at addr.
func (ps *probes) at(addr uint64) bool {
	for i := range ps.list {
		if p := &ps.list[i]; p.addr == addr && p.reg != regNo {
			return true
		}
	}
	return false
}

// event handles ApiEnter and ApiReturn and ignores other kinds. It returns the index of
// the probe, or -1 for a return without a call.
func (ps *probes) event(e *traces.Event) int {
	switch e.Kind {
	case kpev.ApiEnter:
		return ps.enter(e)
	case kpev.ApiReturn:
		return ps.leave(e)
	}
	return -1
}

// freed records that a module's text is unloaded: its probes are never armed again.
func (ps *probes) freed(addr, size uint64) {
	for i := range ps.list {
		if p := &ps.list[i]; p.addr-addr < size {
			p.own, p.sure, p.lost = false, false, true
			p.downsBegun++ // nor is one whose register hasn't returned yet
		}
	}
}

func (ps *probes) enter(e *traces.Event) int {
	i := ps.index(e.B)
	if i < 0 {
		i = len(ps.list)
		ps.list = append(ps.list, probe{id: e.B, addr: e.C})
	}
	p := &ps.list[i]
	if p.reg == regNo && e.A == kpev.Register {
		p.addr, p.lost = e.C, false
	}
	c := call{task: e.Task, api: e.A, probe: e.B, was: p.reg, up: p.downs == 0, downs: p.downsBegun}
	switch e.A {
	case kpev.Register:
		c.alone, c.mark = p.unregs == 0, p.unregsBegun
		p.regs++
		p.regsBegun++
		p.moves++
		p.reg = regMaybe
	case kpev.Unregister:
		c.alone, c.mark = p.regs == 0, p.regsBegun
		p.unregs++
		p.unregsBegun++
		p.moves++
		p.reg = regMaybe
	}
	if e.A == kpev.Unregister || e.A == kpev.Disable {
		p.downs++
		p.downsBegun++
		p.own, p.sure = false, false
	}
	if e.A != kpev.Disable {
		p.others++
		p.othersBegun++
		p.down = false
	}
	c.moves, c.others = p.moves, p.othersBegun
	c.lone = true
	for k := range ps.calls {
		if o := &ps.calls[k]; o.probe == e.B || o.task == e.Task {
			o.lone, c.lone = false, false
		}
	}
	ps.calls = append(ps.calls, c)
	return i
}

func (ps *probes) leave(e *traces.Event) int {
	at := len(ps.calls) - 1
	for ; at >= 0; at-- {
		if c := &ps.calls[at]; c.task == e.Task && c.api == e.A && c.probe == e.B {
			break
		}
	}
	i := ps.index(e.B)
	if at < 0 || i < 0 {
		return -1
	}
	c := ps.calls[at]
	ps.calls = append(ps.calls[:at], ps.calls[at+1:]...)
	p, ok := &ps.list[i], e.C == 0
	ps.last = ended{c.was, c.lone}

	switch e.A {
	case kpev.Register:
		p.regs--
		switch {
		case ok && c.alone && p.unregsBegun == c.mark:
			p.reg = regYes
		case !ok && p.moves == c.moves:
			p.reg = c.was
		}
		p.moves++
	case kpev.Unregister:
		p.unregs--
		switch {
		case ok && c.alone && p.regsBegun == c.mark && p.unregs == 0:
			p.reg = regNo
		case !ok && p.moves == c.moves:
			p.reg = c.was
		}
		p.moves++
	}
	if e.A != kpev.Disable {
		p.others--
	}
	if e.A == kpev.Disable || e.A == kpev.Register && ps.kind(e.B).about&aboutDisabled != 0 {
		p.down = p.down || ok && p.others == 0 && c.others == p.othersBegun
	}
	switch e.A {
	case kpev.Unregister, kpev.Disable:
		p.downs--
	case kpev.Register, kpev.Enable:
		if e.A == kpev.Register && ps.kind(e.B).about&aboutDisabled != 0 {
			break // it is disabled until it is enabled
		}
		if ok && c.up && p.downsBegun == c.downs && !p.lost {
			p.own, p.sure = true, ps.arms(p.addr)
		}
	}
	return i
}
