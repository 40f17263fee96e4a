package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// big is what a processor with big-endian words of 64 bits would have.
var big = func() *Class {
	c := *Bits64
	c.Machine, c.Data, c.Order = elf.EM_PPC64, elf.ELFDATA2MSB, binary.BigEndian
	return &c
}()

// A writer writes an ELF file of a class.
type writer struct {
	*Class
	b []byte
}

func (w *writer) half(v int)    { w.b = w.Order.AppendUint16(w.b, uint16(v)) }
func (w *writer) four(v uint32) { w.b = w.Order.AppendUint32(w.b, v) }
func (w *writer) words(all ...uint64) {
	for _, v := range all {
		w.b = w.Append(w.b, v)
	}
}

// small returns a file with code, a relocation of it that refers to the second of two symbols,
// and what edit changes in the sections: null, .text, its relocations, symbols, names.
func small(c *Class, edit func(all []Section)) []byte {
	const text = "\x00\x00\x00\x00\x00\x00\x00\x00\x90\x90\x90\x90\x90\x90\x90\x90"
	const names = "\x00.text\x00.rel\x00.symtab\x00.strtab\x00f\x01\x00"
	w := &writer{c, slices.Concat([]byte(text), []byte(names))}
	c.Order.PutUint32(w.b, 0xfffffffc)
	rels := len(w.b)
	kind := uint64(elf.R_386_PC32)
	if c.Word == 8 {
		w.words(0, 1<<32|kind, ^uint64(3))
	} else {
		w.words(0, 1<<8|kind)
	}
	symbols := len(w.b)
	w.b = append(w.b, make([]byte, c.Sym)...)
	w.four(uint32(strings.Index(names, "f\x01")))
	if c.Word == 4 {
		w.words(8, 4)
	}
	w.b = append(w.b, 0x12, 0) // a global function
	w.half(1)
	if c.Word == 8 {
		w.words(8, 4)
	}
	all := []Section{{}, {Kind: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC, Off: uint64(c.Ehdr), Size: uint64(len(text))},
		{Kind: c.Rels, Off: uint64(c.Ehdr + rels), Size: uint64(c.Rel), Link: 3, Info: 1},
		{Kind: elf.SHT_SYMTAB, Off: uint64(c.Ehdr + symbols), Size: uint64(2 * c.Sym), Link: 4},
		{Kind: elf.SHT_STRTAB, Off: uint64(c.Ehdr + len(text)), Size: uint64(len(names))}}
	edit(all)
	body := w.b
	w.b = slices.Concat([]byte(elf.ELFMAG), []byte{byte(c.Kind), byte(c.Data), 1}, make([]byte, 9))
	w.half(int(elf.ET_REL))
	w.half(int(c.Machine))
	w.four(1)
	w.words(0, 0, uint64(c.Ehdr+len(body)))
	w.four(0)
	w.half(c.Ehdr)
	w.half(0)
	w.half(0)
	w.half(c.Shdr)
	w.half(len(all))
	w.half(4)
	w.b = append(w.b, body...)
	for i, name := range []string{"\x00", ".text", ".rel", ".symtab", ".strtab"} {
		s := all[i]
		w.four(uint32(strings.Index(names, name)))
		w.four(uint32(s.Kind))
		w.words(uint64(s.Flags), 0, s.Off, s.Size)
		w.four(s.Link)
		w.four(s.Info)
		w.words(8, 0)
	}
	return w.b
}

// read reads all of a file that Relocs, Symbols and Bytes return.
func read(c *Class, b []byte) (f *File, symbols []Symbol, relocs [][]Reloc, err error) {
	if f, err = Read(c, bytes.NewReader(b), uint64(len(b)), b, "compile it again"); err != nil {
		return nil, nil, nil, err
	}
	if symbols, err = f.Symbols(); err != nil {
		return nil, nil, nil, err
	}
	relocs, err = f.Relocs(len(symbols), func(s *Section) bool { return s.Flags&elf.SHF_ALLOC != 0 })
	return f, symbols, relocs, err
}

// A file says the same in both classes, in both byte orders, and whether or not it is in memory.
func TestRead(t *testing.T) {
	for _, c := range []*Class{Bits64, Bits32, big} {
		b := small(c, func([]Section) {})
		f, symbols, relocs, err := read(c, b)
		require.NoError(t, err)
		require.Equal(t, []Symbol{{}, {Name: `f\x01`, Info: 0x12, Section: 1, Value: 8, Size: 4}}, symbols)
		require.Equal(t, []Reloc{{Kind: uint32(elf.R_386_PC32), Symbol: 1, Addend: -4}}, relocs[1])
		require.Equal(t, "R_", c.RelocName(2)[:2])
		require.Equal(t, "77", c.RelocName(77))
		end, err := f.End()
		require.NoError(t, err)
		require.EqualValues(t, len(b), end)
		text, err := f.Bytes(f.Find(".text"), 16)
		require.NoError(t, err)

		form := c.Form(relocs[1][0].Kind)
		v, ok := form.Value(&[Quantities]uint64{SymbolAt: 0x1008, HoleAt: 0x1000}, relocs[1][0].Addend)
		require.True(t, ok && form.Relative())
		hole := slices.Clone(text)
		form.Put(c.Order, hole, v)
		require.EqualValues(t, 4, c.Order.Uint32(hole))

		f, err = Read(c, bytes.NewReader(b), uint64(len(b)), nil, "")
		require.NoError(t, err)
		again, err := f.Bytes(f.Find(".text"), 16)
		require.NoError(t, err)
		require.Equal(t, text, again)
	}
	require.Nil(t, Of(small(big, func([]Section) {})), "no such processor is read yet")
}

// Damage is refused in one line that names the place.
func TestDamaged(t *testing.T) {
	for says, edit := range map[string]func(all []Section){
		"section .text: ends behind the end of the file":   func(all []Section) { all[1].Size = 1 << 31 },
		"section .text: has no bytes in the file":          func(all []Section) { all[1].Kind = elf.SHT_NOBITS },
		"section .text: is compressed":                     func(all []Section) { all[1].Flags |= elf.SHF_COMPRESSED },
		"section .rel: can't be read as relocations":       func(all []Section) { all[2].Size-- },
		"section .symtab: can't be read as symbols":        func(all []Section) { all[3].Link = 9 },
		"section .rel: refers to symbol 1 of 1":            func(all []Section) { all[3].Size /= 2 },
		"symbol 1: its name isn't text":                    func(all []Section) { all[3].Link = 0 },
		".text+0x0: relocation behind the end":             func(all []Section) { all[1].Size = 3 },
		"section 1: its name isn't text":                   func(all []Section) { all[4].Size = 3 },
		"section .rel: relocations with addends: assemble": func(all []Section) { all[2].Kind = elf.SHT_RELA },
	} {
		_, _, _, err := read(Bits32, small(Bits32, edit))
		require.ErrorContains(t, err, says)
		require.Regexp(t, `^[^\n]+: [^\n]+$`, err.Error())
	}
}

// Names that can't be printed, or without an end, take no more memory than the file.
func TestNamesAreBounded(t *testing.T) {
	b := bytes.Repeat([]byte{1}, 4<<20)
	f := &File{Class: Bits64, whole: b, size: uint64(len(b)), Sections: []Section{
		{Kind: elf.SHT_SYMTAB, Size: 1 << 20 / 24 * 24}, {Kind: elf.SHT_STRTAB}}}
	f.Sections[0].Link, f.Sections[1].Off, f.Sections[1].Size = 1, 0, uint64(len(b))
	for i := 0; i < 1<<20; i += 24 {
		binary.LittleEndian.PutUint32(b[i:], 2<<20)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := f.Symbols()
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "its name isn't text")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

// FuzzRead: no file makes the reader panic, reach outside of the file, or allocate more than
// some times its size.
//
//	go test ./smp/image/objfile -run '^$' -fuzz FuzzRead
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("../testdata/*.o")
	require.NoError(f, err)
	require.NotEmpty(f, paths)
	for i, p := range paths {
		b, err := os.ReadFile(p)
		require.NoError(f, err)
		f.Add(b)
		f.Add(b[:len(b)-1-i])
		for k := range 8 {
			changed := slices.Clone(b)
			changed[len(b)-1-(k*613+i*101)%(len(b)/2)] ^= 1 << k
			f.Add(changed)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := Bits64
		if len(b) >= 20 && Of(b) != nil {
			c = Of(b)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		file, symbols, relocs, err := read(c, b)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64*len(b)+4*escapedMax))
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		for i, list := range relocs {
			for k, r := range list {
				form := c.Form(r.Kind)
				require.LessOrEqual(t, uint64(r.Off+form.Bytes), file.Sections[i].Size)
				require.Less(t, r.Symbol, len(symbols))
				require.True(t, k == 0 || list[k-1].Off <= r.Off)
			}
		}
	})
}
