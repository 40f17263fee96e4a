package engine

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Guest is what Config.Settings is of an engine that is guest code: a kernel's own.
type Guest interface {
	SetRegs(g kapi.Guest)   // tasks have in their registers what its code expects
	Lost(sites bool) uint64 // by number, a bit each: registers that calls change; sites: there are sites of ftrace
	KeepsFlags() bool       // calls keep the flags that they end with
	SharesDirects() bool    // a function may have a direct call and a live patch
	Caller() arch.Addr      // its own trampoline of ftrace; 0: it has none
	HashesReturns() bool    // it finds a call's return in a table
	OwnText() []GuestText   // what of its text is watched as the scenario's is

	// User returns which probe's struct holds an address, and which of its members, "" for its beginning; booted is
	// what Row.Boot returned.
	User(booted any, a arch.Addr) (probe int, member string, ok bool)
	Symbol(a arch.Addr) (name string, off int, ok bool)
}

// A GuestText is text of an engine that is guest code.
type GuestText struct {
	Name string
	At   arch.Addr
	Code []byte
}

// An Order says which guest code a scenario wants as its engine.
type Order struct {
	Image   string // names it, as a trace does; "": the one that was given last
	Arch    uint8  // the processor, as target numbers it
	CPUs    int
	Mutant  string // a fault in it; "": none
	Clients bool   // ftrace's clients are its own
}
