package lang

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// A module is a placed .ko. Only the used parts become part of the scenario, because a trace
// couldn't hold thousands of functions.
type module struct {
	*object
	l     *loader
	img   *image.Image
	c     *call           // elf()
	known map[string]bool // functions that can be named
	used  map[arch.Addr]bool
}

// newModule makes the object whose functions are added when they are named.
func (l *loader) newModule(file string, base arch.Addr, img *image.Image, c *call) *module {
	m := &module{
		object: &object{file: file, symbols: make(map[string]location)},
		l:      l, img: img, c: c, known: make(map[string]bool), used: make(map[arch.Addr]bool),
	}
	end := base
	for i := range img.Funcs {
		f := &img.Funcs[i]
		m.names = append(m.names, f.Name)
		m.known[f.Name] = true
		end = max(end, f.Addr+arch.Addr(len(f.Code)))
	}
	for i := range img.Blocks {
		b := &img.Blocks[i]
		m.names = append(m.names, b.Name)
		m.known[b.Name] = true
		end = max(end, b.Addr+arch.Addr(len(b.Bytes)))
	}
	for _, s := range img.Imports {
		end = max(end, s.End())
	}
	l.advancePast(base, int(end-base), scenario.Page)
	return m
}

// Attr is m.name: the function becomes part of the scenario, with all that it
// refers to.
func (m *module) Attr(name string) (starlark.Value, error) {
	if m.known[name] {
		for i := range m.img.Funcs {
			if f := &m.img.Funcs[i]; f.Name == name {
				m.use(f.Addr)
				break // of two static functions of one name, the first
			}
		}
		for i := range m.img.Blocks {
			if b := &m.img.Blocks[i]; b.Name == name {
				m.use(b.Addr)
			}
		}
	}
	return m.object.Attr(name)
}

// Get is m["name"].
func (m *module) Get(key starlark.Value) (v starlark.Value, found bool, err error) {
	name, err := m.key(key)
	if err != nil {
		return nil, false, err
	}
	v, err = m.Attr(name)
	return v, err == nil, err
}

// use adds what lies at an address, and everything that it refers to.
func (m *module) use(at arch.Addr) {
	for list := []arch.Addr{at}; len(list) > 0; {
		at, list = list[len(list)-1], list[:len(list)-1]
		list = append(list, m.add(at)...)
	}
}

// add adds the function, the block or the missing symbol that holds an address,
// if it isn't there yet, and returns what its bytes may refer to.
func (m *module) add(at arch.Addr) []arch.Addr {
	inside := func(from arch.Addr, n int) bool { return at >= from && at < from+arch.Addr(n) }
	for i := range m.img.Funcs {
		if f := &m.img.Funcs[i]; inside(f.Addr, len(f.Code)) {
			if m.firstUse(f.Addr) {
				name := f.Name
				if _, taken := m.l.symbols[name]; taken { // static functions of two files, or one of the scenario's
					name = fmt.Sprintf("%s@%#x", f.Name, uint64(f.Addr))
				}
				m.l.padding[name] = f.Padding
				p := m.l.addText(scenario.Text{Name: name, At: f.Addr, Code: f.Code, Extable: sorted(f.Extable)}, m.c)
				if _, there := m.symbols[f.Name]; !there {
					m.symbols[f.Name] = p
				}
				return codeRefs(m.l.s.Machine.Processor(), f.Code, f.Addr)
			}
			return nil
		}
	}
	for i := range m.img.Blocks {
		if b := &m.img.Blocks[i]; inside(b.Addr, len(b.Bytes)) {
			if m.firstUse(b.Addr) {
				m.symbols[b.Name] = m.l.addBlock(m.file, b, m.c)
				return wordRefs(m.l.s.Machine.Processor(), b.Bytes, 4)
			}
			return nil
		}
	}
	for i := range m.img.Imports {
		if s := &m.img.Imports[i]; inside(s.Addr, s.Size) && m.firstUse(s.Addr) {
			m.l.add(scenario.TheMissing, &scenario.Missing{Name: s.Name, At: s.Addr, Size: s.Size}, m.c)
		}
	}
	return nil
}

// firstUse reports whether an address is used for the first time.
func (m *module) firstUse(at arch.Addr) bool {
	was := m.used[at]
	m.used[at] = true
	return !was
}

// codeRefs returns the addresses that code may refer to: targets, and whatever
// reads as one in displacements and immediates. One too many costs a few lines
// of a trace, one too few a run.
func codeRefs(a *arch.Arch, code []byte, at arch.Addr) (refs []arch.Addr) {
	mode := x86.Mode64
	if a.Word == 4 {
		mode = x86.Mode32
	}
	for len(code) > 0 {
		n := 1
		if in, err := mode.Decode(code, at); err == nil {
			n = int(in.Len)
			if t, ok := in.Target(); ok {
				refs = append(refs, t)
			}
			if pos, ok := in.RIPRelative(); ok {
				refs = append(refs, in.Next()+arch.Addr(int32(binary.LittleEndian.Uint32(code[pos:]))))
			}
			refs = append(refs, wordRefs(a, code[1:n], 1)...)
		}
		code, at = code[n:], at+arch.Addr(n)
	}
	return refs
}

// wordRefs returns what b holds at each multiple of step, read as a 32-bit
// address, of 64 bits with its sign: of an address in a kernel's text that is the low half.
func wordRefs(a *arch.Arch, b []byte, step int) (refs []arch.Addr) {
	for ; len(b) >= 4; b = b[min(step, len(b)):] {
		if v := int32(binary.LittleEndian.Uint32(b)); v < 0 {
			refs = append(refs, a.Addr(arch.Addr(int64(v))))
		}
	}
	return refs
}

// doStub makes a function that stands for one of the kernel's.
func (l *loader) doStub(c *call) (starlark.Value, error) {
	var name string
	var returns, fill, calls starlark.Value
	err := c.unpack("name", &name, "returns??", &returns, "fill??", &fill, "calls??", &calls)
	if err != nil {
		return nil, err
	}
	row := l.s.Machine.Processor()
	if row.Set == nil {
		return nil, fmt.Errorf("stub %q: kpsim makes no functions of %s; write text(%q, …)", name, l.s.Machine.Arch,
			name)
	}
	var code []byte
	if fill != nil {
		if code, err = l.fillCode(name, fill); err != nil {
			return nil, err
		}
	}
	at := l.text
	switch {
	case calls != nil && returns != nil:
		return nil, fmt.Errorf("stub %q returns what it calls returns; leave returns or calls out", name)
	case calls != nil:
		f, err := l.jumpsTo(calls)
		if err != nil {
			return nil, err
		}
		jump, ok := row.Jump(at+arch.Addr(len(code)), arch.Addr(f.address()))
		if !ok {
			return nil, fmt.Errorf("stub %q: %s is out of reach of a jump; place it within %s of the stub", name, f,
				row.Reach)
		}
		code = append(code, jump.Bytes()...)
	default:
		n := uint64(0)
		if returns != nil {
			if n, err = number("returns", returns); err != nil {
				return nil, err
			}
		}
		code = append(append(code, row.Set(row.Result, n)...), row.Ret...)
	}
	return l.addText(scenario.Text{Name: name, At: at, Code: code}, c), nil
}

// jumpsTo reads a function, or the name of one of the kernel's.
func (l *loader) jumpsTo(v starlark.Value) (location, error) {
	name, ok := starlark.AsString(v)
	if !ok {
		return functionStart("calls", v)
	}
	at, ok := scenario.KernelExport(name)
	if !ok {
		return location{}, fmt.Errorf("calls = %q isn't a function that the kernel exports; %s", name,
			nearest.OrAll(name, scenario.KernelExports()))
	}
	return location{what: "function", name: name, at: l.s.Machine.Processor().Addr(at)}, nil
}

// fillCode stores bytes where an argument points to.
func (l *loader) fillCode(name string, v starlark.Value) (code []byte, err error) {
	pair, ok := v.(starlark.Tuple)
	if !ok || len(pair) != 2 {
		return nil, fmt.Errorf("stub %q: fill is %s; write fill = (1, \"00ff\"): what the first argument points to",
			name, describe(v))
	}
	arg, err := starlark.AsInt32(pair[0])
	args := l.s.Machine.Processor().Args
	if err != nil || arg < 1 || arg > len(args) {
		return nil, fmt.Errorf("stub %q: argument %.40s isn't there; 1 to %d", name, pair[0].String(), len(args))
	}
	b, err := bytesOf("fill", ofPart(name), pair[1])
	if err != nil {
		return nil, err
	}
	return l.s.Machine.Processor().Put(args[arg-1], b), nil
}

// doInsns lists where the instructions of a function begin.
func (l *loader) doInsns(c *call) (starlark.Value, error) {
	var v starlark.Value
	if err := c.unpack("f", &v); err != nil {
		return nil, err
	}
	f, err := function("f", v)
	if err != nil {
		return nil, err
	}
	if f.off != 0 {
		return nil, fmt.Errorf("insns takes a whole function, not %s; give it %s, and leave out what you don't want", f,
			f.name)
	}
	var list []starlark.Value
	for i := range l.s.Texts {
		t := &l.s.Texts[i]
		if t.Name != f.name {
			continue
		}
		if err := l.budget.spend(len(t.Code), smallBytes*len(t.Code)); err != nil {
			return nil, err
		}
		for off := 0; off < len(t.Code)-l.padding[t.Name]; {
			in, err := l.s.Machine.Processor().Decode(t.Code[off:], t.At+arch.Addr(off))
			if err != nil {
				return nil, fmt.Errorf("%s+%#x: %w; give the offsets yourself", t.Name, off, err)
			}
			list = append(list, starlark.MakeInt(off))
			off += in.Size()
		}
	}
	return starlark.NewList(list), nil
}

func isModule(file string) bool { return strings.HasSuffix(file, ".ko") }

var (
	_ starlark.HasAttrs = (*module)(nil)
	_ starlark.Mapping  = (*module)(nil)
)

// addSites makes what an object's tables say of its functions part of the scenario, as
// far as those functions are: the call of __fentry__ is a site of ftrace, on a machine
// where probes or traces use ftrace; a place is reserved unless the program itself
// names its owner.
func (l *loader) addSites() {
	s := &l.s
	traced := s.Machine.Kernel.Ftrace || s.Does(act.Tracer) || s.Does(act.Livepatch)
	for i := range s.Texts {
		t := &s.Texts[i]
		if l.blacklisted[t.At] {
			l.reserve(scenario.Reserved{Func: t.Name, By: scenario.ReservedBlacklist}, i)
		}
		from, _ := slices.BinarySearchFunc(l.sites, t.At, func(x image.Site, a arch.Addr) int {
			return cmp.Compare(x.Addr, a)
		})
		for _, x := range l.sites[from:] {
			off := int(x.Addr - t.At)
			if x.Addr >= t.At+arch.Addr(len(t.Code)) {
				break
			}
			if off+x.Len > len(t.Code) || ownerNamed(s, t.Name, off) {
				continue
			}
			if x.Kind == image.SiteFentry {
				if form, ok := s.SiteForm(); ok && traced && s.SiteAt(form, t, off) {
					l.position[scenario.PartOf(scenario.TheSites,
						len(s.Sites))] = l.position[scenario.PartOf(scenario.TheTexts, i)]
					s.Sites = append(s.Sites, scenario.Site{Func: t.Name, Offset: off})
				}
			} else if k := slices.Index(scenario.ReasonKinds[:scenario.ReservedBlacklist], x.Kind); k >= 0 {
				l.reserve(scenario.Reserved{Func: t.Name, Offset: off, By: scenario.Reason(k), Size: x.Len}, i)
			}
		}
	}
}

func (l *loader) reserve(r scenario.Reserved, text int) {
	if slices.Contains(l.s.Reserved, r) {
		return
	}
	l.position[scenario.PartOf(scenario.TheReserved, len(l.s.Reserved))] = l.position[scenario.PartOf(scenario.TheTexts,
		text)]
	l.s.Reserved = append(l.s.Reserved, r)
}

// ownerNamed reports whether the program names the owner of a place in a function.
func ownerNamed(s *scenario.Scenario, function string, off int) (is bool) {
	s.Patched(func(t scenario.Patched) {
		owned := !t.Trampoline && t.Kind != image.SiteLock && t.Kind != image.SiteAlternative
		is = is || owned && t.Func == function && t.Offset == off
	})
	return is || slices.ContainsFunc(s.Reserved, func(x scenario.Reserved) bool {
		return x.By != scenario.ReservedBlacklist && x.Func == function && x.Offset == off
	})
}
