package closure

import (
	"cmp"
	"slices"
	"strings"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
)

// A Closure is the part of a kernel that runs as compiled, and what that part calls.
type Closure struct {
	Image    *vmlinux.Image
	Sets     []string   // the requested sets, and those that they need
	Inside   []Function // by address
	Boundary []Callee   // by name
	Special  []Site     // instructions that concern the machine, or that the simulator doesn't execute
	Indirect []Site     // calls and jumps through pointers, except paravirt's
	Paravirt int        // number of calls through pv_ops

	rows   []*Set
	code   *code
	byName map[string]*member
	aux    *vmlinux.Section // code that tests CPU features and that boot replaces; its jumps lead back
}

// A Function is one that runs as compiled.
type Function struct {
	Name  string
	Set   string
	File  string // its source file; empty: unknown
	Addr  uint64
	Size  uint64 // in bytes, without padding
	Insns int
	From  string // the function from which the walk reached it; empty: an entry
}

// A Callee is a function of the boundary.
type Callee struct {
	Name    string
	Addr    uint64
	Callers []Site // by address
}

// A Site is an instruction in an inside function.
type Site struct {
	Func string
	Off  uint64 // from the function's entry
	Addr uint64
	Text string // description; for a special instruction, the mnemonic

	Refused bool // the simulator doesn't execute it
}

// A Name is a function named by a set.
type Name struct{ Set, File, Name string }

// A member is the table's entry for a name.
type member struct{ set, file string }

// mostFunction is the maximum size of a function that is decoded, in bytes.
const mostFunction = 64 << 10

// Of walks the named sets; with no names, all sets.
func Of(im *vmlinux.Image, sets ...string) (*Closure, error) {
	if len(sets) == 0 {
		sets = setNames()
	}
	rows, err := Named(sets...)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(s *Set) bool { return s.On != nil && !slices.Contains(s.On, im.Processor()) })
	c := &Closure{Image: im, rows: rows, code: codeOf(im.Processor()), byName: make(map[string]*member),
		aux: im.Section(".altinstr_aux")}
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
	return c, nil
}

// learn adds the names of a set, but for those that an earlier one has.
func (c *Closure) learn(s *Set) {
	list := c.code.functions()
	for i := range list {
		if f := &list[i]; c.code.has(s, f) && c.byName[f.name] == nil {
			c.byName[f.name] = &member{s.Name, f.file}
		}
	}
	for _, name := range s.By {
		if c.byName[name] == nil {
			c.byName[name] = &member{set: s.Name}
		}
	}
}

// learnAdded adds the functions that an edit added to objects laid over the kernel. No known
// kernel has their names; the set of each is that of its caller.
func (c *Closure) learnAdded() {
	for _, s := range c.Image.Added() {
		if name := Base(s.Name); c.byName[name] == nil {
			c.byName[name] = new(member)
		}
	}
}

// Base returns a function's name in the source, without the suffix that the compiler adds to a
// part or a variant of it.
func Base(name string) string {
	for _, suffix := range [...]string{".part.", ".constprop.", ".isra.", ".cold"} {
		if i := strings.Index(name, suffix); i > 0 {
			name = name[:i]
		}
	}
	return name
}

// Missing returns the functions that other kernels of this series have. It looks through all symbols.
func (c *Closure) Missing() (list []Name) {
	there := make(map[string]bool)
	for _, s := range c.Image.Symbols() {
		there[Base(s.Name)] = true
	}
	series := Series(c.Image.Release)
	for _, s := range c.rows {
		all := c.code.functions()
		for i := range all {
			if f := &all[i]; c.code.has(s, f) && slices.Contains(f.series, series) && !there[f.name] {
				list = append(list, Name{s.Name, f.file, f.name})
			}
		}
	}
	return list
}

// Series returns the version that identifies a series: "6.1" for "6.1.0-50-amd64".
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

// Function returns the inside function that contains an address, or nil.
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

// Decode calls visit with each instruction of a function. Where several instructions make a branch, the
// last of them is the branch.
func (c *Closure) Decode(f *Function, visit func(in arch.Inst)) {
	c.decode(f, func(in arch.Inst, _ uint64) { visit(in) })
}

// decode is Decode, which hands over the address that an instruction takes, too; 0: none.
func (c *Closure) decode(f *Function, visit func(in arch.Inst, taken uint64)) {
	code := c.Image.Bytes(f.Addr, f.Size)
	follow := c.code.follow(c, f)
	for len(code) > 0 {
		in, err := c.Image.Decode(code, f.Addr+f.Size-uint64(len(code)))
		if err != nil {
			return
		}
		visit(follow(in))
		code = code[in.Size():]
		code = code[c.tableAfter(in, code):]
	}
}

// tableAfter returns the size of the jump table that lies after an instruction, in bytes.
func (c *Closure) tableAfter(in arch.Inst, code []byte) int {
	if c.code.table == nil || in.Flow() != arch.FlowIndirectJump {
		return 0
	}
	return c.code.table(code)
}

// A Kind classifies the target of a direct call or jump.
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

// Target returns the target of a direct call or jump of a function. A static call counts as a
// call of its initial target.
func (c *Closure) Target(f *Function, in arch.Inst) (vmlinux.Symbol, Kind) {
	t, ok := in.Target()
	if !ok {
		return vmlinux.Symbol{}, Nowhere
	}
	to := uint64(t)
	if to >= f.Addr && to < f.Addr+f.Size {
		return vmlinux.Symbol{Name: f.Name, Addr: f.Addr}, Own
	}
	for range 4 { // trampolines lead to functions; in a hostile kernel they may form a cycle
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

// names returns the symbols at an address.
func (c *Closure) names(addr uint64) []vmlinux.Symbol {
	all := c.Image.Symbols()
	i, _ := slices.BinarySearchFunc(all, addr, func(s vmlinux.Symbol, a uint64) int { return cmp.Compare(s.Addr, a) })
	end := i
	for end < len(all) && all[end].Addr == addr {
		end++
	}
	return all[i:end]
}

// at chooses among the names of a function: one that a set has, otherwise the first that other
// files can call.
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
	if m := c.compiled(s); m != nil {
		return best, m
	}
	return best, nil
}

// compiled returns the member for a function that no table has, in a kernel whose DWARF says which file it was compiled
// from: another compiler inlines other functions, and a new release has new ones. Otherwise it returns nil.
func (c *Closure) compiled(s vmlinux.Symbol) *member {
	file := ""
	if s.Func {
		file = vmlinux.Unit(c.Image, s.Addr)
	}
	for _, row := range c.rows {
		for _, f := range row.Files {
			if row.Only == nil && file != "" && (file == f || strings.HasSuffix(file, "/"+f)) {
				m := &member{row.Name, f}
				c.byName[Base(s.Name)] = m
				return m
			}
		}
	}
	return nil
}
