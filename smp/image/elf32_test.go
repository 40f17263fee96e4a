package image_test

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// An object of i386 is linked as ld has it: System V ABI, Intel386, "Relocation Types". The
// addends stand in the holes; strings, tables and zeroed data are where they are referred to.
func TestPlace386(t *testing.T) {
	o := parse(t, "testdata/link32.o")
	if !o.Bits32() || parse(t, "testdata/link.o").Bits32() {
		t.Error("the class isn't what the files are of")
	}
	const base, elsewhere = 0x81000040, 0x80000010
	img, err := o.Place(base, oneEntry(func(s string) (arch.Addr, bool) { return elsewhere, s == "elsewhere" }))
	if err != nil {
		t.Fatal(err)
	}
	blocks := make(map[string]image.Block)
	for _, b := range img.Blocks {
		blocks[b.Name] = b
	}
	word := func(v uint32) string { return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, v)) }
	data, table, text := uint32(blocks[".data"].Addr), uint32(blocks[".rodata"].Addr),
		uint32(blocks[".rodata.str1.1"].Addr)
	call := func(at, to uint32) string { return "e8" + word(to-at-5) }
	want := map[string]string{
		"weigh": "0105" + word(data) + "8d0440 01d0 c3 8d742600",
		"sum": "56 53 89c3 83ec04 8b15" + word(data) + call(base+0x1d, base) + "89c6 89d8 83e301" +
			call(base+0x29, elsewhere) +
			"89c2 8b049d" + word(table) + "01d6 0fbe00 83c404 5b 01f0 5e c3",
	}
	for _, f := range img.Funcs {
		if got, want := hex.EncodeToString(f.Code), strings.ReplaceAll(want[f.Name], " ", ""); got != want {
			t.Errorf("%s is %s, want %s", f.Name, got, want)
		}
	}
	if len(img.Funcs) != len(want) {
		t.Errorf("%d functions, want %d", len(img.Funcs), len(want))
	}
	if got, want := hex.EncodeToString(blocks[".rodata"].Bytes), word(text)+word(text+2)+word(text+5); got != want {
		t.Errorf("the table is %s, want %s", got, want)
	}
}

// What isn't read of i386 is refused in one line that says what, and what to do.
func TestRefused386(t *testing.T) {
	link := read(t, "testdata/link32.o")
	kind := strings.Index(string(link), "\x02\x00\x00\x00\x01\x02\x00\x00") // the first row of relocations
	if kind < 0 {
		t.Fatal("no relocation of weigh")
	}
	for _, c := range []struct {
		name string
		data []byte
		want []string
	}{
		{"got32.o", read(t, "testdata/got32.o"), []string{"R_386_GOTPC", "-fno-pic"}},
		{"tls", patched(link, kind+4, 14), []string{".text+0x2", "R_386_TLS_TPOFF", "thread-local"}},
		{"another kind", patched(link, kind+4, 200), []string{".text+0x2", "200", "-m32"}},
		{"far hole", patched(link, kind+1, 0x7f), []string{"behind the end"}},
		{"class byte", patched(link, 4, 2), []string{"-m32"}},
		{"cut", link[:50], []string{"50 bytes", "52"}},
		{"objtool.o", []byte(strings.Replace(string(read(t, "testdata/module32.o")), "\x00.static_call.text\x00",
			"\x00.return_sites\x00\x00\x00\x00\x00", 1)), []string{"section .return_sites", "no kernel for i386"}},
	} {
		o, err := image.ParseELF(c.name, c.data)
		if err == nil {
			_, err = o.Place(0x1000, oneEntry(func(string) (arch.Addr, bool) { return 0x800, true }))
		}
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		for _, want := range append(c.want, c.name+": ") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q doesn't say %q", c.name, err, want)
			}
		}
	}
	o := parse(t, "testdata/link32.o")
	if _, err := o.Load(0xffff_f000, image.StockBoot, nil); err == nil ||
		!strings.Contains(err.Error(), "lower address") {
		t.Errorf("loaded beyond 4 GiB: %v", err)
	}
	if _, err := o.Place(0xffff_f000, nowhere); err == nil || !strings.Contains(err.Error(), "lower address") {
		t.Errorf("placed beyond 4 GiB: %v", err)
	}
}
