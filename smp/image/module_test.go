package image_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/image"
)

var update = flag.Bool("update", false, "write what comes out to testdata; read the diff")

// modulesAt is where x86 has its modules (Documentation/arch/x86/x86_64/mm.rst).
const (
	modulesAt   = 0xffffffffc0000000
	modulesAt32 = 0xf8000000 // among vmalloc's
)

func load(t testing.TB, path string, boot image.Boot) *image.Module {
	t.Helper()
	o := parse(t, path)
	at := arch.Addr(modulesAt)
	if o.Bits32() {
		at = modulesAt32
	}
	m, err := o.Load(at, boot, nil)
	require.NoError(t, err)
	return m
}

// say shows a module as a kernel has it: symbols with their code, sites, imports.
func say(m *image.Module) string {
	var w strings.Builder
	fmt.Fprintf(&w, "patched as %v\n", m.Version)
	for _, s := range m.Symbols {
		fmt.Fprintf(&w, "\n%x %s, %d bytes", uint64(s.Addr), s.Label(), s.Size)
		if s.Aliases != nil {
			fmt.Fprintf(&w, ", also %s", strings.Join(s.Aliases, " "))
		}
		if s.Init {
			w.WriteString(", init")
		}
		if s.Blacklisted {
			w.WriteString(", blacklisted")
		}
		code := m.Bytes(s.Addr, s.Size)
		// the rest of the page, but for what may end a displacement
		if zeros := len(code) - len(bytes.TrimRight(code, "\x00")); zeros > 16 {
			code = code[:len(code)-zeros+4]
		}
		w.WriteString("\n" + squeeze(image.Listing(m.Mode, s.Addr, code)) + "\n")
		for _, site := range m.SitesIn(s.Addr, s.End()) {
			fmt.Fprintf(&w, "  +%#x %v, %d bytes", site.Addr-s.Addr, site.Kind, site.Len)
			if site.Tail {
				w.WriteString(", tail")
			}
			if site.Name != "" {
				fmt.Fprintf(&w, ", %s", site.Name)
			}
			if site.Target != 0 {
				to, ok := m.SymbolAt(site.Target)
				if ok {
					fmt.Fprintf(&w, ", to %s+%#x", to.Name, site.Target-to.Addr)
				}
			}
			if site.Type != 0 {
				fmt.Fprintf(&w, ", type %d", site.Type)
			}
			w.WriteString("\n")
		}
	}
	w.WriteString("\nimports")
	for _, s := range m.Imports {
		fmt.Fprintf(&w, "\n  %x %s", uint64(s.Addr), s.Name)
	}
	return w.String() + "\n"
}

// What testdata/module.S becomes in memory, as a module of either kernel and on
// processors that differ. The listings were read against what
// arch/x86/kernel/alternative.c and static_call.c of 6.1 and 6.12 do.
func TestLoadGolden(t *testing.T) {
	bare := image.Boot{Features: "retpoline_lfence", Preempt: "full"}
	for _, c := range []struct {
		file, golden string
		boot         image.Boot
	}{
		{"module61.o", "module61.golden", image.StockBoot},
		{"module612.o", "module612.golden", image.StockBoot},
		{"module61.o", "module61_bare.golden", bare},
		{"module612.o", "module612_bare.golden", bare},
		{"module612.o", "module612_rethunk.golden", image.Boot{Features: "rethunk,up", Preempt: "none"}},
		{"load.o", "load.golden", image.StockBoot},
		{"module32.o", "module32.golden", image.StockBoot},
		{"module32.o", "module32_up.golden", image.Boot{Features: "up"}},
	} {
		got := say(load(t, "testdata/"+c.file, c.boot))
		path := filepath.Join("testdata", c.golden)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
		}
		assert.Equal(t, string(read(t, path)), got, c.golden)
	}
}

// Symbols leave no gap, the last one ends with the page, and each address of
// the text belongs to the symbol before it.
func TestLoadSymbols(t *testing.T) {
	m := load(t, "testdata/module612.o", image.StockBoot)
	for i, s := range m.Symbols {
		if i > 0 && m.Symbols[i-1].Init == s.Init {
			assert.Equal(t, m.Symbols[i-1].End(), s.Addr, "%s begins where %s ends", s.Name, m.Symbols[i-1].Name)
		} else {
			assert.Zero(t, s.Addr%4096, "%s begins a page", s.Name)
		}
		for _, a := range []arch.Addr{s.Addr, s.End() - 1} {
			got, ok := m.SymbolAt(a)
			require.True(t, ok)
			assert.Equal(t, s.Name, got.Name)
		}
		assert.Len(t, m.Bytes(s.Addr, s.Size), s.Size)
	}
	last := m.Symbols[len(m.Symbols)-1]
	assert.Zero(t, last.End()%4096)
	assert.Nil(t, m.Bytes(last.End(), 1))
	assert.Len(t, m.Bytes(last.End()-3, 100), 3, "text ends there")
	_, ok := m.SymbolAt(modulesAt - 1)
	assert.False(t, ok)

	f, ok := m.Symbol("alias")
	require.True(t, ok)
	assert.Equal(t, "sum", f.Name)
	stub, ok := m.Symbol("no such")
	assert.False(t, ok, "%v", stub)
	at, ok := m.SymbolAt(m.Imports[0].Addr + 8)
	require.True(t, ok)
	assert.Equal(t, m.Imports[0].Name, at.Name, "an address in an import's page says whose it is")
}

// In an object that is no module a symbol ends with its section at the latest.
func TestLoadObject(t *testing.T) {
	m := load(t, "testdata/extable.o", image.StockBoot)
	var got []string
	for _, s := range m.Symbols {
		got = append(got, fmt.Sprintf("%s %#x+%d", s.Name, s.Addr-modulesAt, s.Size))
	}
	assert.Equal(t, []string{"peek 0x0+15", "peek2 0xf+8"}, got, "the fixup code counts as peek's")
	require.Len(t, m.Sites, 3)
	for i, at := range []arch.Addr{0x1, 0xf, 0x13} {
		assert.Equal(t, image.Site{Addr: modulesAt + at, Len: 1, Kind: image.SiteExtable, Target: modulesAt + 6,
			Type: 1}, m.Sites[i])
	}
}

// A module is placed for a scenario too: boot patches are in, an undefined
// symbol is an import.
func TestPlaceModule(t *testing.T) {
	img, err := parse(t, "testdata/module612.o").Place(0x10003, oneEntry(func(s string) (arch.Addr, bool) {
		return 0x5000, s == "traced"
	}))
	require.NoError(t, err)
	code, _ := find(t, img, "sum")
	assert.Equal(t, []byte{0x66, 0x0f, 0x1f, 0x00, 0x0f, 0x1f, 0x44, 0x00, 0x00}, code[:9],
		"sealed endbr, nop for ftrace")
	var names []string
	for _, s := range img.Imports {
		names = append(names, s.Name)
	}
	assert.Contains(t, names, "copy_faster")
	assert.NotContains(t, names, "traced")
	for _, f := range img.Funcs {
		f.Code = f.Code[:len(f.Code)-f.Padding] // zeros after a section may end within an instruction
		assert.NoError(t, image.CheckDecodes(f))
	}
}

func TestLoadRefuses(t *testing.T) {
	o := parse(t, "testdata/module612.o")
	for _, c := range []struct {
		base arch.Addr
		boot image.Boot
		want []string
	}{
		{0x1008, image.StockBoot, []string{"module612.o", "0x1008", "4096"}},
		{modulesAt, image.Boot{Features: "smap,ermss"}, []string{"module612.o", "ermss", "erms"}},
		{modulesAt, image.Boot{Features: "call_depth"}, []string{"call_depth", "isn't modelled"}},
		{1<<64 - 4096, image.StockBoot, []string{"lower address"}},
	} {
		_, err := o.Load(c.base, c.boot, nil)
		for _, w := range c.want {
			assert.ErrorContains(t, err, w)
		}
	}
	_, err := parse(t, "testdata/link.o").Load(1<<32, image.StockBoot, nil)
	assert.ErrorContains(t, err, "out of reach")
	_, err = o.Load(modulesAt, image.StockBoot, oneEntry(func(string) (arch.Addr, bool) {
		return 0x1234_0000_0000, true
	}))
	assert.ErrorContains(t, err, "within 2 GiB")
}

// Where nothing says which kernel a module is for, its table of alternatives
// tells the two layouts apart.
func TestLoadUnknownVersion(t *testing.T) {
	for _, c := range []struct {
		file string
		v    image.Version
	}{{"module61", image.Version{Major: 6, Minor: 1}}, {"module612", image.Version{Major: 6, Minor: 12}}} {
		b := bytes.Replace(read(t, "testdata/"+c.file+".o"), []byte("vermagic="), []byte("_ermagic="), 1)
		o, err := image.ParseELF(c.file, b)
		require.NoError(t, err)
		_, known := o.Version()
		require.False(t, known)
		boot := image.StockBoot
		boot.Version = c.v
		m, err := o.Load(modulesAt, boot, nil)
		require.NoError(t, err)
		assert.Equal(t, string(read(t, "testdata/"+c.file+".golden")), say(m))
	}
}

// What only Load takes: each of two functions of a name has a label, code in
// front of a section's first symbol is counted, and a function says where it is
// in the file.
func TestLoadLabels(t *testing.T) {
	m := load(t, "testdata/load.o", image.StockBoot)
	first, ok := m.Symbol("same")
	require.True(t, ok)
	second, ok := m.Symbol("same#2")
	require.True(t, ok)
	assert.Equal(t, []string{"same", "same#2"}, []string{first.Label(), second.Label()})
	assert.Equal(t, "same", second.Name)
	assert.Equal(t, first.End(), second.Addr)
	assert.Equal(t, ".text", second.Section)
	assert.Equal(t, first.Offset+first.Size, second.Offset)
	_, ok = m.Symbol("same#3")
	assert.False(t, ok)
	assert.Equal(t, 2, m.Unnamed, "nop and ret in .text.cold")
	assert.Zero(t, load(t, "testdata/module612.o", image.StockBoot).Unnamed)
}

// What gcc -flto leaves is no code, and that is said.
func TestLTO(t *testing.T) {
	b := read(t, "testdata/nocode.o")
	at := bytes.Index(b, []byte("\x00.comment\x00"))
	require.Positive(t, at)
	b = bytes.Clone(b)
	copy(b[at+1:], ".gnu.lto_")
	_, err := image.ParseELF("lto.o", b)
	require.ErrorContains(t, err, "lto.o: holds no code, only what gcc -flto leaves for the linker")
}
