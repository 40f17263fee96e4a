// Package toy is an engine of one byte: a probe is a breakpoint on a nop, and a hit
// skips it. It forgets a probe before the other CPUs have stopped meeting its
// breakpoint, which is the race to be found.
package toy

import (
	"kpsim/engine"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

const owner, synced, einval = 40, 40, 22 // kpsim has the small numbers

func init() {
	smpev.Owners.Define(owner, "toy")
	smpev.Whys.Define(synced, "toy: breakpoint written")
}

// Row is the toy in the list of engines.
var Row = engine.Row{
	Name: "toy", Says: "a breakpoint on a nop",
	Kinds: []engine.Kind{engine.Kprobe}, Verbs: []uint64{kpev.Register, kpev.Unregister}, Handlers: []uint64{kpev.Pre},
	New: func(c *engine.Config) engine.Engine {
		t := new(toy)
		t.onBreak = t.breakpoint
		t.Renew(c)
		return t
	},
}

type toy struct {
	engine.Plain
	c       *engine.Config
	onBreak kapi.TrapHandler
	armed   []kapi.Var[bool]
}

// Renew implements engine.Engine.
func (t *toy) Renew(c *engine.Config) {
	t.c, t.armed = c, append(t.armed[:0], make([]kapi.Var[bool], len(c.Probes))...)
	for i := range t.armed {
		t.armed[i].Init(c.Deps.Cells, false)
	}
	c.Deps.Traps.OnBreakpoint(t.onBreak)
}

// Do implements engine.Engine.
func (t *toy) Do(x kapi.Context, verb uint64, i int) (errno uint64) {
	d, at, b := &t.c.Deps, t.c.Probes[i].Addr, [1]byte{}
	d.Text.Mutex().Lock(x)
	d.Text.Read(x, at, b[:])
	switch {
	case verb == kpev.Register && b[0] == 0x90:
		t.armed[i].WriteOnce(x, true)
		d.Text.Poke(x, at, []byte{0xcc})
		d.Sync.Core(x, synced)
	case verb == kpev.Unregister && t.armed[i].Peek():
		d.Text.Poke(x, at, []byte{0x90})
		t.armed[i].WriteOnce(x, false) // too early: a CPU may be on its way to the handler
		d.Sync.Core(x, synced)
	default:
		errno = einval
	}
	d.Text.Mutex().Unlock(x)
	return errno
}

func (t *toy) breakpoint(x kapi.Context, regs *arch.Regs) uint64 {
	for i := range t.armed {
		if at := t.c.Probes[i].Addr; regs.IP == at+1 && t.armed[i].ReadOnce(x) {
			t.c.Handle(x, engine.Hit{Probe: i, Which: kpev.Pre, At: at, Regs: regs})
			return owner
		}
	}
	return 0
}

// Status implements engine.Engine.
func (t *toy) Status(i int) engine.Status {
	return engine.Status{Addr: t.c.Probes[i].Addr, Registered: t.armed[i].Peek()}
}

// State implements engine.Engine.
func (t *toy) State(add func(root any)) { add(&t.armed) }
