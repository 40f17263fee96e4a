package x86_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch/x86"
)

var update = flag.Bool("update", false, "write what comes out to testdata; read the diff")

// A form is an encoding that is put to two decoders. Forms of the same name
// stand or fall together: it exists if one of them does.
type form struct {
	code    []byte
	opcode  string // with its escape
	prefix  string
	operand string // m or r and ModRM's reg field, or the ModRM byte
}

// An opinion is the length of an instruction; 0: there is none.
type opinion int

// operandName names ModRM: where only one value of rm is tried, by reg.
func operandName(modrm byte) string {
	switch {
	case modrm < 0xc0:
		return fmt.Sprintf("m%d", modrm>>3&7)
	case modrm&7 == 0:
		return fmt.Sprintf("r%d", modrm>>3&7)
	}
	return fmt.Sprintf("%02x", modrm)
}

// notForms are one-byte opcodes that aren't compared: prefixes, escapes, and
// fwait, which objdump joins to the instruction after it.
var notForms = []byte{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x0f, 0x9b}

// vexes begin a VEX or EVEX prefix, in 32-bit mode with mod 3.
var vexes = []byte{0x62, 0xc4, 0xc5}

// interesting thins out the values of ModRM, but not where each is an
// instruction of its own.
func interesting(escape []byte, op, modrm byte, plain bool) bool {
	rm := modrm & 7
	switch {
	case len(escape) == 0 && (op == 0x8f && modrm&0x1f >= 8 || bytes.IndexByte(vexes, op) >= 0 && modrm >= 0xc0):
		return false // other encodings
	case modrm >= 0xc0 && plain && (len(escape) == 0 && op&0xf8 == 0xd8 || len(escape) == 1 && op == 0x01):
		return true
	case modrm&0x38 != 0:
		return rm == 0 && (modrm < 0x40 || modrm >= 0xc0)
	case modrm >= 0xc0:
		return rm == 0
	}
	return rm == 0 || rm == 4 || rm == 5 || rm == 6
}

// legacyForms are the forms of an opcode after an escape: each prefix that can
// change its meaning or length, each reg field with a register and with memory,
// and the kinds of memory operand.
func legacyForms(mode x86.Mode, escape []byte, op byte) (forms []form) {
	switch {
	case len(escape) == 1 && (op == 0x38 || op == 0x3a):
		return nil // escapes
	case len(escape) > 0:
	case bytes.IndexByte(notForms, op) >= 0, mode == x86.Mode64 && (op&0xf0 == 0x40 || bytes.IndexByte(vexes, op) >= 0):
		return nil
	}
	prefixes := []string{"", "\x66", "\xf3", "\xf2", "\x66\xf3", "\x66\xf2", "\x67"}
	if mode == x86.Mode64 {
		prefixes = append(prefixes, "\x48", "\x66\x48", "\xf3\x48")
	}
	opcode := append(slices.Clone(escape), op)
	for i, p := range prefixes {
		for modrm := range 256 {
			if !interesting(escape, op, byte(modrm), i < 4) {
				continue
			}
			code := append([]byte(p), opcode...)
			forms = append(forms,
				form{append(code, byte(modrm)), fmt.Sprintf("% x", opcode), fmt.Sprintf("%x", p),
					operandName(byte(modrm))})
		}
	}
	return forms
}

// groups are the opcodes that ModRM's reg field is part of in some map after
// VEX, EVEX or XOP. The others are tried with one value of the field, for which
// no two registers of an instruction are the same.
var groups = []byte{0x01, 0x02, 0x12, 0x49, 0x71, 0x72, 0x73, 0xae, 0xc6, 0xc7, 0xf3}

// prefixedForms are those of an opcode after VEX, EVEX or XOP.
func prefixedForms(enc x86.Encoding, space, op byte) (forms []form) {
	name := fmt.Sprintf("%s%d %02x", []string{x86.VEX: "vex", x86.EVEX: "evex", x86.XOP: "xop"}[enc], space, op)
	for variant := range byte(16) {
		pp, w, long := variant&3, variant>>2&1, variant>>3
		second := w<<7 | 15<<3 | pp
		var head []byte
		switch enc {
		case x86.VEX:
			head = []byte{0xc4, 0xe0 | space, second | long<<2}
		case x86.XOP:
			head = []byte{0x8f, 0xe0 | space, second | long<<2}
		case x86.EVEX:
			head = []byte{0x62, 0xf0 | space, second | 4, long<<6 | 0x08 | long} // with a mask, as a gather needs
		}
		for reg := range byte(8) {
			if reg != 1 && bytes.IndexByte(groups, op) < 0 {
				continue
			}
			for _, modrm := range []byte{0x00, 0x04, 0xc0} {
				code := append(slices.Clone(head), op, modrm|reg<<3)
				forms = append(forms, form{code, name, fmt.Sprintf("pp%d", pp), operandName(modrm | reg<<3)})
			}
		}
	}
	return forms
}

// operandForms are all values of ModRM and SIB with an opcode that has all
// operands, in each encoding.
func operandForms() (forms []form) {
	for _, head := range []string{"\x8b", "\x67\x8b", "\x81", "\x67\x0f\x3a\x0f", "\xc5\xf8\x58",
		"\x62\xf1\x7c\x48\x58"} {
		for modrm := range 256 {
			for sib := range 256 {
				if modrm&7 != 4 && sib != 0 {
					break
				}
				forms = append(forms,
					form{append([]byte(head), byte(modrm), byte(sib)), fmt.Sprintf("operand %x", head), "",
						fmt.Sprintf("%02x %02x", modrm, sib)})
			}
		}
	}
	return forms
}

// allForms are those of all opcodes.
func allForms(mode x86.Mode) (forms []form) {
	for _, escape := range []string{"", "\x0f", "\x0f\x38", "\x0f\x3a"} {
		for op := range 256 {
			forms = append(forms, legacyForms(mode, []byte(escape), byte(op))...)
		}
	}
	for _, m := range []struct {
		enc    x86.Encoding
		spaces []byte
	}{{x86.VEX, []byte{1, 2, 3}}, {x86.EVEX, []byte{1, 2, 3, 5, 6}}, {x86.XOP, []byte{8, 9, 10}}} {
		for _, space := range m.spaces {
			for op := range 256 {
				forms = append(forms, prefixedForms(m.enc, space, byte(op))...)
			}
		}
	}
	return append(forms, operandForms()...)
}

// A difference is a form on which the two decoders disagree. "here" or "there":
// only that decoder says that it exists; "length": both do, with different
// lengths.
type difference struct {
	mode     int
	who      string
	opcode   string
	prefixes string
	operands string
}

func (d difference) String() string {
	return fmt.Sprintf("%d-bit %s %s | %s | %s", d.mode, d.who, d.opcode, d.prefixes, d.operands)
}

// differences are all of them, one line each.
type differences struct{ lines []difference }

func (all *differences) String() string {
	var b strings.Builder
	for _, d := range all.lines {
		fmt.Fprintln(&b, d)
	}
	return b.String()
}

// compare adds the differences to what another decoder says.
func (all *differences) compare(mode x86.Mode, forms []form, there []opinion) {
	type name struct{ opcode, prefix, operand string }
	type existence struct{ here, there, length bool }
	var names []name
	found := map[name]*existence{}
	for i := range forms {
		f := &forms[i]
		n := name{f.opcode, f.prefix, f.operand}
		e := found[n]
		if e == nil {
			e = &existence{}
			found[n] = e
			names = append(names, n)
		}
		in, err := mode.Decode(padded(f.code), 0)
		e.here = e.here || err == nil
		e.there = e.there || there[i] != 0
		e.length = e.length || err == nil && there[i] != 0 && int(in.Len) != int(there[i])
	}
	bits := 64
	if mode == x86.Mode32 {
		bits = 32
	}
	// Operands of a prefix, then the prefixes that have the same operands.
	var lines []difference
	add := func(who string, n name) {
		prefix := n.prefix
		if prefix == "" {
			prefix = "none"
		}
		for i := len(lines) - 1; i >= 0 && lines[i].opcode == n.opcode; i-- {
			if d := &lines[i]; d.who == who && d.prefixes == prefix {
				d.operands += " " + n.operand
				return
			}
		}
		lines = append(lines, difference{bits, who, n.opcode, prefix, n.operand})
	}
	for _, n := range names {
		switch e := found[n]; {
		case e.length:
			add("length", n)
		case e.here && !e.there:
			add("here", n)
		case e.there && !e.here:
			add("there", n)
		}
	}
	first := len(all.lines)
next:
	for _, d := range lines {
		d.operands = strings.NewReplacer("m0 m1 m2 m3 m4 m5 m6 m7", "m", "r0 r1 r2 r3 r4 r5 r6 r7",
			"r").Replace(d.operands)
		for i := first; i < len(all.lines); i++ {
			if o := &all.lines[i]; o.opcode == d.opcode && o.who == d.who && o.operands == d.operands {
				o.prefixes += " " + d.prefixes
				continue next
			}
		}
		all.lines = append(all.lines, d)
	}
}

// padded is code followed by nops.
func padded(code []byte) []byte {
	return append(slices.Clone(code), bytes.Repeat([]byte{0x90}, x86.MaxLen-len(code))...)
}

// frozen compares text with a file, and with -update writes it.
func frozen(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "run with -update, and read the difference")
}
