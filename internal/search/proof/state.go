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

// A states distinguishes the states of a rig's runs. It implements sched.Stateful, and is an
// observer that passes on what it observes.
//
// A state is the machine, its memory, the kernel, the engine, the monitors and the tasks'
// programs, except what the tags of their fields leave out. The local variables of a running
// routine can't be inspected. They are determined by what the routine has read since it began,
// so a hash of that stands in their place. For each step the hash has what the step touched.
// For each object of which the routine may have kept something, it has the last writer, and
// what that writer had read. It also has the words of the routine's CPU, once it has asked
// which CPU that is. So routines with equal hashes have equal variables. The reverse doesn't
// hold, which costs states, and nothing else.
type states struct {
	r       *rig.Rig
	next    sim.Observer
	roots   []root
	layouts *layouts
	mine    [sim.MaxCPUs][]root // words that belong to each CPU

	names  map[unsafe.Pointer]uint64 // of objects that are pointed to, from 1, in the order of first sight
	lately [64]struct {              // some of the names
		at   unsafe.Pointer
		name uint64
	}
	frozen  bool // nothing gets a new name
	strange bool // frozen, and an object without a name was seen
	inMaps  bool // an object was first seen in a map, and so in no fixed order

	number  map[sim.Object]int // indices of objects, from 0
	objects []sim.Object       // by their number
	wrote   []sim.Hash         // by object: its last writer, and what that writer had read
	own     [sim.MaxCPUs]sim.Hash
	on      bool // steps are recorded

	// The fields below keep data of earlier states that a repeated run doesn't restore. A run may
	// have 200,000 states, so only the changes of wrote are kept.
	kept   []keptState
	reads  []sim.Hash
	writes []write

	walks   uint64 // made so far
	visited []visit
	filled  int // used places of visited, in this walk
	work    []root
	seqs    []uint32
	marks   []uint32
}

// A root is a value that a state is made of.
type root struct {
	at unsafe.Pointer
	l  *layout
}

// A visit records that a walk has reached a place.
type visit struct {
	root
	walk uint64
}

// A keptState says where the kept data of a state end: in writes, and in reads. In reads they
// begin at the end of the previous state's.
type keptState struct{ writes, reads int }

// A write is a write to wrote.
type write struct {
	object int // the object's number
	by     sim.Hash
}

// elsewhere lists types for which a pointer counts as an address and nothing more: their
// values don't change, or are counted elsewhere.
var elsewhere = []reflect.Type{
	reflect.TypeFor[smp.Machine](), reflect.TypeFor[smp.Task](), reflect.TypeFor[smp.Source](),
	reflect.TypeFor[smp.Ctx](),
	reflect.TypeFor[kernel.Kernel](), reflect.TypeFor[kernel.Sync](), reflect.TypeFor[properties.Scene](),
	reflect.TypeFor[kprobes.Kprobe](), // the rig's own, each a root
}

// newStates returns a states for a rig, whose interrupts leave zeros on the stacks from now on
// (smp.State.ScrubStacks).
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

// addOwn finds the words of each CPU in a struct, and those in its fields.
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

// step records what a step has read and written.
func (s *states) step(mv sim.Mover, touched []sim.Touch) {
	m := s.r.Machine
	doing := m.Footprint().Doing()
	if len(touched) == 0 && !doing.Routine {
		return // an instruction: registers and memory are hashed directly
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
	k, again := doing.Anew, false // what the routine knows at the end
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
	} else if again { // it may have read its own write before it forgot the reason
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

// writeBy records which writer wrote an object.
func (s *states) writeBy(o sim.Object, by sim.Hash) {
	n := s.numberOf(o)
	s.wrote[n] = by
	s.writes = append(s.writes, write{n, by})
}

// numberOf returns the index of an object in wrote.
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

// lookAtOwn records the words of a CPU before its next step.
func (s *states) lookAtOwn(cpu int) {
	s.walks, s.filled = s.walks+1, 0
	h := sim.Hash{}
	for _, r := range s.mine[cpu] {
		s.hash(&h, r.at, r.l)
	}
	s.work = s.work[:0] // the objects that they point to aren't the CPU's own
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

// walk visits all values and what they point to.
func (s *states) walk() (h sim.Hash) {
	s.walks, s.filled = s.walks+1, 0
	s.seqs, s.marks = s.seqs[:0], s.marks[:0]
	for _, r := range s.roots {
		s.hash(&h, r.at, r.l)
	}
	var others sim.Hash // order-independent
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
			if i%32 == 31 { // the word has no room for more
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

// addInst adds an instruction by its address and bytes. Another run may have decoded the same
// instruction again, so the object's address says nothing.
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

// name returns the number of an address: a distinct one for each address, 0 for nil. Objects
// don't move, and a run has its own objects where the last run had them, so equal states of
// two runs have equal numbers. Two rigs whose values were visited alike so far (lookAround)
// have given the same names.
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

// pointer adds the identity of the object that is pointed to.
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

// visit records that a walk has reached a value, and reports whether it is new.
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

// rehash moves the visited values into a larger table.
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

// addEntries adds a map's entries. What they point to is reachable elsewhere, too.
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

// addBytes adds n bytes. Most of a long sequence is zero: each 64 zeros are left out.
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
