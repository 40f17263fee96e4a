package image_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kpsim/smp/arch"
	"kpsim/smp/image"
)

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t testing.TB, path string) *image.Object {
	t.Helper()
	o, err := image.ParseELF(filepath.Base(path), read(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var nowhere = oneEntry(func(string) (arch.Addr, bool) { return 0, false })

// oneEntry is where symbols are that have one entry.
func oneEntry(find func(symbol string) (arch.Addr, bool)) image.Extern {
	return func(symbol string) (at, entry arch.Addr, ok bool) {
		at, ok = find(symbol)
		return at, at, ok
	}
}

func TestParseELFNames(t *testing.T) {
	for _, c := range []struct {
		file  string
		names []string
	}{
		{"link.o", []string{"weigh", "sum", "address", "twice"}},
		{"extable.o", []string{"peek", "peek2"}}, // the fixup code between them has no name
		{"notype.o", []string{"bare"}},           // the global one of two aliases
		{"unsized.o", []string{"first", "same", "local", "second", "same#2"}},
	} {
		if got := parse(t, "testdata/"+c.file).Names(); !slices.Equal(got, c.names) {
			t.Errorf("%s: names %q, want %q", c.file, got, c.names)
		}
	}
}

// A function without a size ends where the next begins, and labels in it are its own.
func TestUnsized(t *testing.T) {
	img, err := parse(t, "testdata/unsized.o").Place(0x1000, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range img.Funcs {
		got = append(got, fmt.Sprintf("%s at %#x: %d bytes, local %v", f.Name, uint64(f.Addr), len(f.Code), f.Local))
	}
	if want := []string{
		"first at 0x1000: 10 bytes, local false", "same at 0x100a: 6 bytes, local true",
		"local at 0x1010: 6 bytes, local true",
		"second at 0x1016: 6 bytes, local false", "same#2 at 0x101c: 6 bytes, local true",
		".text.other+0x0 at 0x1022: 2 bytes, local true",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Variables have names, and functions may have two.
func TestLabels(t *testing.T) {
	img, err := parse(t, "testdata/unsized.o").Place(0x1000, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range img.Labels {
		got = append(got, fmt.Sprintf("%s: %s+%d, local %v", l.Name, l.In, l.Off, l.Local))
	}
	slices.Sort(got)
	if want := []string{"alias: second+0, local false", "counter: .data+8, local false",
		"same: same#2+0, local true"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What can't be used is refused in one line that says what to do.
func TestParseELFRefuses(t *testing.T) {
	link := read(t, "testdata/link.o")
	for _, c := range []struct {
		name string
		data []byte
		want []string
	}{
		{"empty", nil, []string{"can't be read as an ELF object", "gcc -c"}},
		{"text", []byte("int main(void) { return 0; }\n"), []string{"can't be read as an ELF object", "gcc -c"}},
		{"magic only", []byte("\x7fELF"), []string{"can't be read as an ELF object"}},
		{"cut in the sections", link[:0x60], []string{"can't be read as an ELF object"}},
		{"cut in the table", link[:len(link)-10], []string{"can't be read as an ELF object"}},
		{"class byte", patched(link, 4, 1), []string{"32-bit", "-mx32"}},
		{"mips", patched(link, 18, 8), []string{"EM_MIPS", "x86-64"}},
		{"arm", patched(link, 18, 183), []string{"isn't supported", "compile with gcc -O2 -fno-pic"}},
		{"linked.o", read(t, "testdata/linked.o"), []string{"linked already", "ET_EXEC", "gcc -c"}},
		{"nocode.o", read(t, "testdata/nocode.o"), []string{"holds no code"}},
		{"bad_extable.o", read(t, "testdata/bad_extable.o"), []string{"__ex_table", "8 bytes", "12"}},
		{"overlap.o", read(t, "testdata/overlap.o"), []string{"outer and inner", ".size"}},
		{"load.o", read(t, "testdata/load.o"), []string{"outer and inner", ".size"}},
		{"got.o", read(t, "testdata/got.o"), []string{"get+0x3", "GOTPCREL", "-fno-pic"}},
		{"tls.o", read(t, "testdata/tls.o"), []string{"thread-local"}},
		{"common.o", read(t, "testdata/common.o"), []string{"get+0x2", "thing", "-fno-common"}},
		{"tables.o", read(t, "testdata/tables.o"), []string{"f+0x3", ".note.odd", "isn't loaded"}},
	} {
		o, err := image.ParseELF(c.name, c.data)
		if err == nil {
			_, err = o.Place(0x1000, nowhere)
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
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %q has more than one line", c.name, err)
		}
	}
}

func patched(b []byte, at int, v byte) []byte {
	b = slices.Clone(b)
	b[at] = v
	return b
}

func TestExtable(t *testing.T) {
	img, err := parse(t, "testdata/extable.o").Place(0x1000, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		name    string
		at      arch.Addr
		size    int
		extable []int
	}{
		{"peek", 0x1000, 6, []int{1}},
		{".text+0x6", 0x1006, 9, nil}, // the fixup code: a jump may lead here, so it is loaded
		{"peek2", 0x100f, 8, []int{0, 4}},
	}
	if len(img.Funcs) != len(want) {
		t.Fatalf("functions %v, want %v", img.Funcs, want)
	}
	for i, w := range want {
		f := img.Funcs[i]
		if f.Name != w.name || f.Addr != w.at || len(f.Code) != w.size || !slices.Equal(f.Extable, w.extable) {
			t.Errorf("function %d is %v, want %v", i, f, w)
		}
		if err := image.CheckDecodes(f); err != nil {
			t.Error(err)
		}
	}
}
