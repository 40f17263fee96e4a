package kerneltest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/cilium/ebpf/btf"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// FakeText is where the text of a fake kernel begins, FakeDelta what it is made to
// move by.
const (
	FakeText  = 0xffffffff81000000
	FakeDelta = 0x10000000

	fakeText32 = 0xc1000000
)

// A Fake is a kernel made up: an ELF with the tables that package vmlinux reads, of
// a few kilobytes, and no code that would run. Zero fields are what a fake of
// 6.1 has.
type Fake struct {
	Names    []string // of its functions, 16 bytes each; more are added until there are 600
	Tables   string   // the release whose kallsyms tables it has: "6.1", "6.4" or "7.0"
	NoRelocs bool     // none follow the ELF
	Linked   bool     // as the linker leaves it: a symbol table, and relocations in sections of their own
	Release  string
	Bits32   bool              // it is for i386; not linked
	DWARF    map[string][]byte // its debug information, by section; then it has no BTF
	Flat     string            // the processor of a FlatImage: "riscv64" or "arm64"
}

// base is where its text begins.
func (f Fake) base() uint64 {
	if f.Flat != "" {
		return flatForms[f.Flat].base + flatForms[f.Flat].text
	}
	if f.Bits32 {
		return fakeText32
	}
	return FakeText
}

// Addr returns the address of the i-th function.
func (f Fake) Addr(i int) uint64 { return f.base() + 16*uint64(i) }

// word adds an address.
func (f Fake) word(b []byte, v uint64) []byte {
	if f.Bits32 {
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(b, v)
}

// functions is how many a fake has: two of the tables' markers need 512.
const functions = 600

// A layout collects the sections of a fake.
type layout struct {
	sections []fakeSection
}

type fakeSection struct {
	name  string
	kind  elf.SectionType
	flags elf.SectionFlag
	addr  uint64
	data  []byte
	size  uint64 // of one without data
	link  uint32
	info  uint32
	entry uint64
}

func (l *layout) add(name string, flags elf.SectionFlag, addr uint64, data []byte) {
	l.sections = append(l.sections, fakeSection{name: name, kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | flags,
		addr: addr, data: data})
}

// ELF returns the fake as a vmlinux, with the relocations of a vmlinuz behind it.
func (f Fake) ELF() []byte {
	le := binary.LittleEndian
	names := slices.Clone(f.Names)
	for len(names) < functions {
		names = append(names, fmt.Sprintf("fn_%d", len(names)))
	}
	base := f.base()
	rodata, btfAt, data, tables := base+0x200000, base+0x300000, base+0x400000, base+0x500000
	text := bytes.Repeat([]byte{0xc3, 0x90, 0x90, 0x90, 0x0f, 0x0b, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x90, 0x90}, functions)
	var l layout
	if !f.Bits32 {
		l.add(".data..percpu", elf.SHF_WRITE, 0, make([]byte, 64))
	}
	l.add(".text", elf.SHF_EXECINSTR, base, text)
	l.add(".rodata", 0, rodata, f.rodata(names, rodata))
	if len(f.DWARF) == 0 {
		l.add(".BTF", 0, btfAt, types())
	}

	pointer := f.word(nil, f.Addr(1))
	l.add(".data", elf.SHF_WRITE, data, append(pointer, make([]byte, 24)...))
	file := rodata + 8 + 256 // "fake.c", behind the banner
	row := func(section uint64, words ...uint64) (b []byte) {
		for i, to := range words {
			b = le.AppendUint32(b, uint32(to-section-4*uint64(i)))
		}
		return b
	}
	bug := row(tables, f.Addr(0)+4, file)
	if f.Bits32 {
		bug = f.word(f.word(nil, f.Addr(0)+4), file)
	}
	bug = le.AppendUint16(le.AppendUint16(bug, 42), 1)
	l.add("__bug_table", elf.SHF_WRITE, tables, bug)
	l.add(".return_sites", 0, tables+0x1000, row(tables+0x1000, f.Addr(0), f.Addr(1)))
	l.add("__ex_table", 0, tables+0x2000, append(row(tables+0x2000, f.Addr(2), f.Addr(3)), 1, 0, 0, 0))
	if f.Bits32 { // among the other data
		l.add(".data..percpu", elf.SHF_WRITE, tables+0x2800, make([]byte, 64))
	}
	l.sections = append(l.sections, fakeSection{name: ".bss", kind: elf.SHT_NOBITS,
		flags: elf.SHF_ALLOC | elf.SHF_WRITE, addr: tables + 0x3000, size: 4096})

	for _, name := range slices.Sorted(maps.Keys(f.DWARF)) {
		l.sections = append(l.sections, fakeSection{name: name, kind: elf.SHT_PROGBITS, data: f.DWARF[name]})
	}
	if f.Linked {
		l.link(f)
	}
	out := l.file(f)
	if f.NoRelocs || f.Linked {
		return out
	}
	out = le.AppendUint32(out, 0)
	out = le.AppendUint32(out, uint32(data&0xffffffff)) // the pointer, as the file of relocations has it
	if f.Bits32 {                                       // and the words of the table of bugs
		return le.AppendUint32(le.AppendUint32(out, uint32(tables)), uint32(tables+4))
	}
	if f.Tables != "7.0" { // inverse ones, which are gone since
		out = le.AppendUint32(out, 0)
	}
	return le.AppendUint32(out, 0)
}

// FakePerCPU is the per-CPU variable of a linked fake, and FakeUser the function whose
// words 4 to 8 are the distance to it.
const (
	FakePerCPU = 16
	FakeUser   = 5
)

// link adds what the linker leaves: the symbols fn_0, of 9 bytes, pointer and absolute,
// that kallsyms doesn't have, and this_cpu; and the relocations of .data and .text.
func (l *layout) link(f Fake) {
	le := binary.LittleEndian
	index := func(name string) int {
		return 1 + slices.IndexFunc(l.sections, func(s fakeSection) bool { return s.name == name })
	}
	data, text := index(".data"), index(".text")
	words, user := l.sections[data-1].data, f.Addr(FakeUser)+4
	le.PutUint64(words[8:], FakePerCPU)
	le.PutUint32(words[16:], uint32(f.Addr(2)&0xffffffff))
	le.PutUint32(l.sections[text-1].data[16*FakeUser+4:], uint32((FakePerCPU-user)&0xffffffff))

	names := []byte{0}
	table := make([]byte, 24)
	symbol := func(name string, section int, addr, size uint64) {
		table = le.AppendUint32(table, uint32(len(names)))
		table = append(table, byte(elf.STT_OBJECT), 0)
		table = le.AppendUint16(table, uint16(section))
		table = le.AppendUint64(le.AppendUint64(table, addr), size)
		names = append(append(names, name...), 0)
	}
	symbol("fn_0", text, f.Addr(0), 9)
	symbol("pointer", data, l.sections[data-1].addr, 8)
	symbol("this_cpu", index(".data..percpu"), FakePerCPU, 8)
	symbol("absolute", int(elf.SHN_ABS), 5, 0)

	rela := func(section int, rows ...uint64) {
		var b []byte
		for _, v := range rows {
			b = le.AppendUint64(b, v)
		}
		l.sections = append(l.sections, fakeSection{
			name: ".rela" + l.sections[section-1].name, kind: elf.SHT_RELA, data: b, info: uint32(section), entry: 24,
		})
	}
	at := l.sections[data-1].addr
	row := func(at uint64, symbol int, typ elf.R_X86_64) []uint64 {
		return []uint64{at, uint64(symbol)<<32 | uint64(typ), 0}
	}
	rela(data, slices.Concat(row(at, 1, elf.R_X86_64_64), row(at+8, 3, elf.R_X86_64_64),
		row(at+16, 1, elf.R_X86_64_32S), row(at+24, 4, elf.R_X86_64_64))...)
	rela(text, slices.Concat(row(user, 3, elf.R_X86_64_PC32), row(user+4, 1, elf.R_X86_64_PLT32))...)
	strings := len(l.sections) + 2
	l.sections = append(l.sections,
		fakeSection{name: ".symtab", kind: elf.SHT_SYMTAB, data: table, link: uint32(strings), entry: 24},
		fakeSection{name: ".strtab", kind: elf.SHT_STRTAB, data: names})
}

// file lays the sections out in an ELF file.
func (l *layout) file(f Fake) []byte {
	le := binary.LittleEndian
	names := []byte{0}
	l.sections = append([]fakeSection{{}}, append(l.sections, fakeSection{name: ".shstrtab", kind: elf.SHT_STRTAB})...)
	var headers []byte
	out := make([]byte, 64)
	for i := range l.sections {
		s := &l.sections[i]
		name := len(names)
		if s.name != "" {
			names = append(append(names, s.name...), 0)
		}
		if s.name == ".shstrtab" {
			s.data = names
		}
		size := max(uint64(len(s.data)), s.size)
		headers = le.AppendUint32(headers, uint32(name))
		headers = le.AppendUint32(headers, uint32(s.kind))
		for _, v := range []uint64{uint64(s.flags), s.addr, uint64(len(out)), size} {
			headers = f.word(headers, v)
		}
		headers = le.AppendUint32(le.AppendUint32(headers, s.link), s.info)
		headers = f.word(f.word(headers, 8), s.entry)
		out = align(append(out, s.data...), 8)
	}
	sections, last := uint16(len(l.sections)), uint16(len(l.sections)-1)
	le.PutUint16(out[16:], uint16(elf.ET_EXEC))
	if f.Bits32 {
		copy(out, elf.ELFMAG+"\x01\x01\x01")
		le.PutUint16(out[18:], uint16(elf.EM_386))
		le.PutUint32(out[32:], uint32(len(out)))
		le.PutUint16(out[46:], 40)
		le.PutUint16(out[48:], sections)
		le.PutUint16(out[50:], last)
		return append(out, headers...)
	}
	copy(out, elf.ELFMAG+"\x02\x01\x01")
	le.PutUint16(out[18:], uint16(elf.EM_X86_64))
	le.PutUint64(out[40:], uint64(len(out)))
	le.PutUint16(out[58:], 64)
	le.PutUint16(out[60:], sections)
	le.PutUint16(out[62:], last)
	return append(out, headers...)
}

// rodata, at an address, has the banner, a file's name at 264, and the tables of kallsyms.
func (f Fake) rodata(names []string, at uint64) []byte {
	release := cmp.Or(f.Release, "6.1.0-1-fake")
	b := make([]byte, 8, 64<<10)
	b = append(b, "Linux version "+release+" (made up)\n\x00"...)
	b = append(b, make([]byte, 8+256-len(b))...)
	b = append(b, "fake.c\x00"...)
	b = align(b, 8)
	return align(append(b, f.kallsyms(names, at+uint64(len(b)))...), 8)
}

// align adds zeros up to a multiple of n, a power of two.
func align(b []byte, n int) []byte { return append(b, make([]byte, -len(b)&(n-1))...) }

// kallsyms returns the tables as scripts/kallsyms.c lays them, one token a character,
// for an address.
func (f Fake) kallsyms(names []string, at uint64) []byte {
	le := binary.LittleEndian
	var packed, markers, tokens, index, offsets []byte
	for i, name := range names {
		if i%256 == 0 {
			markers = le.AppendUint32(markers, uint32(len(packed)))
		}
		if n := len(name) + 1; n < 0x80 {
			packed = append(packed, byte(n))
		} else {
			packed = append(packed, byte(n)|0x80, byte(n>>7))
		}
		packed = append(append(packed, 'T'), name...)
		if f.Bits32 { // no address is absolute
			offsets = le.AppendUint32(offsets, uint32(16*i))
		} else {
			offsets = le.AppendUint32(offsets, uint32(-1-16*i)) // from FakeText, and the other way
		}
	}
	for i := range 256 {
		index = le.AppendUint16(index, uint16(len(tokens)))
		token := fmt.Sprintf("%02x", i)
		if i > ' ' && i <= '~' {
			token = string(rune(i))
		}
		tokens = append(append(tokens, token...), 0)
	}
	num, base := le.AppendUint32(nil, uint32(len(names))), f.word(nil, f.base())
	parts := [][]byte{offsets, base, num, packed, markers, tokens, index}
	to := 8
	if f.Bits32 {
		to = 4
	}
	switch f.Tables {
	case "6.4":
		parts = [][]byte{num, packed, markers, tokens, index, offsets, base}
	case "7.0":
		parts, to = [][]byte{num, packed, markers, tokens, index, offsets}, 4
	}
	var out []byte
	for i, p := range parts {
		if f.Tables == "7.0" && i == 5 { // each is relative to itself
			for j := range names {
				own := at + uint64(len(out)+4*j)
				le.PutUint32(p[4*j:], uint32(f.Addr(j)-own))
			}
		}
		out = align(append(out, p...), to)
	}
	return out
}

// types returns BTF with a struct kprobe of three members: addr, an anonymous union
// of flags and its first bit, and an array of list_heads.
func types() []byte {
	word := &btf.Int{Name: "unsigned int", Size: 4}
	list := &btf.Struct{Name: "list_head", Size: 16}
	pointer := &btf.Pointer{Target: list}
	list.Members = []btf.Member{{Name: "next", Type: pointer}, {Name: "prev", Type: pointer, Offset: 64}}
	flags := &btf.Union{Size: 4, Members: []btf.Member{{Name: "flags", Type: word},
		{Name: "gone", Type: word, BitfieldSize: 1}}}
	kprobe := &btf.Struct{Name: "kprobe", Size: 48, Members: []btf.Member{
		{Name: "addr", Type: pointer},
		{Type: flags, Offset: 64},
		{Name: "lists", Type: &btf.Array{Index: word, Type: list, Nelems: 2}, Offset: 128},
	}}
	b, err := btf.NewBuilder([]btf.Type{kprobe, &btf.Typedef{Name: "kprobe_opcode_t", Type: word}}, nil)
	if err != nil {
		panic(err) // the types above are well-formed
	}
	raw, err := b.Marshal(nil, nil)
	if err != nil {
		panic(err)
	}
	return raw
}

// Vmlinuz packs a kernel into a vmlinuz: "gzip", "zstd" or "lz4".
func Vmlinuz(kernel []byte, how string) []byte {
	var packed bytes.Buffer
	var w io.WriteCloser
	switch how {
	case "gzip":
		w = gzip.NewWriter(&packed)
	case "zstd":
		w, _ = zstd.NewWriter(&packed) // no options, no error
	case "lz4":
		z := lz4.NewWriter(&packed)
		if err := z.Apply(lz4.LegacyOption(true)); err != nil {
			panic(err)
		}
		w = z
	case "xz":
		z, err := xz.WriterConfig{DictCap: 1 << 20, CheckSum: xz.CRC32}.NewWriter(&packed)
		if err != nil {
			panic(err)
		}
		w = z
	case "lzma":
		z, err := lzma.WriterConfig{DictCap: 1 << 20}.NewWriter(&packed)
		if err != nil {
			panic(err)
		}
		w = z
	}
	if _, err := w.Write(kernel); err != nil {
		panic(err) // a buffer takes all
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	le := binary.LittleEndian
	if how != "gzip" { // which ends with the size
		packed.Write(le.AppendUint32(nil, uint32(len(kernel))))
	}
	out := make([]byte, bootSize)
	out[0x1f1] = 1
	copy(out[0x202:], "HdrS")
	le.PutUint16(out[0x206:], 0x20f)
	le.PutUint32(out[0x248:], 512)
	return Resized(append(out, packed.Bytes()...))
}

// bootSize is how many bytes of a vmlinuz come before the compressed kernel.
const bootSize = 1024 + 512

// Resized has the header of a vmlinuz say that the compressed kernel ends with the file.
func Resized(vmlinuz []byte) []byte {
	binary.LittleEndian.PutUint32(vmlinuz[0x24c:], uint32(len(vmlinuz)-bootSize))
	return vmlinuz
}
