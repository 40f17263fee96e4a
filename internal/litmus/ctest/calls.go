package ctest

import (
	"cmp"
	"slices"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/smp/lkmm"
)

// A change is what a read-modify-write operation does with the value.
type change struct {
	kind    string // "add", "sub", "and", "or", "xor", "xchg", "cmpxchg", "unless"
	returns string // "old", "new", "zero", "negative", "done"; "" nothing
}

// Returns reports whether the operation returns a value.
func (c change) Returns() bool { return c.returns != "" }

// Reads reports whether the value that is stored depends on the one that was there.
func (c change) Reads() bool { return c.kind != "xchg" && c.kind != "cmpxchg" }

// Apply returns the new value, whether there is one, and the operation's own.
func (c change) Apply(old, a, b int64) (v int64, ok bool, result int64) {
	v, ok = old, true
	switch c.kind {
	case "add":
		v = old + a
	case "sub":
		v = old - a
	case "and":
		v = old & a
	case "or":
		v = old | a
	case "xor":
		v = old ^ a
	case "xchg":
		v = a
	case "cmpxchg":
		ok = old == a
		v = b
	case "unless":
		ok = old != b
		v = old + a
	}
	switch c.returns {
	case "old":
		result = old
	case "new":
		result = v
	case "zero":
		result = truth(v == 0)
	case "negative":
		result = truth(v < 0)
	case "done":
		result = truth(ok)
	}
	return v, ok, result
}

// Forced is the value that the operation would store if it was done whatever was there.
func (c change) Forced(old, a, b int64) int64 {
	switch c.kind {
	case "cmpxchg":
		return b
	case "unless":
		return old + a
	}
	v, _, _ := c.Apply(old, a, b)
	return v
}

// fences are calls without operands that are barriers, or nothing.
var fences = []struct {
	name  string
	fence lkmm.Fence
}{
	{"smp_mb", lkmm.MB}, {"smp_rmb", lkmm.RMB}, {"smp_wmb", lkmm.WMB}, {"mb", lkmm.MB}, {"rmb", lkmm.RMB},
	{"wmb", lkmm.WMB},
	{"smp_mb__before_atomic", lkmm.MB}, {"smp_mb__after_atomic", lkmm.MB}, {"smp_mb__after_spinlock", lkmm.MB},
	{"smp_mb__after_unlock_lock", lkmm.MB},
}

// call reads the arguments of a function and emits what it does.
func (p *parser) call(name string, at place) *Expr {
	p.expect("(")
	var args []*Expr
	for !p.take(")") {
		e := p.expression()
		if !(len(args) == 0 && takesPlace(name)) {
			e = p.value(e)
		}
		args = append(args, e)
		if p.word != ")" {
			p.expect(",")
		}
	}
	p.emitAt(at, name, args)
	if n := len(p.prog.Code); n > 0 && p.prog.Code[n-1].Dst >= 0 {
		return &Expr{Op: "local", Local: p.prog.Code[n-1].Dst}
	}
	return &Expr{}
}

// takesPlace names what takes *x, not x.
func takesPlace(name string) bool {
	return slices.Contains([]string{"READ_ONCE", "WRITE_ONCE", "ACCESS_ONCE", "rcu_dereference", "rcu_assign_pointer",
		"smp_store_mb", "set_mb", "lockless_dereference"}, name)
}

// emitAt emits a call.
func (p *parser) emitAt(at place, name string, args []*Expr) {
	want := func(n int) {
		if len(args) != n {
			p.fail("%s has %d arguments here; it takes %d", name, len(args), n)
		}
	}
	place := func() *Expr { // what READ_ONCE(*x) is about
		if args[0].Op != "*" {
			p.fail("%s is of a place in memory; give it one, as *x", name)
		}
		return args[0].A
	}
	load := func(addr *Expr, o lkmm.Order) { p.emit(Instr{Op: Load, Dst: p.temporary(), Addr: addr, Order: o}) }
	store := func(addr, v *Expr, o lkmm.Order) {
		p.emit(Instr{Op: Store, Dst: -1, Addr: addr, Val: v, Order: o})
	}
	plain := strings.TrimPrefix(name, "raw_")
	for _, f := range fences {
		if f.name == name {
			want(0)
			p.emit(Instr{Op: Fence, Dst: -1, Fence: f.fence, Name: name})
			return
		}
	}
	switch {
	case slices.Contains([]string{"barrier", "smp_read_barrier_depends", "cpu_relax"}, name):
		want(0)
	case slices.Contains([]string{"READ_ONCE", "ACCESS_ONCE", "rcu_dereference", "lockless_dereference"}, name):
		want(1)
		load(place(), lkmm.Relaxed)
	case name == "smp_load_acquire" || name == "atomic_read_acquire":
		want(1)
		load(args[0], lkmm.Acquire)
	case name == "atomic_read":
		want(1)
		load(args[0], lkmm.Relaxed)
	case name == "WRITE_ONCE":
		want(2)
		store(place(), args[1], lkmm.Relaxed)
	case name == "rcu_assign_pointer":
		want(2)
		store(place(), args[1], lkmm.Release)
	case name == "smp_store_release" || name == "atomic_set_release":
		want(2)
		store(args[0], args[1], lkmm.Release)
	case name == "atomic_set":
		want(2)
		store(args[0], args[1], lkmm.Relaxed)
	case name == "smp_store_mb" || name == "set_mb":
		want(2)
		store(place(), args[1], lkmm.Relaxed)
		p.emit(Instr{Op: Fence, Dst: -1, Name: "smp_mb"})
	case strings.HasPrefix(plain, "spin_"):
		want(1)
		p.lock(plain, args[0])
	case name == "smp_mb__after_srcu_read_unlock": // a barrier with the unlock only
		want(0)
		if slices.ContainsFunc(p.prog.Code, func(in Instr) bool { return in.Op == ReadUnlock && in.Domain > 0 }) {
			p.emit(Instr{Op: Fence, Dst: -1, Name: name})
		}
	case strings.Contains(name, "rcu"):
		p.rcu(name, args)
	default:
		p.atomic(at, name, args)
	}
}

func (p *parser) lock(name string, lock *Expr) {
	switch name {
	case "spin_lock":
		p.emit(Instr{Op: Lock, Dst: -1, Addr: lock})
	case "spin_unlock":
		p.emit(Instr{Op: Unlock, Dst: -1, Addr: lock})
	case "spin_trylock":
		p.emit(Instr{Op: TryLock, Dst: p.temporary(), Addr: lock})
	case "spin_is_locked":
		p.emit(Instr{Op: Load, Dst: p.temporary(), Addr: lock})
	case "spin_unlock_wait":
		p.emit(Instr{Op: Lock, Dst: -1, Addr: lock})
		p.emit(Instr{Op: Unlock, Dst: -1, Addr: lock})
	default:
		p.uncovered(name)
	}
}

func (p *parser) rcu(name string, args []*Expr) {
	op := Instr{Dst: -1}
	switch strings.TrimSuffix(strings.ReplaceAll(name, "srcu", "rcu"), "_expedited") {
	case "rcu_read_lock":
		op.Op = ReadLock
	case "rcu_read_unlock":
		op.Op = ReadUnlock
	case "synchronize_rcu":
		op.Op = Synchronize
	default:
		p.uncovered(name)
	}
	n := 0
	if strings.Contains(name, "srcu") {
		if n = 1; op.Op == ReadUnlock {
			n = 2
		}
	}
	if len(args) != n {
		p.fail("%s has %d arguments here; it takes %d", name, len(args), n)
	}
	if n > 0 {
		op.Domain = p.domain(args[0])
	}
	if n > 1 {
		op.Val = args[1]
	}
	p.emit(op)
	if op.Op == ReadLock && n > 0 { // srcu_read_lock returns an index
		p.emit(Instr{Op: Set, Dst: p.temporary(), Val: &Expr{Op: "cookie"}})
	}
}

// domain numbers the srcu_structs.
func (p *parser) domain(e *Expr) int {
	location, ok := p.test.Pointee(e.N)
	if e.Op != "" || !ok {
		p.fail("an srcu_struct is computed; name a parameter, as &ss")
	}
	i := slices.Index(p.domains, location)
	if i < 0 {
		i = len(p.domains)
		p.domains = append(p.domains, location)
	}
	if i+1 >= lkmm.Domains {
		p.fail("more than %d srcu_structs; name fewer", lkmm.Domains-1)
	}
	return i + 1
}

// suffixes say an operation's order.
var suffixes = []struct {
	suffix string
	order  lkmm.Order
}{{"_relaxed", lkmm.Relaxed}, {"_acquire", lkmm.Acquire}, {"_release", lkmm.Release}}

// changes are the read-modify-write operations, by what is left of their names without
// atomic_ and the suffix; order says which operand is the place, -1 for a constant 1.
var changes = []struct {
	name   string
	change change
	args   string // "p" the place, "a" and "b" the operands
	one    bool   // the first operand is 1
}{
	{"xchg", change{"xchg", "old"}, "pa", false},
	{"cmpxchg", change{"cmpxchg", "old"}, "pab", false},
	{"add_unless", change{"unless", "done"}, "pab", false},
	{"inc_not_zero", change{"unless", "done"}, "p", true},
	{"inc_and_test", change{"add", "zero"}, "p", true},
	{"dec_and_test", change{"sub", "zero"}, "p", true},
	{"sub_and_test", change{"sub", "zero"}, "ap", false},
	{"add_and_test", change{"add", "zero"}, "ap", false},
	{"add_negative", change{"add", "negative"}, "ap", false},
}

// atomic emits a read-modify-write operation, or says that the function is unknown.
func (p *parser) atomic(at place, name string, args []*Expr) {
	order, base := lkmm.Full, strings.TrimPrefix(name, "atomic_")
	for _, s := range suffixes {
		if b, ok := strings.CutSuffix(base, s.suffix); ok {
			base, order = b, s.order
		}
	}
	form, c, one := "", change{}, false
	for _, k := range changes {
		if k.name == base && (strings.HasPrefix(name, "atomic_") || strings.HasSuffix(base, "xchg")) {
			form, c, one = k.args, k.change, k.one
		}
	}
	if form == "" && strings.HasPrefix(name, "atomic_") {
		verb := base
		var fetch, returns bool
		verb, fetch = strings.CutPrefix(verb, "fetch_")
		verb, returns = strings.CutSuffix(verb, "_return")
		c.kind, form = verb, "ap"
		switch verb {
		case "inc", "dec":
			c.kind, form, one = map[string]string{"inc": "add", "dec": "sub"}[verb], "p", true
		case "add", "sub", "and", "or", "xor":
		default:
			form = ""
		}
		switch {
		case fetch && !returns:
			c.returns = "old"
		case returns && !fetch && (c.kind == "add" || c.kind == "sub"):
			c.returns = "new"
		case !fetch && !returns && base == strings.TrimPrefix(name, "atomic_"):
			order = lkmm.Relaxed
		default:
			form = ""
		}
	}
	if form == "" {
		p.at = at
		p.uncovered(name)
	}
	if len(args) != len(form) {
		p.fail("%s has %d arguments here; it takes %d", name, len(args), len(form))
	}
	in := Instr{Op: RMW, Dst: -1, Order: order, Change: c, Val: &Expr{}, Other: &Expr{}}
	if one {
		in.Val = &Expr{N: 1}
	}
	for i, role := range form {
		switch role {
		case 'p':
			in.Addr = args[i]
		case 'a':
			in.Val = args[i]
		case 'b':
			in.Other = args[i]
		}
	}
	if c.returns != "" {
		in.Dst = p.temporary()
	}
	p.emit(in)
}

// calls are the functions that uncovered suggests for a word that looks like one.
var calls = []string{
	"READ_ONCE", "WRITE_ONCE", "smp_load_acquire", "smp_store_release", "smp_mb", "smp_rmb", "smp_wmb",
	"rcu_assign_pointer", "rcu_dereference", "rcu_read_lock", "rcu_read_unlock", "synchronize_rcu", "spin_lock",
	"spin_unlock", "xchg", "cmpxchg",
}

// uncovered fails at a function that isn't known.
func (p *parser) uncovered(name string) {
	p.fail("%s isn't covered; %s", name, cmp.Or(nearest.DidYouMean(name, calls), "kpsim litmus --help lists what is"))
}
