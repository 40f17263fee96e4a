package closure

import (
	"cmp"
	"slices"
	"strings"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// A Closure is what of a kernel runs as it was compiled, and what that calls.
type Closure struct {
	Image    *vmlinux.Image
	Sets     []string   // those asked for, and those they need
	Inside   []Function // by address
	Boundary []Callee   // by name
	Special  []Site     // instructions that concern the machine, or that x86 doesn't execute
	Indirect []Site     // calls and jumps through pointers, but for paravirt's
	Paravirt int        // how many calls go through pv_ops
	Missing  []Name     // functions that kernels of this series have

	byName map[string]*member
	aux    *vmlinux.Section // tests of CPU features that boot replaces; they lead back
}

// A Function is one that runs as it was compiled.
type Function struct {
	Name  string
	Set   string
	File  string // of the source; empty: it isn't known
	Addr  uint64
	Size  uint64 // in bytes, without what is only padding
	Insns int
	From  string // the function from which the walk reached it; empty: an entry
}

// A Callee is a function of the boundary.
type Callee struct {
	Name    string
	Addr    uint64
	Callers []Site // by address
}

// A Site is an instruction in a function that is inside.
type Site struct {
	Func string
	Off  uint64 // from the function's entry
	Addr uint64
	Text string // what there is, in words: of special ones the mnemonic

	Refused bool // x86 doesn't execute it
}

// A Name is a function that a set names.
type Name struct{ Set, File, Name string }

// member is what the table says of a name.
type member struct{ set, file string }

// mostFunction is the size up to which a function is decoded, in bytes.
const mostFunction = 64 << 10

// Of walks the sets of these names: without any, all that there are.
func Of(im *vmlinux.Image, sets ...string) (*Closure, error) {
	if len(sets) == 0 {
		sets = setNames()
	}
	rows, err := Named(sets...)
	if err != nil {
		return nil, err
	}
	c := &Closure{Image: im, byName: make(map[string]*member), aux: im.Section(".altinstr_aux")}
	for _, s := range rows {
		c.Sets = append(c.Sets, s.Name)
		c.learn(s)
	}
	c.learnAdded()
	w := walk{c: c, seen: make(map[uint64]bool), callees: make(map[uint64]*Callee), sets: make(map[string]*member)}
	for _, s := range rows {
		for _, name := range s.Entries {
			if sym, ok := im.Symbol(name); ok && sym.Func {
				w.enter(sym.Addr, "")
			}
		}
	}
	w.run()
	c.missing(rows)
	return c, nil
}

// learn takes the names of a set.
func (c *Closure) learn(s *Set) {
	list := functions()
	for i := range list {
		if f := &list[i]; s.has(f) {
			c.byName[f.name] = &member{s.Name, f.file}
		}
	}
	for _, name := range s.By {
		if c.byName[name] == nil {
			c.byName[name] = &member{set: s.Name}
		}
	}
}

// learnAdded takes the functions that an edit has added to the files of the objects that are laid
// over the kernel: no kernel whose names are known has them. Of which set each is its caller says.
func (c *Closure) learnAdded() {
	for _, s := range c.Image.Added() {
		if name := Base(s.Name); c.byName[name] == nil {
			c.byName[name] = new(member)
		}
	}
}

// Base is the name of a function in the source: without what the compiler adds when it
// compiles a part, or a variant, of it.
func Base(name string) string {
	for _, suffix := range [...]string{".part.", ".constprop.", ".isra.", ".cold"} {
		if i := strings.Index(name, suffix); i > 0 {
			name = name[:i]
		}
	}
	return name
}

// missing notes which functions this kernel should have by its series.
func (c *Closure) missing(rows []*Set) {
	there := make(map[string]bool)
	for _, s := range c.Image.Symbols() {
		there[Base(s.Name)] = true
	}
	series := Series(c.Image.Release)
	for _, s := range rows {
		list := functions()
		for i := range list {
			if f := &list[i]; s.has(f) && slices.Contains(f.series, series) && !there[f.name] {
				c.Missing = append(c.Missing, Name{s.Name, f.file, f.name})
			}
		}
	}
}

// Series is the version by which kernels are known: of "6.1.0-50-amd64" it is "6.1".
func Series(release string) string {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return release
	}
	minor := strings.IndexFunc(parts[1], func(r rune) bool { return r < '0' || r > '9' })
	if minor < 0 {
		minor = len(parts[1])
	}
	return parts[0] + "." + parts[1][:minor]
}

// Function returns the function that an address lies in, nil if it isn't inside.
func (c *Closure) Function(addr uint64) *Function {
	i, found := slices.BinarySearchFunc(c.Inside, addr, func(f Function, a uint64) int {
		return cmp.Compare(f.Addr, a)
	})
	if !found {
		i--
	}
	if i < 0 || addr >= c.Inside[i].Addr+max(c.Inside[i].Size, 1) {
		return nil
	}
	return &c.Inside[i]
}

// Decode calls visit with each instruction of a function.
func (c *Closure) Decode(f *Function, visit func(in *x86.Inst)) {
	code := c.Image.Bytes(f.Addr, f.Size)
	for len(code) > 0 {
		in, err := c.Image.Decode(code, f.Addr+f.Size-uint64(len(code)))
		if err != nil {
			return
		}
		visit(&in)
		code = code[in.Len:]
	}
}

// A Kind says what the target of a direct call or jump is.
type Kind uint8

// The kinds.
const (
	Own     Kind = iota // in the function itself
	Inner               // another function that is inside
	Outer               // of the boundary
	Thunk               // a return, or a call of ftrace
	Pointer             // a retpoline
	Nothing             // a static call that calls nothing
	Nowhere             // no function
)

// Target says what a direct call or jump of a function goes to. A static call counts as
// what it calls as the kernel is linked.
func (c *Closure) Target(f *Function, in *x86.Inst) (vmlinux.Symbol, Kind) {
	t, ok := in.Target()
	if !ok {
		return vmlinux.Symbol{}, Nowhere
	}
	to := uint64(t)
	if to >= f.Addr && to < f.Addr+f.Size {
		return vmlinux.Symbol{Name: f.Name, Addr: f.Addr}, Own
	}
	for range 4 { // trampolines lead to functions; a stranger's may lead in a circle
		if aux := c.aux; aux != nil && to >= aux.Addr && to < aux.Addr+aux.Size {
			return vmlinux.Symbol{Name: f.Name, Addr: f.Addr}, Own
		}
		s, ok := c.Image.Lookup(to)
		if !ok || !s.Func {
			return s, Nowhere
		}
		switch name := strings.TrimPrefix(s.Name, "__pi_"); {
		case name == "__fentry__", strings.HasSuffix(name, "return_thunk"), strings.HasPrefix(name, "__x86_return_"):
			return s, Thunk
		case strings.HasPrefix(name, "__x86_indirect_"):
			return s, Pointer
		case strings.HasPrefix(name, "__SCT__"):
			next, err := c.Image.Decode(c.Image.Bytes(to, 5), to)
			if err != nil || next.Flow() != arch.FlowJump {
				return s, Nothing
			}
			t, _ := next.Target()
			to = uint64(t)
			continue
		}
		s, m := c.at(s)
		if m != nil {
			return s, Inner
		}
		return s, Outer
	}
	return vmlinux.Symbol{}, Nowhere
}

// names are the symbols at an address.
func (c *Closure) names(addr uint64) []vmlinux.Symbol {
	all := c.Image.Symbols()
	i, _ := slices.BinarySearchFunc(all, addr, func(s vmlinux.Symbol, a uint64) int { return cmp.Compare(s.Addr, a) })
	end := i
	for end < len(all) && all[end].Addr == addr {
		end++
	}
	return all[i:end]
}

// at chooses the name of a function that has several: one that a set has, or the first
// that other files can call.
func (c *Closure) at(s vmlinux.Symbol) (vmlinux.Symbol, *member) {
	best := s
	for _, alias := range c.names(s.Addr) {
		if m := c.byName[Base(alias.Name)]; m != nil && alias.Func {
			return alias, m
		}
		if alias.Global && !best.Global {
			best = alias
		}
	}
	return best, nil
}
