package proof

import (
	"reflect"
	"strings"
	"unsafe"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// sort is the kind of a piece of a value. It says what of the piece counts in a state.
type sort uint8

const (
	asTyped    sort = iota // in a rule: as the type says
	plainWords             // size bytes
	aPointer               // the object it points to, and that object's contents
	aSlice                 // its length and its elements
	aTrimmed               // a slice; elements at its end that are all zeros don't count
	aSet                   // a slice in any order
	aList                  // a slice of pointers that aren't followed
	aString                // its bytes
	aMap                   // its entries in any order, keys and values as words
	anArray                // n elements
	aSeq                   // the ordinal of an event: the marks before it count
	aMark                  // an ordinal with which others are compared
	aWhile                 // as elem says, while the word at guard isn't zero
	anAddress              // an interface value's type and object; the object's contents are found elsewhere
	aWeak                  // a pointer to an object that is often empty: it then counts as nil, else by its contents
	anInst                 // a pointer to an instruction, or an interface that holds one: its address and bytes
)

// A piece is one part of a value.
type piece struct {
	sort  sort
	off   uintptr
	size  uintptr // for plainWords: their size; otherwise the size of an element
	n     int     // for anArray
	guard uintptr // for aWhile: the offset of that word; for aSeq: of the vector
	elem  *layout
	typ   reflect.Type // for aMap and anInst
}

// A layout says which parts of a value of a type count, and where they are.
type layout struct {
	size   uintptr
	plain  bool // it consists only of words without padding
	pieces []piece
}

// nothing is the layout of a value that isn't followed.
var nothing = new(layout)

// A rule says that a field doesn't count, or doesn't count as its type says. The package that
// owns the field gives the rule in a tag `state:"…"`: a word, and after a colon the reason. A
// field without a tag counts as its type says. If a field is left out wrongly, states become
// equal that aren't. The runs that continue from both of two equal states show such an error
// (mergeCheck).
type rule struct {
	sort sort
	skip bool
	boot bool   // skipped, because it doesn't change in a run
	by   string // for aWhile and aSeq: the field that it depends on
}

// ruleWords are the words of tags.
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

// A layouts makes the layouts of types, each once.
type layouts struct {
	of          map[reflect.Type]*layout
	forgotten   string // for tests: "package.Type.field" of a field that is left out although it counts
	notFollowed []reflect.Type
	used        map[string]rule // rules of fields, by "package.Type.field"
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

// words adds plain words. It extends the previous piece if they directly follow it.
func (l *layout) words(off, size uintptr) {
	if n := len(l.pieces); n > 0 {
		if p := &l.pieces[n-1]; p.sort == plainWords && p.off+p.size == off {
			p.size += size
			return
		}
	}
	l.pieces = append(l.pieces, piece{sort: plainWords, off: off, size: size})
}

// add adds a value of type t according to its type.
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

// field adds a field of type t, by its rule if it has one.
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

// empty reports whether a value consists of zeros and empty slices.
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

// A sliceHeader is the representation of a slice in memory.
type sliceHeader struct {
	data unsafe.Pointer
	n    int
	_    int
}
