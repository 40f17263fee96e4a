package sched

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kpsim/sim"
)

// A toy is a machine: CPUs that run programs of one-letter steps, and sources
// that can fire a number of times.
//
//	.  a step                     F  a step, then a Fetch question of 3
//	T  a Task question of 2, then a step
//	I  sends an IPI to the next CPU, and waits for it to be taken
//	+  gives source 0 another firing
//	w  a step that begins before watched text
//	a, b, c  a step that reads an object; A, B, C: one that writes it
//
// If it is weak, and the answer to its first question is that CPUs hold stores, what is
// written takes effect later.
type toy struct {
	programs []string
	weak     bool
	sources  []int // how often each may fire
	stop     int   // end the run after so many moves, as a finding would; 0 for never

	shortHolds bool // drop a hold at a question of another kind: strategies can't tell

	pc    [8]int
	left  [8]int
	ipi   uint64 // pending
	waits [8]int // the CPU whose IPI it waits for, or -1
	last  int    // the CPU that moved last
	holds bool
	q     [8]int  // how many stores a CPU holds
	off   [8]bool // and that they were put off
	ahead [sim.MaxCPUs]sim.Touch
	p     sim.Point
	log   []byte // what moved and what was answered
	moved []sim.Mover
	asked []Choice

	touched  []sim.Touch
	features []uint64
	calls    int
}

func (m *toy) done(i int) bool { return m.pc[i] >= len(m.programs[i]) }

func (m *toy) canGo(i int) bool { return !m.done(i) && m.waits[i] < 0 }

func (m *toy) look() {
	var moves sim.Moves
	first := sim.NoMover
	for i := range m.programs {
		if m.canGo(i) {
			moves[0] |= 1 << i
		}
	}
	moves[1] = m.ipi
	for i := range m.sources {
		if m.left[i] > 0 {
			moves[2] |= 1 << i
		}
	}
	n := 0
	for i, n := range m.q {
		if n > 0 {
			moves[3] |= 1 << i
		}
	}
	for m.p.Moves = moves; n < int(sim.NoMover); n++ { // the boring one
		if moves[n/64]>>(n%64)&1 != 0 {
			first = sim.Mover(n)
			break
		}
	}
	if w := m.waits[m.last]; w >= 0 && m.ipi>>w&1 != 0 {
		first = sim.MoverIPI + sim.Mover(w)
	} else if m.canGo(m.last) {
		first = sim.Mover(m.last)
	} else if m.done(m.last) && moves[2]&2 != 0 { // it waits for work: source 1 is boring then
		first = sim.MoverSource + 1
	}
	for i, n := range m.q {
		if n > 0 && !m.off[i] {
			first = sim.MoverDrain + sim.Mover(i)
			break
		}
	}
	m.p.Kind, m.p.First, m.p.N = sim.Step, first, 0
	m.p.Watched = first < sim.MaxCPUs && m.programs[first][m.pc[first]] == 'w'
	for n := range int(sim.NoMover) {
		m.p.N += int(moves[n/64] >> (n % 64) & 1)
	}
}

// run runs under s, already begun, and returns the events.
func (m *toy) run(s Strategy) string {
	*m = toy{programs: m.programs, weak: m.weak, sources: m.sources, stop: m.stop, shortHolds: m.shortHolds,
		log: m.log[:0], moved: m.moved[:0], asked: m.asked[:0], touched: m.touched, features: m.features}
	copy(m.left[:], m.sources)
	for i := range m.waits {
		m.waits[i] = -1
	}
	type answered struct { // what a hold is for
		moves sim.Moves
		first sim.Mover
	}
	hold, outlasts, held := 0, 0, answered{}
	observer := ObserverOf(s)
	if m.weak {
		m.ask(s, sim.Buffer, 2, 0, &hold)
		m.holds = m.asked[0].Pick == 1
	}
	for moves := 0; m.stop == 0 || moves < m.stop; moves++ {
		m.look()
		if m.p.N == 0 {
			break
		}
		mv := m.p.First
		if m.p.Ahead = nil; observer != nil {
			m.p.Ahead = &m.ahead
			for i := range m.programs {
				m.ahead[i] = m.touch(sim.Mover(i))
			}
		}
		touched := m.touch(mv)
		if m.p.N > 1 {
			now := answered{m.p.Moves, m.p.First}
			if now != held && (outlasts&sim.Steady == 0 || now.moves[2] != held.moves[2]) ||
				m.p.Watched && outlasts&sim.Through == 0 {
				hold = 0
			}
			held = now
			pick := 0
			if hold > 0 {
				hold--
			} else {
				m.calls++
				pick, hold = s.Choose(&m.p)
				hold, outlasts = hold&sim.Forever, hold
				mv = m.p.Mover(pick)
			}
			m.answer(pick)
			if first := m.p.First; mv != first && first >= sim.MoverDrain {
				m.off[first-sim.MoverDrain] = true
			}
			touched = m.touch(mv)
		} else {
			now := answered{m.p.Moves, m.p.First}
			if outlasts&sim.Steady == 0 || now.moves[2] != held.moves[2] {
				hold = 0
			}
			held = now
		}
		m.move(s, mv, &hold)
		if m.holds && mv < sim.MaxCPUs && touched.Write {
			m.q[mv]++
			if m.off[mv] = m.off[mv] && m.q[mv] > 1; outlasts&sim.Drains == 0 {
				hold = 0
			}
		}
		if observer != nil {
			m.touched = m.touched[:0]
			if touched.Object != 0 {
				m.touched = append(m.touched, touched)
			}
			observer.Stepped(mv, m.touched)
		}
	}
	if l := LearnerOf(s); l != nil {
		m.features = m.features[:0]
		for i := 1; i < len(m.moved); i++ { // the order of moves
			m.features = append(m.features, uint64(m.moved[i-1])<<8|uint64(m.moved[i]))
		}
		l.Learn(m.features)
	}
	s.End(m.p.Seq)
	return string(m.log)
}

// touch returns what the next step of a mover touches.
func (m *toy) touch(mv sim.Mover) (t sim.Touch) {
	if mv >= sim.MaxCPUs || m.done(int(mv)) {
		return t
	}
	switch op := m.programs[mv][m.pc[mv]]; op {
	case 'a', 'b', 'c':
		t = sim.Touch{Object: sim.Object(op)}
	case 'A', 'B', 'C':
		t = sim.Touch{Object: sim.Object(op - 'A' + 'a'), Write: true}
	}
	return t
}

func (m *toy) answer(pick int) {
	m.asked = append(m.asked, Choice{Seq: m.p.Seq, Kind: m.p.Kind, N: m.p.N, Pick: pick})
	m.p.Seq++
}

func (m *toy) ask(s Strategy, k sim.Kind, n, cpu int, hold *int) {
	m.p.Kind, m.p.N, m.p.First = k, n, sim.Mover(cpu)
	pick, _ := s.Choose(&m.p)
	if m.shortHolds {
		*hold = 0
	}
	m.answer(pick)
	m.log = fmt.Appendf(m.log, "%v%d", k, pick)
}

func (m *toy) move(s Strategy, mv sim.Mover, hold *int) {
	m.log = fmt.Appendf(m.log, " %d", mv)
	m.moved = append(m.moved, mv)
	switch {
	case mv >= sim.MoverDrain:
		m.q[mv-sim.MoverDrain]--
		return
	case mv >= sim.MoverSource:
		m.left[mv-sim.MoverSource]--
		return
	case mv >= sim.MoverIPI:
		cpu := int(mv - sim.MoverIPI)
		m.ipi &^= 1 << cpu
		for i := range m.waits {
			if m.waits[i] == cpu {
				m.waits[i] = -1
			}
		}
		return
	}
	cpu := int(mv)
	m.last = cpu
	op := m.programs[cpu][m.pc[cpu]]
	if op == 'T' {
		m.ask(s, sim.Task, 2, cpu, hold)
	}
	m.pc[cpu]++
	switch op {
	case 'F':
		m.ask(s, sim.Fetch, 3, cpu, hold)
	case '+':
		m.left[0]++
	case 'I':
		to := (cpu + 1) % len(m.programs)
		m.ipi |= 1 << to
		m.waits[cpu] = to
	}
}

// picks prints the deviations of the last run.
func (m *toy) picks() string {
	var b strings.Builder
	for _, c := range m.asked {
		if c.Pick != 0 {
			fmt.Fprintf(&b, "(%d:%d)", c.Seq, c.Pick)
		}
	}
	return b.String()
}

// Where implements Locator: a CPU stands in the function named for it.
func (m *toy) Where(mv sim.Mover) (name string, off int, text bool) {
	if mv >= sim.MoverSource && mv < sim.MoverDrain {
		return "", 0, false
	}
	cpu := int(mv) % sim.MaxCPUs
	return fmt.Sprintf("f%d", cpu), m.pc[cpu], true
}

// Alternative implements Locator.
func (m *toy) Alternative(p *sim.Point, pick int) string {
	if p.Kind != sim.Step {
		return fmt.Sprint(pick)
	}
	mv := p.Mover(pick)
	switch {
	case mv >= sim.MoverDrain:
		return fmt.Sprintf("drain@cpu%d", mv-sim.MoverDrain)
	case mv >= sim.MoverSource:
		return fmt.Sprintf("source%d", mv-sim.MoverSource)
	case mv >= sim.MoverIPI:
		return fmt.Sprintf("ipi@cpu%d", mv-sim.MoverIPI)
	}
	return fmt.Sprintf("cpu%d", mv)
}

// shape describes the machine to strategies: source 1 interrupts no CPU.
func (m *toy) shape() *Shape {
	m.run(new(Default))
	h := &Shape{Questions: m.p.Seq}
	for i, n := range m.sources {
		h.Sources = append(h.Sources, Source{CPU: sim.Mover(i % len(m.programs)), Most: n})
		if i == 1 {
			h.Sources[i].CPU = sim.NoMover
		}
	}
	s := &Surveyor{Strategy: NewRandom(Params{Length: h.Questions})}
	for i := range uint64(4) {
		s.Begin(i)
		m.run(s)
	}
	h.CPUs = s.Mean(4)
	return h
}

// toys are the machines that most tests use.
func toys() []*toy {
	return []*toy{
		{programs: []string{"...", "..."}},
		{programs: []string{".A..", "F.", "a"}, sources: []int{1}},
		{programs: []string{".I.T.", "....", ".F"}, sources: []int{1, 1}},
		{programs: []string{"+.+.F..", "..I..T.I."}, sources: []int{0, 2}},
		{programs: []string{"T", ""}, sources: []int{2, 1, 1}},
		{programs: []string{strings.Repeat("..F.I.", 10), strings.Repeat(".+T.wF", 10), strings.Repeat("aA.ww", 15)},
			sources: []int{3, 2}},
		{programs: []string{"I..", "..."}, sources: []int{1}, stop: 5},
		{programs: []string{".A.b.C.", "B.a..", "..c.A"}, weak: true},
		{programs: []string{"AI.B..A", "aB.I.AT", "+C"}, sources: []int{1, 2}, weak: true},
	}
}

func TestToyByDefault(t *testing.T) {
	m := toys()[2]
	if got, want := m.run(new(Default)), " 0 0 65 0 0task0 0 129 1 1 1 1 2 2fetch0 128"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestMoverEnumeration(t *testing.T) {
	p := sim.Point{Kind: sim.Step, N: 8, Moves: sim.Moves{1<<3 | 1, 1 << 2, 1<<5 | 1<<1 | 1, 1<<3 | 1}}
	for _, test := range []struct {
		first sim.Mover
		want  []sim.Mover
		calm  int
	}{
		{0, []sim.Mover{0, 3, 66, 192, 195, 128, 129, 133}, 3},
		{3, []sim.Mover{3, 0, 66, 192, 195, 128, 129, 133}, 3},
		{66, []sim.Mover{66, 0, 3, 192, 195, 128, 129, 133}, 3},
		{129, []sim.Mover{129, 0, 3, 66, 192, 195, 128, 133}, 4},
		{195, []sim.Mover{195, 0, 3, 66, 192, 128, 129, 133}, 4},
	} {
		p.First = test.first
		var got []sim.Mover
		for i := range p.N {
			got = append(got, p.Mover(i))
			if pick := p.Pick(p.Mover(i)); pick != i {
				t.Errorf("first %d: %d is alternative %d, not %d", test.first, p.Mover(i), i, pick)
			}
		}
		if !slices.Equal(got, test.want) || calm(&p) != test.calm {
			t.Errorf("first %d: movers %v, want %v; calm %d, want %d", test.first, got, test.want, calm(&p), test.calm)
		}
	}
}
