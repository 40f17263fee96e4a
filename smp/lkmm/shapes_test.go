package lkmm_test

import (
	"fmt"
	"strings"
	"testing"

	"kpsim/sim"
	"kpsim/smp/lkmm"
)

// A shape is a litmus test on one line: CPUs between bars, then what to look for.
//
//	Wx1  WRITE_ONCE     Wx1.rel  smp_store_release   Wx1.dep  depends on the loads before it
//	Rx   READ_ONCE      Rx.acq   smp_load_acquire    Rx.dep   its address does
//	Ux1  xchg           Ux1.acq, .rel, .rlx          Fx       a cmpxchg that fails
//	mb rmb wmb, lock unlock, rl ru (a section), gp, ipi0 take
//
// The outcome is the values read, CPU by CPU, and the last values of cells.
type shape struct {
	name, program, outcome string
	seen                   bool
}

var shapes = []shape{
	{"SB", "Wx1 Ry | Wy1 Rx", "0 | 0", true},
	{"SB+mbs", "Wx1 mb Ry | Wy1 mb Rx", "0 | 0", false},
	{"SB+mb+po", "Wx1 mb Ry | Wy1 Rx", "0 | 0", true},
	{"SB+rel+acq", "Wx1.rel Ry.acq | Wy1.rel Rx.acq", "0 | 0", true},
	{"SB+xchgs", "Ux1 Ry | Uy1 Rx", "0 0 | 0 0", false},
	{"SB+xchg-acquires", "Ux1.acq Ry | Uy1.acq Rx", "0 0 | 0 0", true},
	{"SB+failed", "Wx1 Fz Ry | Wy1 Fz Rx", "0 0 | 0 0", true},
	{"MP", "Wx1 Wy1 | Ry Rx", "| 1 0", true},
	{"MP+wmb+po", "Wx1 wmb Wy1 | Ry Rx", "| 1 0", true},
	{"MP+po+rmb", "Wx1 Wy1 | Ry rmb Rx", "| 1 0", true},
	{"MP+wmb+rmb", "Wx1 wmb Wy1 | Ry rmb Rx", "| 1 0", false},
	{"MP+rel+acq", "Wx1 Wy1.rel | Ry.acq Rx", "| 1 0", false},
	{"MP+rel+po", "Wx1 Wy1.rel | Ry Rx", "| 1 0", true},
	{"MP+rel+addr", "Wx1 Wy1.rel | Ry Rx.dep", "| 1 0", false},
	{"MP+wmb+addr", "Wx1 wmb Wy1 | Ry Rx.dep", "| 1 0", false},
	{"MP+rel+rmw+acq", "Wx1 Wy1.rel | Uy2.rlx | Ry.acq Rx", "| 1 | 2 0", false},
	{"MP+lock", "lock Wx1 unlock lock Wy1 unlock | Ry.acq Rx", "| 1 0", false},
	{"MP+unlocked", "Wx1 lock Wy1 unlock | Ry.acq Rx", "| 1 0", true},
	{"MP+ipi", "Wx1 ipi1 | take Rx", "| 0", true}, // it may have come before
	{"MP+ipi+seen", "Wx1 ipi1 Wy1.rel | Ry take Rx", "| 1 0", false},
	{"S", "Wx2 Wy1 | Ry Wx1", "| 1 | x=2", true},
	{"S+wmb+po", "Wx2 wmb Wy1 | Ry Wx1", "| 1 | x=2", true},
	{"S+wmb+dep", "Wx2 wmb Wy1 | Ry Wx1.dep", "| 1 | x=2", false},
	{"S+rel+acq", "Wx2 Wy1.rel | Ry.acq Wx1", "| 1 | x=2", false},
	{"S+mb+dep", "Wx2 mb Wy1 | Ry Wx1.dep", "| 1 | x=2", false},
	{"R", "Wx1 Wy1 | Wy2 Rx", "| 0 | y=2", true},
	{"R+wmb+mb", "Wx1 wmb Wy1 | Wy2 mb Rx", "| 0 | y=2", true},
	{"R+mbs", "Wx1 mb Wy1 | Wy2 mb Rx", "| 0 | y=2", false},
	{"LB", "Rx Wy1 | Ry Wx1", "1 | 1", false}, // the kernel's model allows it; loads are in order here
	{"2+2W", "Wx1 Wy2 | Wy1 Wx2", "| | x=1 y=1", true},
	{"2+2W+wmbs", "Wx1 wmb Wy2 | Wy1 wmb Wx2", "| | x=1 y=1", true},
	{"2+2W+mbs", "Wx1 mb Wy2 | Wy1 mb Wx2", "| | x=1 y=1", false},
	{"CoRR", "Wx1 Wx2 | Rx Rx", "| 2 1", false},
	{"CoWR", "Wx1 Rx | Wx2", "0", false},
	{"CoWW", "Wx1 Wx2", "| x=1", false},
	{"RMWs", "Ux1.rlx | Ux2.rlx", "0 | 0", false},
	{"RMW+W", "Ux1.rlx | Wx2", "0 | | x=1", false}, // no store between what it read and its own
	{"IRIW", "Wx1 | Rx Ry | Wy1 | Ry Rx", "| 1 0 | | 1 0", true},
	{"IRIW+acqs", "Wx1 | Rx.acq Ry.acq | Wy1 | Ry.acq Rx.acq", "| 1 0 | | 1 0", true},
	{"IRIW+rmbs", "Wx1 | Rx rmb Ry | Wy1 | Ry rmb Rx", "| 1 0 | | 1 0", true},
	{"IRIW+mbs", "Wx1 | Rx mb Ry | Wy1 | Ry mb Rx", "| 1 0 | | 1 0", false},
	{"WRC", "Wx1 | Rx Wy1 | Ry Rx", "| 1 | 1 0", true},
	{"WRC+dep+rmb", "Wx1 | Rx Wy1.dep | Ry rmb Rx", "| 1 | 1 0", true},
	{"WRC+rel+rmb", "Wx1 | Rx Wy1.rel | Ry rmb Rx", "| 1 | 1 0", false},
	{"WRC+mb+addr", "Wx1 | Rx mb Wy1 | Ry Rx.dep", "| 1 | 1 0", false},
	{"WRC+acq+rel+acq", "Wx1.rel | Rx.acq Wy1.rel | Ry.acq Rx", "| 1 | 1 0", false},
	{"ISA2", "Wx1 Wy1 | Ry Wz1 | Rz Rx", "| 1 | 1 0", true},
	{"ISA2+mb+dep+acq", "Wx1 mb Wy1 | Ry Wz1.dep | Rz.acq Rx", "| 1 | 1 0", false},
	{"ISA2+mb+acq+acq", "Wx1 mb Wy1 | Ry.acq Wz1 | Rz.acq Rx", "| 1 | 1 0", false},
	{"ISA2+rel+dep+acq", "Wx1 Wy1.rel | Ry Wz1.dep | Rz.acq Rx", "| 1 | 1 0", true},
	{"ISA2+rel+rel+acq", "Wx1 Wy1.rel | Ry Wz1.rel | Rz.acq Rx", "| 1 | 1 0", false},
	{"RWC+po+mb", "Wx1 | Rx Ry | Wy1 mb Rx", "| 1 0 | 0", true},
	{"RWC+mbs", "Wx1 | Rx mb Ry | Wy1 mb Rx", "| 1 0 | 0", false},
	{"RWC+acq+mb", "Wx1 | Rx.acq Ry | Wy1 mb Rx", "| 1 0 | 0", true},
	{"Z6.0+mb+rel+mb", "Wx1 mb Wy1 | Ry Wz1.rel | Wz2 mb Rx", "| 1 | 0 | z=2", false},
	{"Z6.0+rel+rel+mb", "Wx1 Wy1.rel | Ry Wz1.rel | Wz2 mb Rx", "| 1 | 0 | z=2", true},
	{"Z6.1+mbs", "Wx1 mb Wy1 | Wy2 mb Wz1 | Rz mb Wx2", "| | 1 | x=1 y=2", false},
	{"Z6.2+rels+acqs", "Wx2 Wy1.rel | Ry.acq Wz1.rel | Rz.acq Wx1", "| 1 | 1 | x=2", false},
	{"Z6.2+rel+pos", "Wx2 Wy1.rel | Ry Wz1 | Rz Wx1", "| 1 | 1 | x=2", true},
	{"Z6.3+wmb+mb+rmb", "Wx1 wmb Wy1 | Wy2 mb Wz1 | Rz rmb Rx", "| | 1 0 | y=2", true},
	{"Z6.3+mb+mb+acq", "Wx1 mb Wy1 | Wy2 mb Wz1 | Rz.acq Rx", "| | 1 0 | y=2", false},
	{"Z6.5+mbs", "Wx1 mb Wy1 | Wy2 mb Wz1 | Wz2 mb Rx", "| | 0 | y=2 z=2", false},
	{"deferred free", "rl Rx Ry ru | Wx1 gp Wy1", "0 1 |", false},
	{"GP+no section", "Rx Ry | Wx1 gp Wy1", "0 1 |", true},
	{"fix-up", "rl Ry Rx ru | Wx1 gp Wy1", "1 0 |", false},
	{"RCU+SB", "rl Wx1 Ry ru | Wy1 gp Rx", "0 | 0", false},
	{"RCU+SB+two", "rl Wx1 Ry ru | rl Wy1 Rz ru | Wz1 gp Rx", "0 | 0 | 0", true},
	{"RCU+SB+two+two", "rl Wx1 Ry ru | rl Wy1 Rz ru | Wz1 gp gp Rx", "0 | 0 | 0", false},
}

func TestShapes(t *testing.T) {
	for _, s := range shapes {
		seen, runs := search(t, s)
		if seen != s.seen {
			t.Errorf("%s: seen %v in %d runs, want %v: %s", s.name, seen, runs, s.seen, s.program)
		}
	}
}

// search runs every schedule and every choice of a shape.
func search(t *testing.T, s shape) (seen bool, runs int) {
	want := strings.Join(strings.Fields(s.outcome), " ")
	var path, widths []int
	for {
		at := 0
		choose := func(n int) int {
			if at == len(path) {
				path, widths = append(path, 0), append(widths, n)
			}
			if widths[at] != n {
				t.Fatalf("%s: asked for %d, then for %d", s.name, widths[at], n)
			}
			at++
			return path[at-1]
		}
		if got, ok := run(s, choose); ok && match(got, want) {
			seen = true
		}
		if runs++; runs > 2_000_000 {
			t.Fatal(s.name, "is too large")
		}
		for len(path) > 0 && path[len(path)-1] == widths[len(path)-1]-1 {
			path, widths = path[:len(path)-1], widths[:len(widths)-1]
		}
		if len(path) == 0 {
			return seen, runs
		}
		path[len(path)-1]++
	}
}

// match compares an outcome with the wanted one, of which cells may be left out.
func match(got, want string) bool {
	g, w := strings.Split(got, "|"), strings.Split(want, "|")
	cells := ""
	if last := w[len(w)-1]; strings.Contains(last, "=") {
		cells, w = last, w[:len(w)-1]
	}
	for i := range w {
		if strings.TrimSpace(w[i]) != strings.TrimSpace(g[i]) {
			return false
		}
	}
	for _, c := range strings.Fields(cells) {
		if !strings.Contains(g[len(g)-1], c) {
			return false
		}
	}
	return true
}

var orders = map[string]lkmm.Order{"": lkmm.Full, "acq": lkmm.Acquire, "rel": lkmm.Release, "rlx": lkmm.Relaxed}

// run runs a shape once.
func run(s shape, choose func(int) int) (outcome string, ended bool) {
	var m lkmm.Model
	var cells [256][]string // values, oldest first
	var todo [][]string
	for _, cpu := range strings.Split(s.program, "|") {
		todo = append(todo, strings.Fields(cpu))
	}
	n := len(todo)
	m.Reset(n)
	read, loads := make([][]string, n), make([]lkmm.Deps, n)
	for i := range cells {
		cells[i] = []string{"0"}
	}
	newest := func(c byte) string { return cells[c][len(cells[c])-1] }
	for {
		var can []int
		for i, ops := range todo {
			if len(ops) == 0 || ops[0] == "lock" && newest('l') == "1" || ops[0] == "gp'" && m.Waiting(i, 0) != 0 {
				continue
			}
			can = append(can, i)
		}
		if len(can) == 0 {
			break
		}
		i := can[0]
		if len(can) > 1 {
			i = can[choose(len(can))]
		}
		op, order, _ := strings.Cut(todo[i][0], ".")
		todo[i] = todo[i][1:]
		put := func(c byte, v string, back int) {
			l := cells[c]
			at := len(l) - back
			cells[c] = append(append(append([]string(nil), l[:at]...), v), l[at:]...)
		}
		switch {
		case op == "mb":
			m.Fence(i, lkmm.MB)
		case op == "rmb":
			m.Fence(i, lkmm.RMB)
		case op == "wmb":
			m.Fence(i, lkmm.WMB)
		case op == "lock":
			m.Lock(i, 'l')
			put('l', "1", 0)
		case op == "unlock":
			m.Unlock(i, 'l')
			put('l', "0", 0)
		case op == "rl":
			m.ReadLock(i, 0)
		case op == "ru":
			m.ReadUnlock(i, 0)
		case op == "gp":
			m.GPBegin(i, 0)
			todo[i] = append([]string{"gp'"}, todo[i]...)
		case op == "gp'":
			m.GPEnd(i, 0)
		case op == "take":
			m.Take(i)
		case strings.HasPrefix(op, "ipi"):
			m.Send(i, int(op[3]-'0'))
		default:
			c := op[1]
			var on, d lkmm.Deps
			o := orders[order]
			if order == "" || order == "dep" {
				o = lkmm.Relaxed
			}
			if order == "dep" {
				on = loads[i]
			}
			switch op[0] {
			case 'R':
				var back int
				back, d = m.LoadAfter(i, uint32(c), o, on, choose)
				read[i] = append(read[i], cells[c][len(cells[c])-1-back])
			case 'W':
				put(c, op[2:], m.StoreAfter(i, uint32(c), o, on, choose))
			case 'U':
				read[i] = append(read[i], newest(c))
				d = m.RMWAfter(i, uint32(c), orders[order], on)
				put(c, op[2:], 0)
			case 'F':
				read[i] = append(read[i], newest(c))
				d = m.FailedAfter(i, uint32(c), on)
			}
			loads[i] |= d
			cells[c] = cells[c][m.Forget(uint32(c)):]
			if len(cells[c]) != m.Versions(uint32(c)) {
				panic(fmt.Sprint(s.name, ": the model keeps other versions than the user"))
			}
		}
	}
	for i := range todo {
		if len(todo[i]) > 0 {
			return "", false
		}
	}
	var b strings.Builder
	for i := range read {
		fmt.Fprint(&b, strings.Join(read[i], " "), " | ")
	}
	for _, c := range "xyz" {
		fmt.Fprintf(&b, "%c=%s ", c, newest(byte(c)))
	}
	var h sim.Hash
	m.AddState(&h)
	return b.String(), true
}
