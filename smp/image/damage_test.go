package image_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// header returns the offset of the header of a section in an object.
func header(t *testing.T, b []byte, name string) int {
	t.Helper()
	at, n, names := int(le.Uint64(b[40:])), int(le.Uint16(b[60:])), int(le.Uint16(b[62:]))
	table := b[le.Uint64(b[at+64*names+24:]):]
	for i := range n {
		h := at + 64*i
		if rest := table[le.Uint32(b[h:]):]; bytes.HasPrefix(rest, append([]byte(name), 0)) {
			return h
		}
	}
	t.Fatalf("no section %s", name)
	return 0
}

var le = binary.LittleEndian

// change returns an object with bytes written at an offset into a section's
// contents; head does the same to its header.
func change(t *testing.T, b []byte, section string, off int, with ...byte) []byte {
	b = slices.Clone(b)
	copy(b[int(le.Uint64(b[header(t, b, section)+24:]))+off:], with)
	return b
}

func head(t *testing.T, b []byte, section string, off int, v uint64) []byte {
	b = slices.Clone(b)
	le.PutUint64(b[header(t, b, section)+off:], v)
	return b
}

// Damage to a module is refused in one line that says where.
func TestParseELFDamaged(t *testing.T) {
	m := read(t, "testdata/module612.o")
	for _, c := range []struct {
		name string
		data []byte
		want []string
	}{
		{"big.o", patched(m, 5, 2), []string{"big-endian"}},
		{"x.ko.xz", []byte("\xfd7zXZ\x00 and so on, for a while"), []string{"compressed", "unxz"}},
		{"x.ko.gz", []byte("\x1f\x8b and so on, for a while"), []string{"compressed", "gunzip"}},
		{"lto.o", []byte("BC\xc0\xde and so on, for a while"), []string{"-flto"}},
		{"sections", patched(patched(m, 60, 0), 61, 0), []string{"65280 sections"}},
		{"no names", patched(patched(m, 62, 0), 63, 0), []string{"have no names"}},
		{"names", patched(m, header(t, m, ".text")+2, 0xff), []string{"section ", "table of names"}},
		{"control characters", change(t, m, ".shstrtab", 1, '\n'), []string{"section ", "isn't text"}},
		{"text cut", head(t, m, ".text", 32, 1<<20), []string{".text", "truncated"}},
		{"text at the end", head(t, m, ".text", 24, 1<<63), []string{".text", "truncated"}},
		{"compressed", head(t, m, ".data", 8, 0x803), []string{".data", "is compressed"}},
		{"align", head(t, m, ".data", 48, 24), []string{".data", "0x18", "power of two"}},
		{"huge", head(t, change(t, m, ".data", 0), ".data", 32, 1<<62), []string{".data", "64 MiB"}},
		{"rel", head(t, m, ".rela.text", 4, 9|4<<32), []string{".rela.text", "without addends"}},
		{"rela size", head(t, m, ".rela.text", 32, 25), []string{".rela.text", "damaged"}},
		{"symbol", change(t, m, ".rela.text", 12, 0xff, 0xff, 0xff), []string{".rela.text", "refers to symbol"}},
		{"reloc outside", change(t, m, ".rela.text", 0, 0xff, 0xff), []string{".text+0xff", "behind the end"}},
		{"reloc unknown", change(t, m, ".rela.text", 8, 37), []string{"R_X86_64_IRELATIVE", "-fno-pic"}},
		{"reloc far too unknown", change(t, m, ".rela.text", 8, 0xff, 0xff, 0xff, 0x7f),
			[]string{"relocation 2147483647 isn't supported"}},
		{"reloc out of reach", change(t, m, ".rela.text", 20, 0x7f), []string{"is out of reach"}},
		{"archive", []byte("!<arch>\n and so on, for a while"), []string{"archive", "ar x"}},
		{"stripped", head(t, m, ".symtab", 4, 1), []string{"don't strip"}},
		{"symbols cut", head(t, m, ".symtab", 32, 49), []string{".symtab", "damaged"}},
		{"strings", head(t, m, ".strtab", 32, 4), []string{"symbol ", "table of names"}},
		{"bug odd", head(t, m, "__bug_table", 32, 11), []string{"__bug_table", "11 bytes", "12"}},
		{"jump word", change(t, m, ".rela__jump_table", 0, 1), []string{"__jump_table+0x1", "inside an entry"}},
		{"jump hole", change(t, m, ".rela__jump_table", 8, 0),
			[]string{"__jump_table+0x0", "an entry with 2 relocations, not 3"}},
		{"return", change(t, m, ".rela.return_sites", 16, 0, 0, 1), []string{".return_sites+0x0", "where no code is"}},
		{"endbr", change(t, m, ".rela.ibt_endbr_seal", 16, 0x78),
			[]string{".ibt_endbr_seal+0x0", "beyond the end of its section"}},
		{"mcount", change(t, m, ".rela__mcount_loc", 8, 15), []string{"__mcount_loc+0x0", "relocation R_X86_64_PC8"}},
		{"alternative", change(t, m, ".altinstructions", 13, 9), []string{".altinstructions+0x0", "9 bytes for 3"}},
	} {
		o, err := image.ParseELF(c.name, c.data)
		if err == nil {
			_, err = o.Load(modulesAt, image.StockBoot, nil)
		}
		if !assert.Error(t, err, c.name) {
			continue
		}
		for _, w := range append(c.want, c.name+": ") {
			assert.ErrorContains(t, err, w)
		}
		assert.NotContains(t, err.Error(), "\n")
	}
}

// tiny is an object with n code sections of one byte, and as many symbols.
func tiny(n int) []byte {
	const names = "\x00.text\x00f\x00"
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 1)
	le.PutUint16(b[18:], 62)
	le.PutUint16(b[58:], 64)
	text := len(b)
	b = append(b, 0xc3)
	strings := len(b)
	b = append(b, names...)
	symbols := len(b)
	b = append(b, make([]byte, 24)...)
	for i := range n {
		s := make([]byte, 24)
		le.PutUint32(s, 7)
		s[4] = 2 // a local function
		le.PutUint16(s[6:], uint16(min(i+1, 0xfeff)))
		le.PutUint64(s[16:], 1)
		b = append(b, s...)
	}
	le.PutUint64(b[40:], uint64(len(b)))
	sec := func(name, kind, flags, off, size, link int) {
		h := make([]byte, 64)
		le.PutUint32(h, uint32(name))
		le.PutUint32(h[4:], uint32(kind))
		le.PutUint64(h[8:], uint64(flags))
		le.PutUint64(h[24:], uint64(off))
		le.PutUint64(h[32:], uint64(size))
		le.PutUint32(h[40:], uint32(link))
		le.PutUint64(h[48:], 1)
		b = append(b, h...)
	}
	sec(0, 0, 0, 0, 0, 0)
	for range n {
		sec(1, 1, 6, text, 1, 0)
	}
	sec(0, 2, 0, symbols, 24*(n+1), n+2)
	sec(0, 3, 0, strings, len(names), 0)
	count := n + 3
	if count >= 0xff00 { // then section 0 has the number
		count = 0
	}
	le.PutUint16(b[60:], uint16(count))
	le.PutUint16(b[62:], uint16(n+2))
	return b
}

// As many sections as can be counted without the extended numbering are linked
// and laid out in no time; a million are refused before they are looked at.
func TestTinySections(t *testing.T) {
	const most = 0xff00 - 4
	o, err := image.ParseELF("tiny", tiny(1))
	require.NoError(t, err)
	require.Equal(t, []string{"f"}, o.Names())

	o, err = image.ParseELF("tiny", tiny(most))
	require.NoError(t, err)
	img, err := o.Place(0x1000, nowhere)
	require.NoError(t, err)
	require.Len(t, img.Funcs, most)
	m, err := o.Load(0x1000, image.StockBoot, nil)
	require.NoError(t, err)
	require.Len(t, m.Symbols, most)
	last, ok := m.Symbol(fmt.Sprintf("f#%d", most))
	require.True(t, ok)
	require.Equal(t, most, last.Nth)

	_, err = image.ParseELF("tiny", tiny(1_000_000))
	require.ErrorContains(t, err, "65280 sections")
}

// No file makes the parser or the linker panic, and what they accept stays
// within the addresses it was given.
func FuzzImage(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.o")
	if err != nil || len(paths) == 0 {
		f.Fatal("no objects", err)
	}
	for i, p := range paths {
		b := read(f, p)
		f.Add(b)
		f.Add(b[:len(b)/2])
		for k := range 8 { // and a byte of it changed, in its headers or its tables
			at := len(b) - 1 - (k*613+i*101)%(len(b)/2)
			f.Add(patched(b, at, b[at]^1<<k))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := image.ParseELF("fuzz", data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %q", err)
			}
			return
		}
		checkPlaced(t, o)
		checkLoaded(t, o)
	})
}

func checkPlaced(t *testing.T, o *image.Object) {
	const base = 0x40_0001
	img, err := o.Place(base, oneEntry(func(string) (arch.Addr, bool) { return base, true }))
	if err != nil {
		return
	}
	end := arch.Addr(base)
	for _, f := range img.Funcs {
		if f.Addr < end {
			t.Fatalf("%s at %#x begins before %#x", f.Name, f.Addr, end)
		}
		end = f.Addr + arch.Addr(len(f.Code))
		if len(f.Code) < 1<<12 {
			_ = image.CheckDecodes(f)
		}
	}
	for _, b := range img.Blocks {
		if b.Addr < end || b.Addr%4096 != 0 {
			t.Fatalf("%s at %#x: not on a page of its own behind %#x", b.Name, b.Addr, end)
		}
		end = b.Addr + arch.Addr(len(b.Bytes))
	}
}

func checkLoaded(t *testing.T, o *image.Object) {
	for _, boot := range []image.Boot{
		image.StockBoot,
		{Version: image.Version{Major: 6, Minor: 1}, Features: "retpoline_lfence,up", Preempt: "full"},
	} {
		m, err := o.Load(modulesAt, boot, nil)
		if err != nil {
			continue
		}
		end := arch.Addr(modulesAt)
		for _, s := range m.Symbols {
			if s.Addr < end || len(m.Bytes(s.Addr, s.Size)) != s.Size {
				t.Fatalf("%s at %#x, %d bytes: overlaps what ends at %#x, or the text's end", s.Name, s.Addr, s.Size,
					end)
			}
			end = s.End()
		}
		for i, s := range m.Sites {
			if len(m.Bytes(s.Addr, s.Len)) != s.Len || i > 0 && m.Sites[i-1].Addr > s.Addr {
				t.Fatalf("%v at %#x, %d bytes: outside the text, or out of order", s.Kind, s.Addr, s.Len)
			}
		}
	}
}

// TestModules takes the modules of real kernels, as scripts/fetch-modules
// unpacks them: KPSIM_MODULES names the folder. Each is parsed, loaded and
// placed, and decodes from symbol to symbol.
func TestModules(t *testing.T) {
	paths := modules(t)
	var functions int
	for _, path := range paths {
		name := filepath.Base(path)
		o, err := image.ParseELF(name, read(t, path))
		if !assert.NoError(t, err) {
			continue
		}
		assert.True(t, o.IsModule(), name)
		_, err = o.Load(modulesAt, image.StockBoot, nil)
		assert.NoError(t, err)
		img, err := o.Place(0x40_0000, nowhere)
		if !assert.NoError(t, err) {
			continue
		}
		for _, f := range img.Funcs {
			assert.NoError(t, image.CheckDecodes(f), name)
		}
		functions += len(img.Funcs)
	}
	t.Logf("%d modules, %d functions", len(paths), functions)
}

func modules(t testing.TB) []string {
	dir := os.Getenv("KPSIM_MODULES")
	if dir == "" {
		t.Skip("SKIP: no real modules: run scripts/fetch-modules DIR and set KPSIM_MODULES=DIR")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "k*", "*.ko"))
	require.NoError(t, err)
	require.NotEmpty(t, paths, "no k*/*.ko in %s: run scripts/fetch-modules %s", dir, dir)
	return paths
}

// A module of 4 MiB, parsed and loaded.
func BenchmarkModule(b *testing.B) {
	for _, path := range modules(b) {
		if filepath.Base(path) != "btrfs.ko" {
			continue
		}
		data := read(b, path)
		b.Run(fmt.Sprintf("%s/btrfs", filepath.Base(filepath.Dir(path))), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				o, err := image.ParseELF("btrfs.ko", data)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := o.Load(modulesAt, image.StockBoot, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
