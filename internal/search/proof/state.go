package proof

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"kpsim/internal/search/rig"
	"kpsim/kprobes"
	"kpsim/properties"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A states tells the states of a rig's runs apart: sched.Stateful, and an
// observer that passes on what it observes.
//
// A state is the machine, its memory, the kernel, the engine, the monitors and the
// tasks' programs, all of it but what the tags of their fields leave out. The local
// variables of a routine under way can't be looked at. They are what they are by what
// the routine has read since it began, so in their place stands a hash of that: of each
// step, what it has touched, of each object that it may have kept something of, the
// last writer, and what that writer had read; and the words of its CPU, once it has
// asked which that is. So routines with equal hashes have equal variables. It isn't so
// the other way round, which costs states, and nothing else.
type states struct {
	r       *rig.Rig
	next    sim.Observer
	roots   []root
	layouts *layouts
	mine    [sim.MaxCPUs][]root // words of each CPU's own

	names  map[unsafe.Pointer]uint64 // of what is pointed to, from 1, in the order in which it was first seen
	lately [64]struct {              // some of the names
		at   unsafe.Pointer
		name uint64
	}
	frozen  bool // nothing gets a name any more
	strange bool // frozen: something without a name was seen
	inMaps  bool // something was first seen in a map, and so in no order

	number  map[sim.Object]int // of objects, from 0
	objects []sim.Object       // by their number
	wrote   []sim.Hash         // of each object: its last writer, and what that had read
	own     [sim.MaxCPUs]sim.Hash
	on      bool // steps are told of

	// What of the states on the way a run that is played again doesn't show. A
	// run may have 200,000 of them, so of wrote only what changes is kept.
	kept   []keptState
	reads  []sim.Hash
	writes []write

	walks   uint64 // made so far
	visited []visit
	filled  int // places of visited, in this walk
	work    []root
	seqs    []uint32
	marks   []uint32
}

// A root is a value that a state is made of.
type root struct {
	at unsafe.Pointer
	l  *layout
}

// A visit says that a walk has been somewhere.
type visit struct {
	root
	walk uint64
}

// A keptState says where what is kept of a state ends: in writes; in reads, where
// it begins at the end of the state before.
type keptState struct{ writes, reads int }

// A write is one to wrote.
type write struct {
	object int // its number
	by     sim.Hash
}

// elsewhere are types that a pointer to is an address and nothing more: they
// don't change, or count where they lie.
var elsewhere = []reflect.Type{
	reflect.TypeFor[smp.Machine](), reflect.TypeFor[smp.Task](), reflect.TypeFor[smp.Source](),
	reflect.TypeFor[smp.Ctx](),
	reflect.TypeFor[kernel.Kernel](), reflect.TypeFor[kernel.Sync](), reflect.TypeFor[properties.Scene](),
	reflect.TypeFor[kprobes.Kprobe](), // the rig's own, each a root
}

// newStates returns a states of a rig, whose interrupts leave zeros on the stacks
// from now on (smp.State.ScrubStacks).
func newStates(r *rig.Rig) *states { return newStatesWithout(r, "") }

// newStatesWithout is newStates, with a field left out.
func newStatesWithout(r *rig.Rig, field string) *states {
	ls := newLayouts(field, elsewhere)
	s := &states{r: r, layouts: ls, visited: make([]visit, 1<<8), number: make(map[sim.Object]int),
		names: make(map[unsafe.Pointer]uint64)}
	add := func(p any) {
		v := reflect.ValueOf(p)
		s.roots = append(s.roots, root{v.UnsafePointer(), ls.layout(v.Type().Elem())})
		s.addOwn(ls, v.Elem())
	}
	for _, p := range r.StateRoots() {
		add(p)
	}
	if len(ls.unruled) > 0 {
		sim.Bug("a state can't tell what these hold, and their fields have no tag state: %v", ls.unruled)
	}
	r.Machine.State().ScrubStacks(true)
	return s
}

// addOwn finds the words of each CPU in a struct and those in it.
func (s *states) addOwn(ls *layouts, v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	if strings.HasPrefix(v.Type().String(), "kapi.PerCPU[") {
		words := v.Field(0)
		for c := range words.Len() {
			w := words.Index(c)
			s.mine[c] = append(s.mine[c], root{w.Addr().UnsafePointer(), ls.layout(w.Type())})
		}
		return
	}
	for i := range v.NumField() {
		s.addOwn(ls, v.Field(i))
	}
}

// Stepped implements sim.Observer.
func (s *states) Stepped(mv sim.Mover, touched []sim.Touch) {
	if s.on {
		s.step(mv, touched)
	}
	s.next.Stepped(mv, touched)
}

// step takes down what a step has read and written.
func (s *states) step(mv sim.Mover, touched []sim.Touch) {
	m := s.r.Machine
	doing := m.Footprint().Doing()
	if len(touched) == 0 && !doing.Routine {
		return // an instruction: registers and memory are looked at themselves
	}
	h := sim.Hash{Hi: uint64(mv), Lo: 1}
	if doing.Routine {
		h = doing.Read
		h.Add(1)
		if doing.OwnWords {
			h.AddHash(s.own[mv])
		}
	}
	drained := m.Footprint().Drained()
	s.commit(&h, drained, &doing, mv)
	k, again := doing.Anew, false // what it knows at the end
	k.Add(1)
	if doing.OwnNow {
		k.AddHash(s.own[mv])
	}
	for i, r := range doing.Reads {
		w := r.By
		if !r.Version {
			w = s.wrote[s.numberOf(r.Object)]
		}
		h.Add(uint64(r.Object))
		h.AddHash(w)
		if i >= doing.Since {
			k.Add(uint64(r.Object))
			k.AddHash(w)
			again = again || slices.Contains(touched, sim.Touch{Object: r.Object, Write: true})
		}
	}
	if !doing.Forgot {
		k = h
	} else if again { // it may have read what it had written before it forgot why
		k.AddHash(h)
	}
	m.Footprint().HasRead(k)
	for _, t := range touched {
		if !t.Write || !smp.Holds(t.Object) || committed(drained, t.Object) {
			continue
		}
		w := h
		w.Add(uint64(t.Object))
		if v, ok := m.State().ValueOf(t.Object); ok {
			w = sim.Hash{Hi: v, Lo: 1}
		}
		s.writeBy(t.Object, w)
	}
	m.Footprint().HasStored(h, s.writeBy)
	if c := m.Names().CPUOf(mv); c >= 0 {
		s.lookAtOwn(c)
	}
}

// writeBy notes by what an object was written.
func (s *states) writeBy(o sim.Object, by sim.Hash) {
	n := s.numberOf(o)
	s.wrote[n] = by
	s.writes = append(s.writes, write{n, by})
}

// numberOf returns where in wrote an object is.
func (s *states) numberOf(o sim.Object) int {
	n, ok := s.number[o]
	if !ok {
		n = len(s.wrote)
		s.number[o] = n
		s.wrote = append(s.wrote, sim.Hash{})
		s.objects = append(s.objects, o)
	}
	return n
}

// lookAtOwn takes what the words of a CPU are before its next step.
func (s *states) lookAtOwn(cpu int) {
	s.walks, s.filled = s.walks+1, 0
	h := sim.Hash{}
	for _, r := range s.mine[cpu] {
		s.hash(&h, r.at, r.l)
	}
	s.work = s.work[:0] // what they point to isn't the CPU's own
	s.own[cpu] = h
}

// State implements sched.Stateful.
func (s *states) State() (hi, lo uint64) {
	h := s.walk()
	m := s.r.Machine
	h.AddHash(m.State().Memory())
	m.State().Add(&h)
	s.r.AddState(&h)
	return h.Hi, h.Lo
}

// walk goes through all values and what they point to.
func (s *states) walk() (h sim.Hash) {
	s.walks, s.filled = s.walks+1, 0
	s.seqs, s.marks = s.seqs[:0], s.marks[:0]
	for _, r := range s.roots {
		s.hash(&h, r.at, r.l)
	}
	var others sim.Hash // in whatever order they were reached
	for len(s.work) > 0 {
		w := s.work[len(s.work)-1]
		s.work = s.work[:len(s.work)-1]
		o := sim.Hash{Hi: s.name(w.at), Lo: 1}
		s.hash(&o, w.at, w.l)
		others.Join(o)
	}
	h.AddHash(others)
	for _, a := range s.seqs {
		lie := uint64(1)
		for i, b := range s.marks {
			if i%32 == 31 { // there is room for no more
				h.Add(lie)
				lie = 1
			}
			lie *= 2
			if b <= a {
				lie++
			}
		}
		h.Add(lie)
	}
	return h
}

// hash adds a value to a hash, and what the value points to to the work list.
func (s *states) hash(h *sim.Hash, at unsafe.Pointer, l *layout) {
	for i := range l.pieces {
		p := &l.pieces[i]
		f := unsafe.Add(at, p.off)
		switch p.sort {
		case plainWords:
			addBytes(h, f, p.size)
		case aPointer:
			s.pointer(h, *(*unsafe.Pointer)(f), p.elem)
		case aSlice, aTrimmed, aSet:
			s.slice(h, (*sliceHeader)(f), p)
		case aString:
			x := (*sliceHeader)(f)
			h.Add(uint64(x.n))
			addBytes(h, x.data, uintptr(x.n))
		case aMap:
			s.addEntries(h, reflect.NewAt(p.typ, f).Elem())
		case anArray:
			for k := range p.n {
				s.hash(h, unsafe.Add(f, uintptr(k)*p.size), p.elem)
			}
		case aWeak:
			if at := *(*unsafe.Pointer)(f); at != nil && !p.elem.empty(at) {
				h.Add(1)
				s.hash(h, at, p.elem)
			}
		case anInst:
			addInst(h, p.inst(f))
		case aSeq:
			if *(*uint64)(unsafe.Add(at, p.guard)) == smpev.VecBP {
				s.seqs = append(s.seqs, *(*uint32)(f))
			}
		case aMark:
			s.marks = append(s.marks, *(*uint32)(f))
		case aWhile:
			if *(*uintptr)(unsafe.Add(at, p.guard)) != 0 {
				s.hash(h, f, p.elem)
			}
		}
	}
}

// addInst adds an instruction by its address and bytes. The same one may have been decoded
// anew in another run, so where it lies says nothing.
func addInst(h *sim.Hash, in *x86.Inst) {
	if in == nil {
		h.Add(0)
		return
	}
	h.Add(uint64(in.Addr))
	raw := in.Raw()
	lo, hi := traces.PackBytes(raw[:in.Len])
	h.Add(lo)
	h.Add(hi)
}

// name returns what stands for an address: another number for each, 0 for nil. Objects
// don't move, and a run has its own in places that the last one had: so states of two
// runs have equal ones. Two rigs that were looked at alike so far (lookAround) have
// given the same names.
func (s *states) name(at unsafe.Pointer) uint64 {
	if at == nil {
		return 0
	}
	near := &s.lately[uintptr(at)>>4%uintptr(len(s.lately))]
	if near.at == at {
		return near.name
	}
	n, ok := s.names[at]
	if !ok {
		n = uint64(len(s.names)) + 1
		if s.frozen {
			s.strange = true
			return n
		}
		s.names[at] = n
	}
	near.at, near.name = at, n
	return n
}

// pointer adds which object is pointed to.
func (s *states) pointer(h *sim.Hash, to unsafe.Pointer, l *layout) {
	h.Add(s.name(to))
	if to == nil || len(l.pieces) == 0 {
		return
	}
	if s.filled++; 2*s.filled > len(s.visited) {
		s.rehash()
	}
	if r := (root{to, l}); s.visit(r) {
		s.work = append(s.work, r)
	}
}

// visit notes that a walk comes to a value, and reports whether it is new.
func (s *states) visit(r root) bool {
	mask := uint64(len(s.visited) - 1)
	for i := uint64(uintptr(r.at)) * 0x9e3779b97f4a7c15 >> 20; ; i++ {
		switch v := &s.visited[i&mask]; {
		case v.walk != s.walks:
			*v = visit{r, s.walks}
			return true
		case v.root == r:
			return false
		}
	}
}

// rehash puts each value that was visited in its place of a larger table.
func (s *states) rehash() {
	old := s.visited
	s.visited = make([]visit, 2*len(old))
	for i := range old {
		if old[i].walk == s.walks {
			s.visit(old[i].root)
		}
	}
}

func (s *states) slice(h *sim.Hash, x *sliceHeader, p *piece) {
	switch {
	case p.sort == aSlice && p.elem.plain:
		h.Add(uint64(x.n))
		addBytes(h, x.data, uintptr(x.n)*p.size)
	case p.sort == aSlice:
		h.Add(uint64(x.n))
		for k := range x.n {
			s.hash(h, unsafe.Add(x.data, uintptr(k)*p.size), p.elem)
		}
	case p.sort == aSet:
		var all sim.Hash
		for k := range x.n {
			var e sim.Hash
			s.hash(&e, unsafe.Add(x.data, uintptr(k)*p.size), p.elem)
			all.Join(e)
		}
		h.AddHash(all)
	default:
		for k := range x.n {
			if e := unsafe.Add(x.data, uintptr(k)*p.size); !p.elem.empty(e) {
				h.Add(uint64(k) + 1)
				s.hash(h, e, p.elem)
			}
		}
		h.Add(0)
	}
}

// addEntries adds a map's. What they point to can be reached elsewhere, too.
func (s *states) addEntries(h *sim.Hash, m reflect.Value) {
	var all sim.Hash
	named := len(s.names)
	for i := m.MapRange(); i.Next(); {
		all.Join(sim.Hash{Hi: s.wordOf(i.Key()), Lo: s.wordOf(i.Value())})
	}
	s.inMaps = s.inMaps || len(s.names) != named
	h.Add(uint64(m.Len()))
	h.AddHash(all)
}

func (s *states) wordOf(v reflect.Value) uint64 {
	switch {
	case v.Kind() == reflect.Pointer:
		return s.name(v.UnsafePointer())
	case v.CanUint():
		return v.Uint()
	case v.CanInt():
		return uint64(v.Int())
	}
	sim.Bug("a state can't tell what a map's %v is", v.Type())
	return 0
}

// addBytes adds n bytes. Of many most are zero: 64 of those are left out.
func addBytes(h *sim.Hash, at unsafe.Pointer, n uintptr) {
	b := unsafe.Slice((*byte)(at), n)
	for ; len(b) >= 64; b = b[64:] {
		if w := (*[8]uint64)(unsafe.Pointer(&b[0])); w[0]|w[1]|w[2]|w[3]|w[4]|w[5]|w[6]|w[7] != 0 {
			h.Add(uint64(len(b)))
			h.AddWords(w[:])
		}
	}
	if k := len(b) / 8; k > 0 {
		h.AddWords(unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), k))
		b = b[k*8:]
	}
	if len(b) > 0 {
		v := uint64(len(b)) << 56
		for k, c := range b {
			v |= uint64(c) << (8 * k)
		}
		h.Add(v)
	}
}
