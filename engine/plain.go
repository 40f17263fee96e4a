package engine

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// Plain is embedded by an engine without arrays, switches, files and background work. It implements the methods of
// Engine except Renew, Do, Status and State.
type Plain struct{ _ struct{} }

// own is what Plain leaves to an engine.
type own interface {
	Renew(c *Config)
	Do(x kapi.Context, verb uint64, probe int) (errno uint64)
	Status(probe int) Status
	State(add func(root any))
}

var _ Engine = struct {
	Plain
	own
}{}

// ReadMissed implements Engine: no hit is missed.
func (Plain) ReadMissed(kapi.Context, int) int { return 0 }

// Add implements Engine: a probe can't be added.
func (Plain) Add(Probe) { panic("engine: this engine takes no probe in the midst of a run") }

// Prepare implements Engine.
func (Plain) Prepare(uint64, int) (at arch.Addr, moved bool) { return 0, false }

// DoAll implements Engine: ENOSYS.
func (Plain) DoAll(kapi.Context, uint64, []int) uint64 { return 38 }

// Set implements Engine.
func (Plain) Set(kapi.Context, Switch, bool) {}

// Wait implements Engine.
func (Plain) Wait(kapi.Context) {}

// Settled implements Engine.
func (Plain) Settled() bool { return true }

// Switched implements Engine.
func (Plain) Switched(Switch) bool { return true }

// Own implements Engine.
func (Plain) Own() (name string, at arch.Addr, code []byte) { return "", 0, nil }

// Trampoline implements Engine.
func (Plain) Trampoline() arch.Addr { return 0 }

// Files implements Engine.
func (Plain) Files() []File { return nil }

// Claim implements Engine.
func (Plain) Claim(func(k traces.Kind, a, b, c uint64)) {}

// CellName implements Engine.
func (Plain) CellName(kapi.CellID) string { return "" }
