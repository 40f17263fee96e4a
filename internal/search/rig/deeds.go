package rig

import (
	"kpsim/engine"
	"kpsim/engine/livepatch"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
	"kpsim/smp/kernel"
)

// A program is what operations are done on (act.Task).
var _ act.Task = (*program)(nil)

func (p *program) Kernel() *kernel.Kernel                 { return p.r.Kernel }
func (p *program) Engine() engine.Engine                  { return p.r.engine }
func (p *program) Clients() *act.Clients                  { return &p.r.Clients }
func (p *program) Func(name string) arch.Addr             { return p.r.funcs[name] }
func (p *program) Site(name string) arch.Addr             { return p.r.siteOf(name) }
func (p *program) Insn(op *scenario.Op) arch.Addr         { return p.r.breakpoint(op) }
func (p *program) Patch(op *scenario.Op) []livepatch.Func { return p.r.patchOf(op) }

// Module returns the module of that name.
func (p *program) Module(name string) *kernel.Module {
	for _, m := range p.r.modules {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Unrefused reports whether an operation that is to be refused wouldn't be: without probes
// nothing is in its way.
func (p *program) Unrefused(op *scenario.Op) bool { return p.r.twin && op.Checked && op.Returns != 0 }
