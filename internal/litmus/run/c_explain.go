package run

import (
	"fmt"
	"strings"

	"kpsim/internal/litmus/ctest"
	"kpsim/smp"
	"kpsim/smp/lkmm"
)

// A caption describes a thread's step.
type caption struct {
	next   string // the instruction that the thread is about to do
	prefix string // what it does before, without a point
	note   string // of its last access
}

// opNames are verbs of the kernel's for what instructions do.
var opNames = map[ctest.Op]string{
	ctest.Load: "read", ctest.Store: "write", ctest.RMW: "atomic", ctest.Lock: "spin_lock", ctest.Unlock: "spin_unlock",
	ctest.TryLock: "spin_trylock", ctest.ReadLock: "rcu_read_lock", ctest.ReadUnlock: "rcu_read_unlock",
	ctest.Synchronize: "synchronize_rcu",
}

var fenceNames = [...]string{lkmm.MB: "smp_mb", lkmm.RMB: "smp_rmb", lkmm.WMB: "smp_wmb"}

// tell notes what a thread is about to do.
func (c *C) tell(n int, op ctest.Op, at int) {
	t := &c.captions[n]
	what := opNames[op]
	switch op {
	case ctest.Fence:
		what = fenceNames[at]
		if lkmm.Fence(at) != lkmm.MB {
			t.prefix += what + "; "
			return
		}
	case ctest.ReadLock, ctest.ReadUnlock, ctest.Synchronize:
		if at > 0 {
			what = strings.Replace(what, "rcu", "srcu", 1)
		}
	default:
		what += " " + c.t.Locations[at].Name
	}
	t.next, t.prefix = t.prefix+what, ""
}

// remark notes that an access didn't meet the newest value.
func (c *C) remark(n int, format string, args ...any) {
	if c.explains {
		c.captions[n].note = fmt.Sprintf(format, args...)
	}
}

// Next implements Explainable.
func (c *C) Next(_ *smp.Machine, cpu int) Instr {
	i := Instr{Text: c.captions[cpu].next, Stores: c.memory == TSO && strings.Contains(c.captions[cpu].next, "write ")}
	c.captions[cpu].next = ""
	return i
}

// Note implements Explainable.
func (c *C) Note(cpu int) string {
	s := c.captions[cpu].note
	c.captions[cpu].note = ""
	return s
}

// Values implements Explainable.
func (c *C) Values(*smp.Machine) []Value {
	c.explains = true
	var all []Value
	for i, t := range c.threads {
		for l, name := range c.t.Threads[i].Locals {
			if name != "" {
				all = append(all, Value{fmt.Sprintf("%d:%s", i, name), c.show(t.Values[l])})
			}
		}
	}
	for i := range c.cells {
		all = append(all, Value{"[" + c.t.Locations[i].Name + "]", c.show(c.cells[i].Peek())})
	}
	return all
}

// show writes a value; one that is an address by the location's name.
func (c *C) show(v int64) string {
	if at, ok := c.t.Pointee(v); ok {
		return c.t.Locations[at].Name
	}
	return fmt.Sprint(v)
}

// PropText writes a proposition as herd7 does.
func (c *C) PropText() string { return c.propText(c.t.Prop) }

func (c *C) propText(p *ctest.Prop) string {
	switch p.Op {
	case "true", "false":
		return p.Op
	case "~":
		return "not (" + c.propText(p.Args[0]) + ")"
	case "=", "!=":
		op := map[string]string{"=": "=", "!=": "<>"}[p.Op]
		return c.refName(p) + op + c.show(p.Value)
	}
	parts := make([]string, len(p.Args))
	for i, a := range p.Args {
		if parts[i] = c.propText(a); a.Op != p.Op && len(a.Args) > 1 {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, " "+p.Op+" ")
}

func (c *C) refName(p *ctest.Prop) string {
	if p.Thread >= 0 {
		return fmt.Sprintf("%d:%s", p.Thread, c.t.Threads[p.Thread].Locals[p.Local])
	}
	return "[" + c.t.Locations[p.Location].Name + "]"
}
