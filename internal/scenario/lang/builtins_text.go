package lang

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
	"kpsim/smp/image"
	"kpsim/smp/kernel"
)

// addText adds a function.
func (l *loader) addText(t scenario.Text, c *call) location {
	return l.add(scenario.TheTexts, &t, c).(location)
}

// advancePast moves the addresses of later parts past [at, at+n), to a multiple of
// boundary. Text keeps off the pages of an object's data.
func (l *loader) advancePast(at arch.Addr, n int, boundary arch.Addr) {
	end, a := at+arch.Addr(n), l.s.Machine.Processor()
	switch {
	case at >= a.Addr(scenario.TextBase) && at < a.Addr(scenario.KernelBase) && end > l.text:
		l.text = scenario.Align(end, boundary)
	case at >= a.Addr(scenario.DataBase) && end > l.data:
		l.data = scenario.Align(end, 16)
	}
}

// codeOf is bytesOf of code, whose instructions may be written as numbers.
func (l *loader) codeOf(what, of string, v starlark.Value) ([]byte, error) {
	return hexOf(what, of, v, l.s.Machine.Processor().Align)
}

// bytesOf reads what is given as hex: a string of it, a string of bytes, or a list of numbers and strings.
// what is the parameter, and of says whose, after a blank.
func bytesOf(what, of string, v starlark.Value) ([]byte, error) { return hexOf(what, of, v, 1) }

// ofPart says that a parameter is a part's.
func ofPart(name string) string { return fmt.Sprintf(" of %q", name) }

// hexOf is bytesOf of code whose instructions have multiples of unit bytes.
func hexOf(what, of string, v starlark.Value, unit int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case starlark.Bytes:
		return []byte(v), nil
	case starlark.String:
		if len(v) > scenario.MaxSource {
			return nil, fmt.Errorf("%s%s has %d characters; at most %d", what, of, len(v), scenario.MaxSource)
		}
		b, err := image.ParseCode(string(v), unit)
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w", what, of, err)
		}
		return b, nil
	case *starlark.List, starlark.Tuple:
		list, err := sequence(what, v, "")
		if err != nil {
			return nil, err
		}
		var b []byte
		for i := range list {
			if _, is := starlark.AsString(list[i]); is {
				more, err := hexOf(what, of, list[i], unit)
				if err != nil {
					return nil, err
				}
				if b = append(b, more...); len(b) > scenario.MaxSource {
					return nil, fmt.Errorf("%s%s has more than %d bytes; make it shorter, or put code into an "+
						"object file", what, of, scenario.MaxSource)
				}
				continue
			}
			n, err := starlark.AsInt32(list[i])
			if err != nil || n < 0 || n > 0xff {
				return nil, fmt.Errorf("%s[%d]%s is %.40s, no byte; write a number from 0 to 0xff, or a string of "+
					"digits", what, i, of, list[i].String())
			}
			b = append(b, byte(n))
		}
		return b, nil
	}
	return nil, fmt.Errorf("%s%s is %s; write pairs of digits, \"55 4889e5\"", what, of, describe(v))
}

// isFor returns an error if an object is of another processor than the machine's. What is no object is refused later.
func (l *loader) isFor(file string, raw []byte) error {
	on := l.s.Machine.Arch
	want := elf.Machine(l.s.Machine.Processor().ELF)
	is, err := image.MachineOf(raw)
	switch {
	case want == elf.EM_NONE:
		return fmt.Errorf("%s: kpsim links no objects of %s; give functions with text(), from a disassembly", file, on)
	case err != nil || is == want:
		return nil
	case is == elf.EM_X86_64 && want == elf.EM_386:
		return fmt.Errorf("%s: code of x86-64, and the machine is of i386; compile it with -m32 -mregparm=3", file)
	case is == elf.EM_386 && want == elf.EM_X86_64:
		return fmt.Errorf("%s: 32-bit code, and the machine is of x86-64; compile it with -m64, or write "+
			"machine(arch = \"i386\") above", file)
	}
	return fmt.Errorf("%s: code for %v, and the machine is of %s; compile it for that, or write machine(arch = …) "+
		"above", file, is, on)
}

// doELF links an object file at an address and adds all that is in it. What
// it refers to is looked up in what is loaded, then among the kernel's exports.
func (l *loader) doELF(c *call) (starlark.Value, error) {
	var file string
	var at starlark.Value
	if err := c.unpack("file", &file, "at??", &at); err != nil {
		return nil, err
	}
	if l.open == nil {
		return nil, fmt.Errorf("file %q can't be read here; give its functions with text()", file)
	}
	raw, err := l.open(file)
	if err != nil {
		return nil, fmt.Errorf("file %q can't be read: %w; its path is relative to the scenario's", file, err)
	}
	if err := l.budget.object(len(raw)); err != nil {
		return nil, err
	}
	if err := l.isFor(file, raw); err != nil {
		return nil, err
	}
	obj, err := image.ParseELF(file, raw)
	if err != nil {
		return nil, err
	}
	base, err := address(at, scenario.Align(l.text, 64))
	if err != nil {
		return nil, err
	}
	img, err := obj.Place(base, l.extern)
	if err != nil {
		return nil, err
	}

	l.sites = append(l.sites, img.Sites...)
	slices.SortStableFunc(l.sites, func(a, b image.Site) int { return cmp.Compare(a.Addr, b.Addr) })
	for _, f := range img.Funcs {
		l.blacklisted[f.Addr] = f.Blacklisted
	}
	if isModule(file) {
		return l.newModule(file, base, img, c), nil
	}
	o := &object{file: file, symbols: make(map[string]location)}
	for _, f := range img.Funcs {
		name := f.Name
		if _, taken := l.symbols[name]; taken && f.Local {
			name = file + ":" + name // two objects each have their static one
		}
		o.names = append(o.names, f.Name)
		l.padding[name] = f.Padding
		o.symbols[f.Name] = l.addText(scenario.Text{Name: name, At: f.Addr, Code: f.Code, Extable: sorted(f.Extable)},
			c)
	}
	for i := range img.Blocks {
		b := &img.Blocks[i]
		o.names = append(o.names, b.Name)
		o.symbols[b.Name] = l.addBlock(file, b, c)
	}
	for _, s := range img.Labels {
		in := o.symbols[s.In]
		in.off = int64(s.Off)
		if _, there := o.symbols[s.Name]; !there {
			o.names = append(o.names, s.Name)
			o.symbols[s.Name] = in
		}
		if _, taken := l.symbols[s.Name]; !taken && !s.Local {
			l.symbols[s.Name] = in.at + arch.Addr(s.Off)
		}
	}
	if len(o.names) == 0 {
		return nil, errors.New(file + " has no functions; compile it with -c and no -flto")
	}
	return o, nil
}

// perCPUSection holds the per-CPU variables of an object
// (include/linux/percpu-defs.h: PER_CPU_BASE_SECTION).
const perCPUSection = ".data..percpu"

// addBlock adds a data section of an object.
func (l *loader) addBlock(file string, b *image.Block, c *call) location {
	name := b.Name
	if _, taken := l.symbols[name]; taken {
		name = file + ":" + name // two objects each have their .rodata
	}
	d := &scenario.Data{Name: name, At: b.Addr, Bytes: b.Bytes, PerCPU: b.Name == perCPUSection}
	return l.add(scenario.TheDatas, d, c).(location)
}

func sorted(offsets []int) []int {
	slices.Sort(offsets)
	return offsets
}

// extern implements image.Extern.
func (l *loader) extern(symbol string) (at, entry arch.Addr, ok bool) {
	if at, ok := l.symbols[symbol]; ok {
		return at, l.entry(at), true
	}
	if at, ok = kernel.PerCPUVariable(symbol); !ok {
		at, ok = scenario.KernelExport(symbol)
	}
	return at, at, ok
}

// entry returns where code with the same TOC enters a function at an address.
func (l *loader) entry(at arch.Addr) arch.Addr {
	for i := range l.s.Texts {
		if t := &l.s.Texts[i]; t.At == at {
			return at + l.s.Machine.Processor().LocalEntry(t.Code)
		}
	}
	return at
}

// sequence reads a list or a tuple.
func sequence(what string, v starlark.Value, write string) ([]starlark.Value, error) {
	switch v := v.(type) {
	case *starlark.List:
		all := make([]starlark.Value, v.Len())
		for i := range all {
			all[i] = v.Index(i)
		}
		return all, nil
	case starlark.Tuple:
		return v, nil
	}
	return nil, fmt.Errorf("%s is %s, not a list; %s", what, describe(v), write)
}
