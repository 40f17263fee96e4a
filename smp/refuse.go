package smp

import "kpsim/smp/arch"

// Fault returns the address that the last page fault of the CPU was about (CR2).
func (x *Ctx) Fault() arch.Addr { return arch.Addr(x.cpu.sys.CR2) }

// Refuse ends the run: what happened at a place is the input's fault, and what
// says which. The routine is to return.
func (x *Ctx) Refuse(place, what string) { x.m.refuseIn(x.cpu, place, what) }
