package change

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/lazyregexp"
	"kpsim/linux"
	"kpsim/linux/closure"
	"kpsim/linux/source"
	"kpsim/smp/arch"
)

// A Code is the difference between the machine code of two kernels' engines.
type Code struct {
	Functions []Function // differing functions of both, by name
	New, Gone []Function // functions that only the second kernel, or only the first, runs as compiled
	Calls     []string   // external functions that only the second kernel's engine calls
	CallsGone []string
	Places    []Place // in the second kernel's code, by address
	Left      int     // places beyond mostPlaces, which are ignored
}

// A Function is one that differs.
type Function struct {
	Name         string
	Before, Now  int      // number of instructions
	Gone, Added  int      // number of instructions that the other kernel's function lacks
	Called       []string // called only after the change
	CalledBefore []string // called only before the change
}

// A Place is a place that a run may reach: the entry of a function that differs or is new, or a
// line of it with added instructions.
type Place struct {
	Func  string
	Line  string // "kernel/kprobes.c:628", or "+0x1c" in Func if lines aren't known
	Entry bool
	Addrs []arch.Addr // instructions; reaching one is enough
}

// mostPlaces is the maximum number of places that runs are checked for.
const mostPlaces = 400

// CodeOf compares the functions of two kernels' engines by name. Addresses of functions, data and
// text don't count.
func CodeOf(before, after *linux.Kernel, src *source.Source) *Code {
	c, was := new(Code), listed(before.Closure)
	old := make(map[string]*listing)
	for i := range was {
		old[was[i].f.Name] = &was[i]
	}
	now := listed(after.Closure)
	for i := range now {
		l := &now[i]
		if old[l.f.Name] == nil { // the compiler may have split off another part
			for j := range was {
				if b := &was[j]; closure.Base(b.f.Name) == closure.Base(l.f.Name) &&
					!slices.ContainsFunc(now, func(n listing) bool { return n.f.Name == b.f.Name }) && !b.taken {
					old[l.f.Name] = b
					break
				}
			}
		}
		b := old[l.f.Name]
		if b == nil {
			c.New = append(c.New, Function{Name: l.f.Name, Now: len(l.code), Added: len(l.code)})
			c.places(src, l, nil)
			continue
		}
		b.taken = true
		gone, added := differing(b, l)
		if len(gone)+len(added) == 0 {
			continue
		}
		f := Function{Name: l.f.Name, Before: len(b.code), Now: len(l.code), Gone: len(gone), Added: len(added)}
		f.Called, f.CalledBefore = calledOnly(l, b), calledOnly(b, l)
		c.Functions = append(c.Functions, f)
		c.places(src, l, added)
	}
	for i := range was {
		if b := &was[i]; !b.taken {
			c.Gone = append(c.Gone, Function{Name: b.f.Name, Before: len(b.code), Gone: len(b.code)})
		}
	}
	c.Calls, c.CallsGone = onlyIn(after.Closure, before.Closure), onlyIn(before.Closure, after.Closure)
	byName := func(a, b Function) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(c.Functions, byName)
	slices.SortFunc(c.New, byName)
	slices.SortFunc(c.Gone, byName)
	if n := len(c.Places) - mostPlaces; n > 0 {
		slices.SortStableFunc(c.Places, func(a, b Place) int { return b2i(b.Entry) - b2i(a.Entry) }) // entries first
		c.Places, c.Left = c.Places[:mostPlaces], n
	}
	return c
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Same reports whether nothing differs.
func (c *Code) Same() bool {
	return len(c.Functions)+len(c.New)+len(c.Gone)+len(c.Calls)+len(c.CallsGone) == 0
}

// differ returns the names of the functions that differ, are new or are gone, without what the compiler adds.
func (c *Code) differ() (names []string) {
	for _, list := range [][]Function{c.Functions, c.New, c.Gone} {
		for i := range list {
			names = append(names, closure.Base(list[i].Name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// places adds a function's entry, and the lines of the instructions whose numbers are in added.
func (c *Code) places(src *source.Source, l *listing, added []int) {
	at, _ := l.of.Image.At(l.f.Addr)
	c.Places = append(c.Places, Place{Func: l.f.Name, Line: cmp.Or(src.Line(arch.Addr(l.f.Addr)), "+0x0"), Entry: true,
		Addrs: []arch.Addr{arch.Addr(l.f.Addr + at.Near())}}) // which all calls come to
	for k, i := range added {
		in := l.code[i]
		line, name := src.Line(in.At()), l.f.Name
		if line == "" { // adjacent added instructions are one place
			if p := &c.Places[len(c.Places)-1]; k > 0 && added[k-1] == i-1 && !p.Entry {
				p.Addrs = append(p.Addrs, in.At())
				continue
			}
			line = fmt.Sprintf("+%#x", uint64(in.At())-l.f.Addr)
		} else {
			name = src.Frames(in.At())[0].Func
		}
		n := slices.IndexFunc(c.Places, func(p Place) bool { return !p.Entry && p.Func == name && p.Line == line })
		if n < 0 { // a line may be inlined in several functions
			n = len(c.Places)
			c.Places = append(c.Places, Place{Func: name, Line: line})
		}
		c.Places[n].Addrs = append(c.Places[n].Addrs, in.At())
	}
}

// onlyIn returns the names of external functions that only a calls.
func onlyIn(a, b *closure.Closure) (names []string) {
	for i := range a.Boundary {
		name := a.Boundary[i].Name
		if !slices.ContainsFunc(b.Boundary, func(c closure.Callee) bool { return c.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// A listing is a function's instructions.
type listing struct {
	f     *closure.Function
	of    *closure.Closure
	code  []arch.Inst
	text  []string // each instruction without addresses
	calls []string // each instruction's external call or jump target, "" if none
	taken bool
}

// listed lists the functions that run as compiled.
func listed(c *closure.Closure) (list []listing) {
	for i := range c.Inside {
		l := listing{f: &c.Inside[i], of: c}
		c.Decode(l.f, func(in arch.Inst) { l.code = append(l.code, in) })
		l.cut()
		for i := range l.code {
			text, call := l.says(l.code[i])
			l.text, l.calls = append(l.text, text), append(l.calls, call)
		}
		list = append(list, l)
	}
	return list
}

// cut removes what follows the function: padding, and small functions whose symbols kallsyms
// dropped.
func (l *listing) cut() {
	n := len(l.code)
	for i := range l.code {
		in := l.code[i]
		if s, _ := l.of.Target(l.f, in); s.Name == "__fentry__" && i > fentryLatest {
			n = i
			break
		}
	}
	for n > 0 && padding(l.code[n-1]) {
		n--
	}
	l.code = l.code[:n]
}

// fentryLatest is the highest number of the instruction that may be the ftrace call: endbr64 may
// come first.
const fentryLatest = 1

// far matches a number that may be an address or a difference of addresses.
var far = lazyregexp.New(`-?0x[0-9a-f]{8,}`)

// says returns an instruction without addresses, and its external call or jump target.
func (l *listing) says(in arch.Inst) (text, call string) {
	text, _, _ = strings.Cut(in.String(), " # ")
	if _, ok := in.Target(); ok {
		mnemonic, _, _ := strings.Cut(text, " ")
		switch s, kind := l.of.Target(l.f, in); kind {
		case closure.Own:
			return mnemonic + " .", ""
		case closure.Nowhere:
			return mnemonic + " @", ""
		default:
			name := closure.Base(s.Name)
			if text = mnemonic + " <" + name + ">"; name == closure.Base(l.f.Name) {
				return text, "" // a part of the function that the compiler moved elsewhere
			}
			return text, name
		}
	}
	if _, ok := in.IPOperand(); ok {
		if i, j := strings.LastIndex(text[:strings.Index(text, "(%rip)")+1], "0x"),
			strings.Index(text, "(%rip)"); i >= 0 {
			text = strings.TrimSuffix(text[:i], "-") + "@" + text[j:]
		}
	}
	return far().ReplaceAllString(text, "@"), ""
}

// differing returns the numbers of the instructions that only a has and that only b has. They are
// as few as possible, unless the functions are too large to determine that.
func differing(a, b *listing) (gone, added []int) {
	pairs := common(a.text, b.text)
	to := make(map[arch.Addr]arch.Addr) // from a's addresses to b's
	for _, p := range pairs {
		to[a.code[p[0]].At()] = b.code[p[1]].At()
	}
	inA, inB := make([]bool, len(a.text)), make([]bool, len(b.text))
	for _, p := range pairs {
		x, y := a.code[p[0]], b.code[p[1]]
		s, own := x.Target()
		t, _ := y.Target()
		if at, ok := to[s]; own && a.text[p[0]] != "" && strings.HasSuffix(a.text[p[0]], " .") && ok && at != t {
			continue // another target
		}
		inA[p[0]], inB[p[1]] = true, true
	}
	return falses(inA), falses(inB)
}

func falses(list []bool) (at []int) {
	for i, v := range list {
		if !v {
			at = append(at, i)
		}
	}
	return at
}

// mostCompared is the maximum product of the lengths of two texts.
const mostCompared = 1 << 24

// common returns the pairs of a longest common subsequence.
func common(a, b []string) (pairs [][2]int) {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		pairs = append(pairs, [2]int{head, head})
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	pairs = append(pairs, between(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := tail; i > 0; i-- {
		pairs = append(pairs, [2]int{len(a) - i, len(b) - i})
	}
	return pairs
}

// between is common for lists that start at off and have no common beginning or end.
func between(a, b []string, off int) (pairs [][2]int) {
	if len(a)*len(b) > mostCompared {
		return nil
	}
	n := len(b) + 1
	longest := make([]int32, (len(a)+1)*n) // longest common subsequence of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i*n+j] = longest[(i+1)*n+j+1] + 1
			} else {
				longest[i*n+j] = max(longest[(i+1)*n+j], longest[i*n+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs = append(pairs, [2]int{off + i, off + j})
			i, j = i+1, j+1
		case longest[(i+1)*n+j] >= longest[i*n+j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// calledOnly returns the names that a calls and b doesn't.
func calledOnly(a, b *listing) (names []string) {
	for _, name := range a.calls {
		if name != "" && !slices.Contains(names, name) && !slices.Contains(b.calls, name) {
			names = append(names, name)
		}
	}
	return names
}
