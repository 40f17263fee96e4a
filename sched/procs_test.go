package sched

import (
	"fmt"
	"strings"

	"kpsim/sim"
)

// procs is a machine for the exhaustive searches: processes with shared
// variables, locks, waits, data choices, and interrupts. It reports what each
// step touches. Processes are CPUs; an interrupt source belongs to a process.
type procs struct {
	code    []proc
	guard   func(x *procX) bool // says whether a process can make its next step; nil: it can
	sources []procSource
	vars    int
	init    []int
	tso     bool // processes hold what they write (procs_held_test.go)

	// The state.
	mem     []int
	locks   []int // who holds it, and 1
	pending []bool
	ps      []procState
	left    []int
	held    [][]heldWrite // of each process, oldest first
	wrote   []int         // how many it has held so far
	ended   bool          // by an Assert
	steps   int
	most    int  // a run is cut off after so many; 0: never
	cut     bool // the last one was

	p       sim.Point
	touched []sim.Touch
	chooser sim.Chooser
	watch   []sim.Observer
	chose   func(p *sim.Point, pick int)
}

// A proc makes step pc of its program.
type proc func(x *procX)

type procState struct {
	pc    int
	local int // a digest of all it has seen
	reg   [4]int
	off   bool // takes no interrupts
	done  bool
}

type procSource struct {
	proc, budget int
	writes       int // a variable it writes, -1 for none
}

// procX is what a step of a process may do.
type procX struct {
	m  *procs
	id int
	*procState
}

// The objects of procs.
const (
	objVar      = 1 << 8
	objLock     = 2 << 8
	objPending  = 3 << 8
	objBoundary = 4 << 8
)

func (m *procs) touch(o int, write bool) {
	m.touched = append(m.touched, sim.Touch{Object: sim.Object(o), Write: write})
}

func (x *procX) see(v int) { x.local = int(sim.Mix(uint64(x.local)*31 + uint64(v) + 7)) }

func (x *procX) read(v int) int {
	if to, ok := x.ownWrite(v); ok {
		x.see(to)
		return to
	}
	x.m.touch(objVar+v, false)
	x.see(x.m.mem[v])
	return x.m.mem[v]
}

func (x *procX) write(v, to int) {
	if x.m.tso {
		x.hold(v, to)
		return
	}
	x.m.touch(objVar+v, true)
	x.m.mem[v] = to
}

// cas is one step.
func (x *procX) cas(v, from, to int) bool {
	x.m.flush(x.id)
	x.m.touch(objVar+v, true)
	ok := x.m.mem[v] == from
	if ok {
		x.m.mem[v] = to
	}
	x.see(x.m.mem[v])
	return ok
}

// lock takes a lock that the guard has seen free.
func (x *procX) lock(l int) {
	if x.m.locks[l] != 0 {
		panic("taken")
	}
	x.m.flush(x.id)
	x.m.locks[l] = x.id + 1
	x.m.touch(objLock+l, true)
}

func (x *procX) unlock(l int) {
	x.m.flush(x.id)
	x.m.locks[l] = 0
	x.m.touch(objLock+l, true)
}

func (x *procX) ask(n int) int {
	kind, was, first := x.m.p.Kind, x.m.p.N, x.m.p.First
	x.m.p.Kind, x.m.p.N, x.m.p.First = sim.Fetch, n, sim.Mover(x.id)
	pick, _ := x.m.chooser.Choose(&x.m.p)
	if x.m.chose != nil {
		x.m.chose(&x.m.p, pick)
	}
	x.m.p.Seq++
	x.m.p.Kind, x.m.p.N, x.m.p.First = kind, was, first
	x.see(pick)
	return pick
}

func (m *procs) canGo(i int) bool {
	return !m.ps[i].done && (m.guard == nil || m.guard(&procX{m, i, &m.ps[i]}))
}

func (m *procs) look() {
	var moves sim.Moves
	for i := range m.code {
		if m.canGo(i) {
			moves[0] |= 1 << i
		}
		if m.pending[i] && !m.ps[i].off && !m.ps[i].done {
			moves[1] |= 1 << i
		}
	}
	for i, s := range m.sources {
		if m.left[i] > 0 && !m.ps[s.proc].off && !m.ps[s.proc].done {
			moves[2] |= 1 << i
		}
	}
	for i := range m.held {
		if len(m.held[i]) > 0 {
			moves[3] |= 1 << i
		}
	}
	first := m.p.First
	if first == sim.NoMover || moves[first/64]>>(first%64)&1 == 0 {
		for first = 0; first < sim.NoMover && moves[first/64]>>(first%64)&1 == 0; first++ {
		}
	}
	m.p.First, m.p.Moves, m.p.Kind, m.p.N = first, moves, sim.Step, 0
	for n := range int(sim.NoMover) {
		m.p.N += int(moves[n/64] >> (n % 64) & 1)
	}
}

// reset sets the state before a run.
func (m *procs) reset() {
	m.mem = append(m.mem[:0], make([]int, m.vars)...)
	copy(m.mem, m.init)
	m.locks = make([]int, m.vars)
	m.pending = make([]bool, len(m.code))
	m.ps = make([]procState, len(m.code))
	m.left = make([]int, len(m.sources))
	m.held = make([][]heldWrite, len(m.code))
	m.wrote = make([]int, len(m.code))
	for i, s := range m.sources {
		m.left[i] = s.budget
	}
	m.ended, m.cut, m.steps = false, false, 0
	m.p = sim.Point{First: sim.NoMover}
}

// run runs to the end under ch and returns the final state.
func (m *procs) run(ch sim.Chooser) string {
	m.chooser = ch
	m.reset()
	if m.tso {
		m.begin(ch)
	}
	for !m.ended {
		m.look()
		if m.p.N == 0 {
			break
		}
		if m.cut = m.most > 0 && m.steps == m.most; m.cut {
			return ""
		}
		mv := m.p.First
		if m.p.N > 1 {
			pick, _ := ch.Choose(&m.p)
			m.p.Seq++
			if pick == sim.Enough {
				return ""
			}
			mv = m.p.Mover(pick)
		}
		m.step(mv)
		m.p.First = mv
		if mv >= sim.MoverIPI {
			m.p.First = sim.NoMover
		}
	}
	return m.state()
}

func (m *procs) step(mv sim.Mover) {
	m.touched = m.touched[:0]
	m.steps++
	switch {
	case mv >= sim.MoverDrain:
		m.drain(int(mv - sim.MoverDrain))
	case mv >= sim.MoverSource:
		s := m.sources[mv-sim.MoverSource]
		m.left[mv-sim.MoverSource]--
		m.touch(objBoundary+s.proc, true)
		m.flush(s.proc)
		x := procX{m, s.proc, &m.ps[s.proc]}
		x.see(1000)
		if s.writes >= 0 {
			x.write(s.writes, m.mem[s.writes]+100)
			m.flush(s.proc)
		}
	case mv >= sim.MoverIPI:
		i := int(mv - sim.MoverIPI)
		m.pending[i] = false
		m.touch(objPending+i, true)
		m.touch(objBoundary+i, true)
		m.flush(i)
		x := procX{m, i, &m.ps[i]}
		x.see(2000)
	default:
		i := int(mv)
		x := procX{m, i, &m.ps[i]}
		m.code[i](&x)
		x.pc++
		if len(m.touched) > 0 || x.done {
			m.touch(objBoundary+i, false)
		}
		if x.done {
			m.touch(objPending+i, false)
		}
	}
	for _, o := range m.watch {
		o.Stepped(mv, m.touched)
	}
}

func (m *procs) state() string {
	var b strings.Builder
	fmt.Fprint(&b, m.mem, m.ended)
	for i := range m.ps {
		s := &m.ps[i]
		pc := s.pc
		if m.ended {
			pc = 0 // how far it is in a private stretch
		}
		fmt.Fprintf(&b, " %d:%x:%v", pc, uint(s.local), s.done)
	}
	return b.String()
}

// A found is the result of an exhaustive search.
type found struct {
	states  map[string]bool
	classes map[lanes]bool
	runs    int
	cut     int // of runs
}

func newFound() *found {
	return &found{states: make(map[string]bool), classes: make(map[lanes]bool)}
}

// all runs every schedule, at most most; ok if there were no more.
func (m *procs) all(most int) (f *found, ok bool) {
	f = newFound()
	var h Happens
	m.watch, m.chose = []sim.Observer{&h}, h.Chose
	d := new(everything)
	for d.begin() {
		if f.runs == most {
			return f, false
		}
		h.Reset()
		f.states[m.run(d)] = true
		f.runs++
		if !m.ended {
			hi, lo := h.Hash()
			f.classes[lanes{hi, lo}] = true
		}
	}
	return f, true
}

// everything is plain depth-first search.
type everything struct {
	list  []answer
	at    int
	began bool
}

func (e *everything) begin() bool {
	e.at = 0
	if !e.began {
		e.began = true
		return true
	}
	for n := len(e.list); n > 0; n-- {
		if a := &e.list[n-1]; a.pick+1 < a.n {
			a.pick++
			e.list = e.list[:n]
			return true
		}
	}
	return false
}

func (e *everything) Choose(p *sim.Point) (pick, hold int) {
	if e.at == len(e.list) {
		e.list = append(e.list, answer{n: uint16(p.N)})
	}
	e.at++
	return int(e.list[e.at-1].pick), 0
}

// full runs what Full runs.
func (m *procs) full(most int) (f *found, s *Full, ok bool) {
	f = newFound()
	var h Happens
	s = NewFull()
	m.watch, m.chose = []sim.Observer{learner{s}}, nil
	r := NewRandom(Params{Seed: 1, Length: 10})
	for i := range uint64(40) {
		r.Begin(i)
		m.run(r)
	}
	m.watch, m.chose = []sim.Observer{&h, s}, h.Chose
	for i := uint64(0); s.Begin(i); i++ {
		if f.runs == most {
			return f, s, false
		}
		h.Reset()
		state := m.run(s)
		blocked := s.blocked
		if m.ended {
			s.Cut()
		} else {
			s.End(m.p.Seq)
		}
		f.runs++
		if !blocked {
			f.states[state] = true
		}
		if !blocked && !m.ended {
			hi, lo := h.Hash()
			f.classes[lanes{hi, lo}] = true
		}
	}
	return f, s, true
}

type learner struct{ f *Full }

func (l learner) Stepped(mv sim.Mover, touched []sim.Touch) { l.f.Learn(mv, touched) }
