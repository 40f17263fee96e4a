package image_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// The objects of the built-in scenarios lie with the scenarios; what the
// scenarios and committed traces take for granted of them is tested here.
const library = "../../internal/scenario/library/"

func place(t *testing.T, file string) *image.Image {
	t.Helper()
	img, err := parse(t, library+file).Place(0x10000, oneEntry(func(s string) (arch.Addr, bool) {
		return 0x20000, s == "victim" || s == "cond_resched"
	}))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestLibraryDecodes(t *testing.T) {
	for _, c := range []struct {
		file  string
		names []string
	}{
		{"victim.o", []string{"victim"}},
		{"callers.o", []string{"caller", "caller_resched"}},
		{"label.o", []string{"labelled", "labelled_on", "labelled_cross", "labelled_cross_on"}},
		{"probe_targets.o", []string{"clamp", "sign", "triangle", "gcd", "scramble", "field", "tally", "over",
			"checksum"}},
	} {
		if got := parse(t, library+c.file).Names(); !slices.Equal(got, c.names) {
			t.Errorf("%s: functions %q, want %q", c.file, got, c.names)
		}
		for _, f := range place(t, c.file).Funcs {
			if err := image.CheckDecodes(f); err != nil {
				t.Errorf("%s: %v", c.file, err)
			}
		}
	}
}

// A 5-byte jump over victim's start replaces instructions of 1 + 3 + 1 bytes.
func TestVictimStart(t *testing.T) {
	code, at := find(t, place(t, "victim.o"), "victim")
	if start := []byte{0x55, 0x48, 0x89, 0xe5, 0x53}; !bytes.HasPrefix(code, start) {
		t.Errorf("victim begins with\n%swant % x: see internal/scenario/generate.go",
			image.Listing(x86.Mode64, at, code[:8]), start)
	}
}

// The sites of the labels are nops where label.S says, in one 8-byte chunk of
// text and across two.
func TestLabelSites(t *testing.T) {
	for _, c := range []struct {
		name    string
		off     int
		crosses bool
	}{
		{"labelled", 3, false},
		{"labelled_cross", 6, true},
	} {
		code, at := find(t, place(t, "label.o"), c.name)
		if nop := []byte{0x0f, 0x1f, 0x44, 0x00, 0x00}; !bytes.HasPrefix(code[c.off:], nop) {
			t.Errorf("%s+%#x: no 5-byte nop in\n%s", c.name, c.off, image.Listing(x86.Mode64, at, code))
		}
		first, last := at+arch.Addr(c.off), at+arch.Addr(c.off)+4
		if crosses := first/8 != last/8; crosses != c.crosses {
			t.Errorf("%s: site %#x to %#x: crosses chunks %v, want %v", c.name, first, last, crosses, c.crosses)
		}
	}
}

func TestListing(t *testing.T) {
	const want = "" +
		" 10000:  55                               push   %rbp\n" +
		" 10001:  48 89 e5                         mov    %rsp,%rbp\n" +
		" 10004:  53                               push   %rbx\n" +
		" 10005:  06                               .byte 0x06\n" +
		" 10006:  48                               .byte 0x48\n"
	got := image.Listing(x86.Mode64, 0x10000, []byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x06, 0x48})
	if squeeze(got) != squeeze(want) {
		t.Errorf("listing\n%swant\n%s", got, want)
	}
}

// squeeze makes any run of blanks one: how x86asm pads mnemonics isn't ours.
func squeeze(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestCheckDecodesRefuses(t *testing.T) {
	for _, c := range []struct {
		f    image.Func
		want string
	}{
		{image.Func{Name: "f", Code: []byte{0x55, 0x06, 0x90}}, "f+0x1: bytes 06 90"},
		{image.Func{Name: "f", Code: []byte{0x55, 0xe8, 0x00}}, "f+0x1: bytes e8 00"},
		{image.Func{Name: "f", Code: []byte{0x48, 0x8b, 0x07, 0xc3}, Extable: []int{1}},
			"f+0x1: has an exception-table entry"},
	} {
		if err := image.CheckDecodes(c.f); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("% x: error %v, want %q", c.f.Code, err, c.want)
		}
	}
}
