package proof

import (
	"reflect"
	"strings"
	"unsafe"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// sort is what a piece of a value is, and what of it counts in a state.
type sort uint8

const (
	asTyped    sort = iota // in a rule: what its type says
	plainWords             // size bytes
	aPointer               // which object it points to, and what that holds
	aSlice                 // its length and its elements
	aTrimmed               // a slice whose elements of nothing but zeros at the end don't count
	aSet                   // a slice in any order
	aList                  // a slice of pointers that aren't followed
	aString                // its bytes
	aMap                   // its entries in any order, keys and values as words
	anArray                // n elements
	aSeq                   // the ordinal of an event: which marks lie before it
	aMark                  // an ordinal that others are compared with
	aWhile                 // what elem says, while the word at guard isn't zero
	anAddress              // the type of an interface's value, and which object: what that holds is found elsewhere
	aWeak                  // a pointer to what is mostly empty: that counts as none, and else what it points to
	anInst                 // a pointer to an instruction, or an interface that holds one: its address and bytes
)

// A piece is one of those that a value consists of.
type piece struct {
	sort  sort
	off   uintptr
	size  uintptr // of plainWords; of an element
	n     int     // of anArray
	guard uintptr // aWhile: where that word is; aSeq: where the vector is
	elem  *layout
	typ   reflect.Type // of aMap, anInst
}

// A layout says where in a value of a type is what counts.
type layout struct {
	size   uintptr
	plain  bool // all of it is words without padding
	pieces []piece
}

// nothing is the layout of what isn't followed.
var nothing = new(layout)

// A rule says that a field doesn't count, or not as its type says. The package that owns
// the field gives it in a tag `state:"…"`: a word, and after a colon the reason. A field
// without one counts as its type says. A field that is left out wrongly makes states equal
// that aren't, which the runs that go on from both of two equal states show (mergeCheck).
type rule struct {
	sort sort
	skip bool
	boot bool   // skipped, since it doesn't change in a run
	by   string // aWhile, aSeq: the field that it depends on
}

// ruleWords are those of tags.
var ruleWords = map[string]rule{
	"boot":    {skip: true, boot: true},
	"skip":    {skip: true},
	"list":    {sort: aList},
	"set":     {sort: aSet},
	"trimmed": {sort: aTrimmed},
	"mark":    {sort: aMark},
	"weak":    {sort: aWeak},
	"address": {sort: anAddress},
	"during":  {sort: aWhile}, // FIELD: counts while that isn't zero
	"ordinal": {sort: aSeq},   // FIELD: counts if that is a breakpoint's vector
}

// ruleOf returns the rule of a field.
func ruleOf(f *reflect.StructField) (r rule, ok bool) {
	tag, ok := f.Tag.Lookup("state")
	if !ok {
		return rule{}, false
	}
	says, _, _ := strings.Cut(tag, ":")
	word, by, _ := strings.Cut(says, " ")
	r, ok = ruleWords[word]
	if !ok {
		sim.Bug("field %s: no rule is called %q", f.Name, word)
	}
	r.by = by
	return r, true
}

// A layouts makes layouts of types, each once.
type layouts struct {
	of          map[reflect.Type]*layout
	forgotten   string // "package.Type.field" that is left out although it counts: for tests
	notFollowed []reflect.Type
	used        map[string]rule // of fields, by "package.Type.field"
	at          string          // the field whose layout is being made
	unruled     []string        // fields whose values can't be read, and that have no rule
}

func newLayouts(forgotten string, notFollowed []reflect.Type) *layouts {
	return &layouts{of: make(map[reflect.Type]*layout), forgotten: forgotten, notFollowed: notFollowed,
		used: make(map[string]rule)}
}

func (ls *layouts) layout(t reflect.Type) *layout {
	if l := ls.of[t]; l != nil {
		return l
	}
	l := &layout{size: t.Size()}
	ls.of[t] = l
	ls.add(l, t, 0)
	l.plain = len(l.pieces) == 1 && l.pieces[0].sort == plainWords && l.pieces[0].size == t.Size()
	return l
}

// words adds plain words, to the piece before if they follow it.
func (l *layout) words(off, size uintptr) {
	if n := len(l.pieces); n > 0 {
		if p := &l.pieces[n-1]; p.sort == plainWords && p.off+p.size == off {
			p.size += size
			return
		}
	}
	l.pieces = append(l.pieces, piece{sort: plainWords, off: off, size: size})
}

// add adds a value of type t as its type says.
func (ls *layouts) add(l *layout, t reflect.Type, off uintptr) {
	if isInst(t) {
		l.pieces = append(l.pieces, piece{sort: anInst, off: off, typ: t})
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		for _, n := range ls.notFollowed {
			if t.Elem() == n {
				l.pieces = append(l.pieces, piece{sort: aPointer, off: off, elem: nothing})
				return
			}
		}
		l.pieces = append(l.pieces, piece{sort: aPointer, off: off, elem: ls.layout(t.Elem())})
	case reflect.Slice:
		ls.slice(l, t, off, aSlice)
	case reflect.String:
		l.pieces = append(l.pieces, piece{sort: aString, off: off})
	case reflect.Map:
		l.pieces = append(l.pieces, piece{sort: aMap, off: off, typ: t})
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				ls.field(l, t, &f, off+f.Offset)
			}
		}
	case reflect.Array:
		if e := ls.layout(t.Elem()); e.plain {
			l.words(off, t.Size())
		} else {
			l.pieces = append(l.pieces, piece{sort: anArray, off: off, elem: e, size: t.Elem().Size(), n: t.Len()})
		}
	case reflect.UnsafePointer, reflect.Chan, reflect.Func, reflect.Interface:
		ls.unruled = append(ls.unruled, ls.at)
	default:
		l.words(off, t.Size())
	}
}

// isInst reports whether a value of the type holds an instruction.
func isInst(t reflect.Type) bool {
	return t == reflect.TypeFor[*x86.Inst]() || t == reflect.TypeFor[arch.Inst]()
}

// field adds a field of type t's, by its rule if it has one.
func (ls *layouts) field(l *layout, t reflect.Type, f *reflect.StructField, at uintptr) {
	key := t.String() + "." + f.Name
	r, ok := ruleOf(f)
	if key == ls.forgotten {
		return
	}
	if !ok {
		ls.at = key
		ls.add(l, f.Type, at)
		return
	}
	ls.used[key] = r
	by := uintptr(0)
	if r.by != "" {
		g, _ := t.FieldByName(r.by)
		by = at - f.Offset + g.Offset
	}
	switch {
	case r.skip:
	case r.sort == aWeak:
		l.pieces = append(l.pieces, piece{sort: aWeak, off: at, elem: ls.layout(f.Type.Elem())})
	case r.sort == aWhile:
		l.pieces = append(l.pieces, piece{sort: aWhile, off: at, guard: by, elem: ls.layout(f.Type)})
	case r.sort == anAddress:
		l.words(at, 8)
		l.pieces = append(l.pieces, piece{sort: aPointer, off: at + 8, elem: nothing})
	case r.sort == aSeq:
		l.pieces = append(l.pieces, piece{sort: aSeq, off: at, guard: by})
	case f.Type.Kind() == reflect.Slice:
		ls.slice(l, f.Type, at, r.sort)
	default:
		sim.Bug("the rule for %s doesn't suit a %v", key, f.Type)
	}
}

// slice adds a slice.
func (ls *layouts) slice(l *layout, t reflect.Type, off uintptr, s sort) {
	p := piece{sort: s, off: off, size: t.Elem().Size()}
	switch s {
	case aList:
		p.sort, p.elem = aSlice, &layout{pieces: []piece{{sort: aPointer, elem: nothing}}}
	case aMark:
		p.sort, p.elem = aSlice, &layout{pieces: []piece{{sort: aMark}}}
	default:
		p.elem = ls.layout(t.Elem())
	}
	l.pieces = append(l.pieces, p)
}

// empty reports whether a value is nothing but zeros and empty slices.
func (l *layout) empty(at unsafe.Pointer) bool {
	for i := range l.pieces {
		p := &l.pieces[i]
		f := unsafe.Add(at, p.off)
		switch p.sort {
		case plainWords:
			for k := range p.size {
				if *(*byte)(unsafe.Add(f, k)) != 0 {
					return false
				}
			}
		case aPointer:
			if *(*unsafe.Pointer)(f) != nil {
				return false
			}
		case aWeak:
			if at := *(*unsafe.Pointer)(f); at != nil && !p.elem.empty(at) {
				return false
			}
		case anInst:
			if p.inst(f) != nil {
				return false
			}
		case aSlice, aTrimmed:
			x := (*sliceHeader)(f)
			for k := range x.n {
				if p.sort == aSlice || !p.elem.empty(unsafe.Add(x.data, uintptr(k)*p.size)) {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// inst returns the instruction that the piece at f, an anInst, points to.
func (p *piece) inst(f unsafe.Pointer) *x86.Inst {
	if p.typ.Kind() == reflect.Pointer {
		return *(**x86.Inst)(f)
	}
	in, _ := (*(*arch.Inst)(f)).(*x86.Inst)
	return in
}

// A sliceHeader is what a slice is in memory.
type sliceHeader struct {
	data unsafe.Pointer
	n    int
	_    int
}
