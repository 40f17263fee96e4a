package ctest

import (
	"slices"

	"kpsim/smp/lkmm"
)

// Sizes of a test.
const (
	MaxFile      = 1 << 20 // bytes
	MaxThreads   = 64
	MaxLocations = 256
	MaxCode      = 1024 // instructions a thread
	maxDepth     = 100  // of nested expressions and blocks
)

// A Test is a litmus test.
type Test struct {
	Name      string
	File      string
	Result    string // what a comment says after "Result:", as Never; "" if none does
	Races     bool   // and whether DATARACE follows
	Locations []Location
	Threads   []*Program
	Quantity  Quantity
	Prop      *Prop // nil if there is no condition
	Filter    *Prop // nil if there is none: states in which it doesn't hold don't count
}

// A Location is a shared variable. Its address is Address of its index.
type Location struct {
	Name  string
	Value int64 // initial
}

// A Quantity is what a condition asks of all final states.
type Quantity uint8

// The condition holds in one state, in none, in each.
const (
	Exists Quantity = iota
	NotExists
	ForAll
)

// Address is the value that a pointer to the location has.
func Address(location int) int64 { return int64(location+1) << 32 }

// Pointee is the location that an address is of.
func (t *Test) Pointee(address int64) (location int, ok bool) {
	location = int(address>>32) - 1
	return location, address&(1<<32-1) == 0 && location >= 0 && location < len(t.Locations)
}

// A Program is a thread's code.
type Program struct {
	Locals []string // names; those of temporaries are ""
	Inits  []int64
	Code   []Instr
	live   [][]bool // by instruction: locals that it or a later one uses

	ahead []ahead // by instruction: what it and later ones may do
}

// ahead is what a thread may still do to others.
type ahead struct {
	stores, changes locations
	domains         uint8 // of RCU, in which it may wait for readers
}

// locations is a set of them.
type locations struct {
	any bool // through a computed address
	set [MaxLocations / 64]uint64
}

func (l *locations) has(location int) bool { return l.any || l.set[location/64]>>(location%64)&1 != 0 }

func (l *locations) add(t *Test, addr *Expr) {
	if at, ok := t.Pointee(addr.N); ok && addr.Op == "" {
		l.set[at/64] |= 1 << (at % 64)
		return
	}
	l.any = true
}

// An Op is what an instruction does.
type Op uint8

// The operations. Set, Branch, Jump and Join concern the thread only.
const (
	Set Op = iota
	Branch
	Jump
	Join
	Load
	Store
	RMW
	Fence
	Lock
	Unlock
	TryLock
	ReadLock
	ReadUnlock
	Synchronize
	Done
)

// An Instr is an instruction.
type Instr struct {
	Op     Op
	Line   int
	Dst    int   // a local, or -1
	Addr   *Expr // of an access or lock
	Val    *Expr // stored, set, branched on, or a change's first operand
	Other  *Expr // a change's second operand
	Order  lkmm.Order
	Fence  lkmm.Fence
	Name   string // of a Fence: as the test has it
	Plain  bool   // of a Load and a Store: without READ_ONCE or WRITE_ONCE
	Change change
	Target int // of Branch, if Val is 0, and of Jump
	Domain int // of RCU sections: 0, or 1 to 7 for an srcu_struct
	late   bool
}

// An Expr is an expression over locals, without accesses.
type Expr struct {
	// "", "cookie" of the srcu_read_lock before, "local", "*" with one operand (not yet loaded), or
	// C's operator
	Op    string
	A, B  *Expr
	C     *Expr // of ?:
	N     int64
	Local int
}

// uses reports whether the expression uses a local.
func (e *Expr) uses(local int) bool {
	if e == nil {
		return false
	}
	return e.Op == "local" && e.Local == local || e.A.uses(local) || e.B.uses(local) || e.C.uses(local)
}

// Computes reports whether the instruction stores a value that may depend on what was loaded.
func (in *Instr) Computes() bool {
	return in.Op == RMW || in.Op == Store && in.Val.Op != ""
}

func (in *Instr) uses(local int) bool {
	return in.Addr.uses(local) || in.Val.uses(local) || in.Other.uses(local)
}

// finish computes what the interpreter wants to know of the code.
func (p *Program) finish(t *Test) {
	p.ahead = make([]ahead, len(p.Code)+1)
	for i := len(p.Code) - 1; i >= 0; i-- {
		p.ahead[i] = p.ahead[i+1]
		in := &p.Code[i]
		switch in.Op {
		case Store, Unlock:
			p.ahead[i].stores.add(t, in.Addr)
		case RMW, Lock, TryLock:
			p.ahead[i].stores.add(t, in.Addr)
			p.ahead[i].changes.add(t, in.Addr)
		case Synchronize:
			p.ahead[i].domains |= 1 << in.Domain
		}
	}
	p.live = make([][]bool, len(p.Code)+1)
	p.live[len(p.Code)] = make([]bool, len(p.Locals))
	for i := len(p.Code) - 1; i >= 0; i-- {
		p.live[i] = make([]bool, len(p.Locals))
		for l := range p.Locals {
			p.live[i][l] = p.live[i+1][l] || p.Code[i].uses(l)
		}
	}
	for i := range p.Code {
		if in := &p.Code[i]; in.Op == Load && in.Order == lkmm.Relaxed {
			in.late = p.mayBeLate(i)
		}
	}
}

// mayBeLate reports whether a store may come between a load and what needs it.
func (p *Program) mayBeLate(i int) bool {
	from := []int{p.Code[i].Dst} // locals that the load gives
	fenced := false
	for j := i + 1; j < len(p.Code); j++ {
		in := &p.Code[j]
		uses := slices.ContainsFunc(from, in.uses)
		if uses && in.Op == Set {
			from = append(from, in.Dst)
			continue
		}
		fenced = fenced || in.Op == Fence && in.Fence == lkmm.RMB
		if uses || fenced && in.reads() || in.Dst >= 0 && slices.Contains(from, in.Dst) || in.forces() {
			return false
		}
		if in.Op == Store || in.Op == RMW || in.Op == TryLock {
			return true
		}
	}
	return false
}

// forces reports whether loads before the instruction are performed before it.
func (in *Instr) forces() bool {
	switch in.Op {
	case Store:
		return in.Order == lkmm.Release
	case RMW:
		return in.Order == lkmm.Release || in.Order == lkmm.Full
	case Fence:
		return in.Fence == lkmm.MB
	case Lock, Unlock, Synchronize, Done:
		return true
	}
	return false
}

// reads reports whether an rmb is before the instruction.
func (in *Instr) reads() bool { return in.Op == Load || in.Op == RMW || in.Op == TryLock }
