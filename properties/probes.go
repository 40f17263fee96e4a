package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/traces"
)

// What is known of a probe's registration.
const (
	regNo    uint8 = iota // never registered, or its unregister has returned
	regMaybe              // a call that changes it is under way, or two overlapped
	regYes                // register has returned 0
)

// A probe is what its API calls tell of it.
type probe struct {
	id, addr uint64
	reg      uint8
	sure     bool // enabled for certain: register or enable returned 0, and no disable or unregister has begun

	regs, unregs, downs                uint32 // calls under way: register, unregister, disable or unregister
	regsBegun, unregsBegun, downsBegun uint32 // calls ever begun
	moves                              uint32 // register and unregister: begun or returned
}

// A call of the API that hasn't returned.
type call struct {
	task       uint8
	was        uint8 // the registration when it began
	alone      bool  // no call to the contrary was under way
	up         bool  // no disable or unregister was
	api, probe uint64
	mark       uint32 // of the calls to the contrary
	downs      uint32
	moves      uint32
}

// probes follows the API calls of a run, from the harness's own events. Calls
// of several tasks may overlap: then what can't be known is left open, so that
// no monitor claims more than the callers could.
type probes struct {
	list  []probe
	calls []call
}

func (ps *probes) reset() { ps.list, ps.calls = ps.list[:0], ps.calls[:0] }

// index returns the place of a probe in the list, or -1.
func (ps *probes) index(id uint64) int {
	for i := range ps.list {
		if ps.list[i].id == id {
			return i
		}
	}
	return -1
}

// none reports whether certainly no probe is registered.
func (ps *probes) none() bool {
	for i := range ps.list {
		if ps.list[i].reg != regNo {
			return false
		}
	}
	return true
}

// at reports whether a probe is registered at addr, or may be.
func (ps *probes) at(addr uint64) bool {
	for i := range ps.list {
		if p := &ps.list[i]; p.addr == addr && p.reg != regNo {
			return true
		}
	}
	return false
}

// event takes ApiEnter and ApiReturn; other kinds it leaves alone. It returns
// the place of the probe, or -1 for a return without a call.
func (ps *probes) event(e *traces.Event) int {
	switch e.Kind {
	case kpev.ApiEnter:
		return ps.enter(e)
	case kpev.ApiReturn:
		return ps.leave(e)
	}
	return -1
}

func (ps *probes) enter(e *traces.Event) int {
	i := ps.index(e.B)
	if i < 0 {
		i = len(ps.list)
		ps.list = append(ps.list, probe{id: e.B, addr: e.C})
	}
	p := &ps.list[i]
	if p.reg == regNo && e.A == kpev.Register {
		p.addr = e.C
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
		p.sure = false
	}
	c.moves = p.moves
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
	switch e.A {
	case kpev.Unregister, kpev.Disable:
		p.downs--
	case kpev.Register, kpev.Enable:
		if ok && c.up && p.downsBegun == c.downs {
			p.sure = true
		}
	}
	return i
}
