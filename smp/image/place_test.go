package image_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// find returns the bytes and the address of a function or block.
func find(t *testing.T, img *image.Image, name string) ([]byte, arch.Addr) {
	t.Helper()
	for _, f := range img.Funcs {
		if f.Name == name {
			return f.Code, f.Addr
		}
	}
	for _, b := range img.Blocks {
		if b.Name == name {
			return b.Bytes, b.Addr
		}
	}
	t.Fatalf("no %s", name)
	return nil, 0
}

const (
	elsewhereAt = 0x50000
	farAwayAt   = 0x60000
)

func elsewhere(symbol string) (arch.Addr, bool) {
	switch symbol {
	case "elsewhere":
		return elsewhereAt, true
	case "far_away":
		return farAwayAt, true
	}
	return 0, false
}

// Each hole of testdata/link.c refers to what objdump -dr says it does, from an
// aligned base and from one that isn't.
func TestPlaceLink(t *testing.T) {
	o := parse(t, "testdata/link.o")
	for _, base := range []arch.Addr{0x10000, 0x10003, 0x1ffe} {
		img, err := o.Place(base, oneEntry(elsewhere))
		if err != nil {
			t.Fatal(err)
		}
		addr := func(name string) arch.Addr { _, a := find(t, img, name); return a }

		for _, c := range []struct {
			in       string
			off      int // of the hole
			relative bool
			bytes    int
			want     arch.Addr
		}{
			{"sum", 0x02, true, 4, addr("weigh")},
			{"sum", 0x09, true, 4, farAwayAt},
			{"sum", 0x10, true, 4, addr(".bss")},
			{"sum", 0x15, true, 4, addr("twice")}, // another section
			{"sum", 0x21, true, 4, elsewhereAt},
			{"twice", 0x03, true, 4, addr(".data") + 0x10},
			{"weigh", 0x0e, false, 4, addr(".rodata")},
			{"address", 0x01, false, 4, addr(".bss")},
			{".data", 0x00, false, 8, addr(".bss")}, // where
			{".data", 0x08, false, 8, elsewhereAt},  // hook
			{".data", 0x10, false, 8, 1},            // counter: no hole
			{".rodata", 0x18, false, 8, 7},          // weights[3]: no hole
		} {
			b, at := find(t, img, c.in)
			var got arch.Addr
			switch {
			case c.bytes == 8:
				got = arch.Addr(binary.LittleEndian.Uint64(b[c.off:]))
			case c.relative:
				got = at + arch.Addr(c.off+4) + arch.Addr(int64(int32(binary.LittleEndian.Uint32(b[c.off:]))))
			default:
				got = arch.Addr(binary.LittleEndian.Uint32(b[c.off:]))
			}
			if got != c.want {
				t.Errorf("base %#x: %s+%#x refers to %#x, want %#x", base, c.in, c.off, got, c.want)
			}
		}

		if addr("weigh") != base || addr("sum") != base+0x20 {
			t.Errorf("base %#x: weigh at %#x, sum at %#x: distances inside .text changed", base, addr("weigh"),
				addr("sum"))
		}
		if _, twice := find(t, img, "twice"); (twice-base)%16 != 0 {
			t.Errorf("base %#x: twice at %#x: alignment isn't counted from base", base, twice)
		}
		for _, b := range img.Blocks {
			if b.Addr%4096 != 0 || b.Addr <= addr("twice") {
				t.Errorf("base %#x: %s at %#x: not on a page of its own behind the code", base, b.Name, b.Addr)
			}
		}
		for _, f := range img.Funcs {
			if err := image.CheckDecodes(f); err != nil {
				t.Error(err)
			}
		}
	}
}

// Placing leaves the object alone: twice at one place is the same twice.
func TestPlaceTwice(t *testing.T) {
	o := parse(t, "testdata/link.o")
	first, err := o.Place(0x10000, oneEntry(elsewhere))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Place(0x70003, oneEntry(elsewhere)); err != nil {
		t.Fatal(err)
	}
	again, err := o.Place(0x10000, oneEntry(elsewhere))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range first.Funcs {
		if g := again.Funcs[i]; string(f.Code) != string(g.Code) || f.Addr != g.Addr {
			t.Errorf("%s: % x at %#x, and then % x at %#x", f.Name, f.Code, f.Addr, g.Code, g.Addr)
		}
	}
}

func TestPlaceRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		base   arch.Addr
		extern image.Extern
		want   []string
	}{
		{"unknown symbol", 0x10000, nowhere, []string{"link.o", "sum+0x9", "far_away", "isn't defined"}},
		{"call out of reach", 0x10000, oneEntry(func(s string) (arch.Addr, bool) {
			a, ok := elsewhere(s)
			if s == "elsewhere" {
				a = 1 << 40
			}
			return a, ok
		}), []string{"sum+0x21", "elsewhere", "0x10000000000", "out of reach", "within 2 GiB"}},
		{"absolute address too high", 1 << 32, oneEntry(func(string) (arch.Addr, bool) { return 1 << 32, true }),
			[]string{"weigh+0xe", ".rodata", "R_X86_64_32S", "below 2 GiB"}},
		{"no room", ^arch.Addr(0) - 10, nowhere, []string{"link.o", "lower address"}},
	} {
		_, err := parse(t, "testdata/link.o").Place(c.base, c.extern)
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q doesn't say %q", c.name, err, want)
			}
		}
	}
}
