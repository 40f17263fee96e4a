package objfile

import (
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What goes into a hole, and what doesn't fit: System V ABI, AMD64,
// "Relocation Types".
func TestForms(t *testing.T) {
	at := [Quantities]uint64{SymbolAt: 0x40002010, SlotAt: 0x40009008, TableAt: 0x40009000, HoleAt: 0x40001000,
		SizeOf: 24}
	for _, c := range []struct {
		kind   elf.R_X86_64
		addend int64
		want   uint64
		ok     bool
	}{
		{elf.R_X86_64_64, 8, 0x40002018, true},
		{elf.R_X86_64_PC64, -4, 0x100c, true},
		{elf.R_X86_64_PC32, -4, 0x100c, true},
		{elf.R_X86_64_PC32, 1 << 31, 0x80001010, false},
		{elf.R_X86_64_PLT32, -0x2000, ^uint64(0) - 0xfef, true},
		{elf.R_X86_64_32, 0, 0x40002010, true},
		{elf.R_X86_64_32, 0xc0000000, 0x100002010, false},
		{elf.R_X86_64_32, -0x40002011, ^uint64(0), false},
		{elf.R_X86_64_32S, -0x40002011, ^uint64(0), true},
		{elf.R_X86_64_32S, 0x40000000, 0x80002010, false},
		{elf.R_X86_64_8, -0x40002010 + 0xff, 0xff, true},
		{elf.R_X86_64_8, -0x40002010 - 0x80, ^uint64(0x7f), true},
		{elf.R_X86_64_8, -0x40002010 + 0x100, 0x100, false},
		{elf.R_X86_64_16, -0x40002010 + 0xffff, 0xffff, true},
		{elf.R_X86_64_PC8, -0x1010 + 0x7f, 0x7f, true},
		{elf.R_X86_64_PC8, -0x1010 + 0x80, 0x80, false},
		{elf.R_X86_64_PC16, 0, 0x1010, true},
		{elf.R_X86_64_SIZE32, 1, 25, true},
		{elf.R_X86_64_SIZE64, -24, 0, true},
		{elf.R_X86_64_GOTPCREL, -4, 0x8004, true},
		{elf.R_X86_64_GOTPCRELX, -4, 0x8004, true},
		{elf.R_X86_64_REX_GOTPCRELX, -4, 0x8004, true},
		{elf.R_X86_64_GOTPCREL64, -4, 0x8004, true},
		{elf.R_X86_64_GOTTPOFF, -4, 0x8004, true},
		{elf.R_X86_64_TLSGD, -4, 0x8004, true},
		{elf.R_X86_64_TLSLD, -4, 0x8004, true},
		{elf.R_X86_64_GOTPC32_TLSDESC, -4, 0x8004, true},
		{elf.R_X86_64_GOT32, 0, 8, true},
		{elf.R_X86_64_GOT64, 0, 8, true},
		{elf.R_X86_64_GOTPLT64, 0, 8, true},
		{elf.R_X86_64_GOTPC32, -4, 0x7ffc, true},
		{elf.R_X86_64_GOTPC64, -4, 0x7ffc, true},
		{elf.R_X86_64_GOTOFF64, 0, ^uint64(0x6fef), true},
		{elf.R_X86_64_PLTOFF64, 0, ^uint64(0x6fef), true},
		{elf.R_X86_64_TPOFF32, 4, 4, true},
		{elf.R_X86_64_DTPOFF32, 4, 4, true},
		{elf.R_X86_64_TPOFF64, -4, ^uint64(3), true},
		{elf.R_X86_64_DTPOFF64, 4, 4, true},
		{elf.R_X86_64_DTPMOD64, 0, 0, true},
		{elf.R_X86_64_TLSDESC_CALL, 0, 0, true},
	} {
		f := Bits64.Form(uint32(c.kind))
		if !assert.NotEqual(t, Unsupported, f.Use, c.kind) {
			continue
		}
		got, ok := f.Value(&at, c.addend)
		assert.Equal(t, c.ok, ok, "%v%+#x", c.kind, c.addend)
		assert.Equal(t, c.want, got, "%v%+#x", c.kind, c.addend)
	}
	for _, kind := range []elf.R_X86_64{elf.R_X86_64_NONE, elf.R_X86_64_COPY, elf.R_X86_64_JMP_SLOT,
		elf.R_X86_64_RELATIVE, elf.R_X86_64_IRELATIVE, elf.R_X86_64_TLSDESC, 43, 1 << 30} {
		assert.Equal(t, Unsupported, Bits64.Form(uint32(kind)).Use, kind)
	}
}

// A hole is filled as wide as it is.
func TestPut(t *testing.T) {
	for n, want := range map[int]string{1: "\x88.......", 2: "\x88\x77......", 4: "\x88\x77\x66\x55....",
		8: "\x88\x77\x66\x55\x44\x33\x22\x11", 0: "........"} {
		hole := []byte("........")
		(&Form{Bytes: n}).Put(binary.LittleEndian, hole, 0x1122334455667788)
		assert.Equal(t, want, string(hole), n)
	}
}

// Names come out in one line and as text, however they were made.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"f": "f", "_ZN1aE.cold": "_ZN1aE.cold", `a"b\c`: `a"b\c`, "é": "é", "a\nb": `a\nb`,
		"\x01\xff\u2028": `\x01\xff\u2028`, "\x7f\\\"": "\\x7f\\\"",
	} {
		assert.Equal(t, want, visible(name))
	}
	table := "\x00f\x00" + strings.Repeat("x", nameMax) + "y\x00unended"
	for _, c := range []struct {
		off  uint32
		want string
		ok   bool
	}{
		{0, "", true}, {1, "f", true}, {3, strings.Repeat("x", nameMax), true},
		{uint32(len(table) - 2), "ed", false}, {uint32(len(table)), "", false}, {1 << 31, "", false},
	} {
		got, ok := stringAt(table, c.off)
		assert.Equal(t, c.ok, ok, c.off)
		assert.Equal(t, c.want, got, c.off)
	}
}
