package sched

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"kpsim/sim"
)

// An instr is a step of a random program.
type instr struct {
	op   string
	a, b int
}

// randomProcs builds a machine from instructions, one list a process.
func randomProcs(code [][]instr, sources []procSource) *procs {
	m := &procs{vars: 3, sources: sources}
	at := func(x *procX) instr { return code[x.id][x.pc] }
	m.guard = func(x *procX) bool {
		switch in := at(x); in.op {
		case "lock":
			return x.m.locks[in.a] == 0 || x.m.locks[in.a] == x.id+1
		case "wait":
			return x.m.mem[in.a] != 0
		}
		return true
	}
	for range code {
		m.code = append(m.code, func(x *procX) {
			switch in := at(x); in.op {
			case "private":
			case "read":
				x.read(in.a)
			case "write":
				x.write(in.a, in.b)
			case "copy": // the digest of all it has seen
				x.write(in.a, x.local%4)
			case "cas":
				x.cas(in.a, in.b, in.b+1)
			case "skip": // the next one, by what it has seen
				if x.local&1 != 0 && x.pc+2 < len(code[x.id]) {
					x.pc++
				}
				x.m.touch(objBoundary+x.id, false) // an interrupt changes what it has seen
			case "wait":
				x.read(in.a)
			case "lock":
				if x.m.locks[in.a] != x.id+1 {
					x.lock(in.a)
				}
			case "unlock":
				if x.m.locks[in.a] == x.id+1 {
					x.unlock(in.a)
				}
			case "fence":
				x.m.flush(x.id)
			case "ask":
				x.ask(2 + in.b%2)
				x.m.touch(objBoundary+x.id, false)
			case "off":
				x.off = true
				x.m.touch(objBoundary+x.id, false)
				x.m.touch(objPending+x.id, false) // what it keeps out may be sent by others
			case "on":
				x.off = false
				x.m.touch(objBoundary+x.id, false)
			case "send":
				to := in.a % len(code)
				x.m.pending[to] = true
				x.m.touch(objPending+to, true)
			case "again": // all of it, which forgets what it has seen
				if x.read(in.a) == in.b {
					x.pc, x.local = -1, 0
				}
				x.m.touch(objBoundary+x.id, false)
			case "assert":
				x.m.ended = x.read(in.a) == in.b
			default:
				panic(in.op)
			}
			x.done = x.pc+1 >= len(code[x.id])
			if x.done {
				return
			}
			switch in := code[x.id][x.pc+1]; in.op { // it looks whether it may go on
			case "lock":
				x.m.touch(objLock+in.a, false)
			case "wait":
				x.m.touch(objVar+in.a, false)
			}
		})
	}
	return m
}

var ops = []string{"private", "read", "read", "write", "write", "copy", "cas", "skip", "wait", "lock", "unlock", "ask",
	"off", "on", "send", "assert"}

func genProcs(only func(op string) bool) *rapid.Generator[func() (*procs, string)] {
	return genProcsOf(only, 5)
}

// genProcsOf draws processes of at most so many steps.
func genProcsOf(only func(op string) bool, most int) *rapid.Generator[func() (*procs, string)] {
	var some []string
	for _, op := range ops {
		if only(op) {
			some = append(some, op)
		}
	}
	if only("fence") {
		some = append(some, "fence")
	}
	if only("again") {
		some = append(some, "again", "again")
	}
	return rapid.Custom(func(t *rapid.T) func() (*procs, string) {
		in := rapid.Custom(func(t *rapid.T) instr {
			return instr{rapid.SampledFrom(some).Draw(t, "op"), rapid.IntRange(0, 1).Draw(t, "a"), rapid.IntRange(0, 2).
				Draw(t, "b")}
		})
		code := rapid.SliceOfN(rapid.SliceOfN(in, 1, most), 2, 3).Draw(t, "code")
		var sources []procSource
		if only("source") {
			sources = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) procSource {
				return procSource{rapid.IntRange(0, len(code)-1).Draw(t, "proc"), 1, rapid.IntRange(-1, 1).Draw(t, "writes")}
			}), 0, 2).Draw(t, "sources")
		}
		return func() (*procs, string) { return randomProcs(code, sources), fmt.Sprint(code, sources) }
	})
}

// compare compares Full with plain depth-first search: the same final states, the same
// classes, and each class once.
func compare(t *rapid.T, n *draws, m *procs, what string, optimal bool) {
	want, ok := m.all(6000)
	if n.drawn++; !ok {
		n.large++
		t.Skip("too many schedules")
	}
	got, s, ok := m.full(6000)
	st := s.Stats()
	if !ok || !s.Complete() || s.Progress() != 1_000_000 {
		t.Fatalf("%s: not complete after %d runs, there are %d", what, got.runs, want.runs)
	}
	for c := range want.classes {
		if !got.classes[c] {
			t.Errorf("%s: a class is missing: %d of %d", what, len(got.classes), len(want.classes))
			break
		}
	}
	for c := range got.classes {
		if !want.classes[c] {
			t.Errorf("%s: a class that there isn't", what)
		}
	}
	for state := range want.states {
		if !got.states[state] {
			t.Errorf("%s: never ended as %s", what, state)
		}
	}
	if optimal && st.Runs-st.Cut != uint64(len(got.classes)) {
		t.Errorf("%s: %d complete executions of %d classes", what, st.Runs, len(got.classes))
	}
	if optimal && st.Blocked > 0 {
		t.Errorf("%s: %d executions were blocked", what, st.Blocked)
	}
}

// Each class of programs that neither wait nor choose is run once, and nothing else.
func TestFullOptimal(t *testing.T) {
	gen := genProcs(func(op string) bool {
		switch op {
		case "private", "read", "write", "copy", "cas", "skip":
			return true
		}
		return false
	})
	var n draws
	rapid.Check(t, func(t *rapid.T) {
		m, what := gen.Draw(t, "m")()
		compare(t, &n, m, what, true)
	})
	n.check(t)
}

// With locks, waits, answers, interrupts and findings some runs are blocked, and no
// class is missing.
func TestFullComplete(t *testing.T) {
	gen := genProcs(func(op string) bool { return op != "again" })
	var n draws
	rapid.Check(t, func(t *rapid.T) {
		m, what := gen.Draw(t, "m")()
		compare(t, &n, m, what, false)
	})
	n.check(t)
}

// Programs of which an earlier Full missed a class: a step's footprint was assumed to
// be that after an interrupt, or was unknown.
func TestFullInterrupts(t *testing.T) {
	for i, c := range []struct {
		code    [][]instr
		sources []procSource
	}{
		{[][]instr{{{"send", 0, 0}, {"private", 0, 0}}, {{"skip", 0, 0}, {"wait", 0, 0}, {"private", 0, 0}}}, []procSource{{0, 1, 0}, {1, 1, 1}}},
		{[][]instr{{{"private", 0, 0}}, {{"skip", 0, 0}, {"wait", 1, 0}, {"read", 1, 0}}}, []procSource{{0, 1, 1}, {1, 1, 0}}},
		{[][]instr{{{"read", 1, 0}}, {{"write", 1, 0}}, {{"send", 0, 0}}}, []procSource{{0, 1, 0}, {2, 1, 0}}},
		{[][]instr{{{"read", 0, 0}, {"private", 0, 0}}, {{"private", 0, 0}}}, []procSource{{0, 1, 0}, {1, 1, 0}}},
		{[][]instr{{{"read", 1, 0}}, {{"write", 1, 0}}, {{"unlock", 0, 2}, {"private", 0, 0}, {"private", 0, 2}, {"ask", 1, 2}, {"read", 1, 2}}}, []procSource{{0, 1, 0}, {2, 1, -1}}},
		{[][]instr{{{"skip", 0, 0}, {"wait", 0, 0}, {"read", 0, 0}}, {{"write", 0, 0}}, {{"ask", 0, 0}}}, []procSource{{0, 1, 1}}},
	} {
		m := randomProcs(c.code, c.sources)
		want, _ := m.all(100_000)
		got, s, _ := m.full(100_000)
		if len(got.classes) != len(want.classes) || !s.Complete() {
			t.Errorf("program %d: %d classes, want %d", i, len(got.classes), len(want.classes))
		}
	}
}

// A restarted search is a new one.
func TestFullRestart(t *testing.T) {
	m := lastzero(6)
	want, _, _ := m.full(1000)
	s := NewFull()
	m.watch, m.chose = []sim.Observer{s}, nil
	runs := 0
	for i := uint64(0); s.Begin(i); i++ {
		m.run(s)
		s.End(m.p.Seq)
		runs++
		if i == 50 || i == 77 {
			s.Restart()
			runs = 0
		}
	}
	if runs != want.runs || s.Stats().Restarted != 2 || s.Stats().Runs != uint64(runs) {
		t.Errorf("%d runs after two restarts, want %d; %+v", runs, want.runs, s.Stats())
	}
}
