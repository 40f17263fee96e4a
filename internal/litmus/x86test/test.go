package x86test

import "kpsim/internal/lazyregexp"

// What a file may hold. Files come from strangers.
const (
	maxFile      = 256 << 10 // bytes
	maxThreads   = 16
	maxInstrs    = 256 // of a thread
	maxLocations = 64
	maxElements  = 64 // of an array
	maxDepth     = 100
	maxRefs      = 256
)

// A Dialect is how the instructions of a test are written.
type Dialect uint8

// The dialects.
const (
	ATT   Dialect = iota // "X86_64": source first
	Intel                // "X86": destination first
)

// A Quantifier says what a condition claims of the final states.
type Quantifier uint8

// The quantifiers.
const (
	Exists    Quantifier = iota // some state satisfies it
	NotExists                   // none does
	Forall                      // all do
)

var quantifierNames = [...]string{"exists", "~exists", "forall"}

func (q Quantifier) String() string { return quantifierNames[q] }

// A Test is a litmus test.
type Test struct {
	Name      string
	Dialect   Dialect
	Threads   []Thread
	Locations []Location
	Quant     Quantifier
	Cond      *Prop
	Filter    *Prop  // nil: all final states count
	Seen      []Ref  // what an outcome is made of, registers first
	Expected  string // "Never", "Sometimes" or "Always" if a comment says "Result: ..."; else ""

	pointers bool // a location's address is a value of the test
}

// A Thread is one column of the test.
type Thread struct {
	Instrs []Instr
	Init   [16]uint64 // registers by their number
	types  [16]typ
}

// A Location is a variable in memory.
type Location struct {
	Name   string
	typ    typ
	Count  int // elements; 1 unless it is an array
	array  bool
	Values []uint64
}

// typ is the type of a register or of a location's element. Size 0: not declared.
type typ struct {
	size   int // bytes
	signed bool
}

var typeNames = map[string]typ{
	"int": {4, true}, "unsigned": {4, false}, "int32_t": {4, true}, "uint32_t": {4, false},
	"char": {1, true}, "int8_t": {1, true}, "uint8_t": {1, false},
	"short": {2, true}, "int16_t": {2, true}, "uint16_t": {2, false},
	"long": {8, true}, "int64_t": {8, true}, "uint64_t": {8, false}, "intptr_t": {8, true}, "uintptr_t": {8, false},
}

// DataBase is where the first location lies. It is so low that 32 bits hold an address.
const DataBase = 0x1000_0000

// locationBytes is how far locations lie apart: none shares eight bytes with another.
const locationBytes = 8 * maxElements

// DataBytes is how much memory locations take at most, from DataBase on.
const DataBytes = maxLocations * locationBytes

// Address returns where an element of a location lies.
func (t *Test) Address(location, element int) uint64 {
	return DataBase + uint64(location)*locationBytes + uint64(element)*uint64(t.Locations[location].typ.size)
}

// Size returns how many bytes an element of the location has.
func (l *Location) Size() int { return l.typ.size }

// result is how a test says what is to be expected.
var result = lazyregexp.New(`(?i)\bResult:\s*(Never|Sometimes|Always)\b`)

// location returns the number of a location, which it adds if it is new.
func (p *parser) location(name string) int {
	t := p.t
	for i := range t.Locations {
		if t.Locations[i].Name == name {
			return i
		}
	}
	if len(t.Locations) == maxLocations {
		p.fail("more than %d locations; remove some", maxLocations)
	}
	t.Locations = append(t.Locations, Location{Name: name, Count: 1, Values: make([]uint64, 1)})
	return len(t.Locations) - 1
}

// settle gives a type to each register and location that has none: as wide as the widest
// access, an int at least.
func (t *Test) settle() {
	for i := range t.Threads {
		th := &t.Threads[i]
		for k := range th.Instrs {
			in := &th.Instrs[k]
			for _, o := range [...]*Operand{&in.Dst, &in.Src} {
				wide := typ{4, true}
				if in.Size == 8 {
					wide.size = 8
				}
				switch {
				case o.Kind == Memory && o.Location >= 0 && o.Base < 0 && o.Index < 0:
					widen(&t.Locations[o.Location].typ, wide)
				case o.Kind == Register:
					widen(&th.types[o.Reg.Num], wide)
				}
			}
			if in.Op == opCmpxchg && in.Size == 8 {
				widen(&th.types[accumulator], typ{8, true})
			}
		}
	}
	for i := range t.Locations {
		widen(&t.Locations[i].typ, typ{4, true})
		t.Locations[i].typ.size = t.Locations[i].typ.bytes()
	}
	for i := range t.Seen {
		t.settleRef(&t.Seen[i])
	}
	t.settleProp(t.Cond)
	t.settleProp(t.Filter)
}

// widen makes a type that isn't declared as wide as another. Such a type has a size
// below 0 while it may still grow.
func widen(y *typ, wide typ) {
	if y.size <= 0 && -wide.size < y.size {
		*y = typ{-wide.size, wide.signed}
	}
}

func (y typ) bytes() int {
	if y.size == 0 {
		return 4
	}
	return max(y.size, -y.size)
}

func (t *Test) settleRef(r *Ref) {
	y := typ{}
	if r.Proc >= 0 {
		y = t.Threads[r.Proc].types[r.Reg]
		if y.size == 0 {
			y.signed = true
		}
	} else {
		y = t.Locations[r.Location].typ
	}
	r.Size, r.Signed = y.bytes(), y.signed
}

func (t *Test) settleProp(p *Prop) {
	if p == nil {
		return
	}
	for _, a := range p.Args {
		t.settleProp(a)
	}
	if p.Op == Equal || p.Op == Differs {
		t.settleRef(&p.Ref)
		if p.Value.Ref != nil {
			t.settleRef(p.Value.Ref)
		}
	}
}
