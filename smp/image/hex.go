package image

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/lazyregexp"
)

// ParseHex reads bytes in the forms that people write and paste:
//
//	55 4889e5 53          pairs of digits
//	0x55, 0x48, 0x89      numbers of one byte, in braces or not; 55h, 0ffh
//	\x55\x48\x89\xe5      escapes
//	.byte 0x55, 72        numbers as the assembler has them; db 55h, 72
//	55:48:89:e5           pairs of digits, with - or : between them
//	Code: 55 <0f> 0b      as a kernel prints them when it dies
//	4: 48 89 e5  mov …    lines of objdump -d and -s, gdb's disassemble /r and x/8xb, V8's
//	                      --print-code, xxd, hexdump -C, kpsim check
//
// Blanks, commas, braces, brackets and quotes may stand between bytes, what an array is
// declared as before them; #, // or ; begin a comment that ends with its line. In a line
// with an address before the bytes these end at a tab or two blanks, and the addresses
// have to go on from line to line, so that none is left out. Under a heading of objdump
// or gdb, other lines are the source's. An error says at which line and column (both from 1) it is,
// and what to write.
func ParseHex(s string) ([]byte, error) { return ParseCode(s, 1) }

// ParseCode is ParseHex of code whose instructions have multiples of unit bytes. If unit is 2
// or 4, an instruction is written as a number, as manuals and objdump write it: 8 digits, or 2 for each byte
// of unit, highest first. Single bytes are pairs of digits, apart.
func ParseCode(s string, unit int) ([]byte, error) {
	r := hexReader{unit: unit}
	for i, line := range strings.Split(s, "\n") {
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("line %d, %w", i+1, err)
		}
	}
	return r.out, nil
}

// A hexReader holds the state after some lines.
type hexReader struct {
	out    []byte
	unit   int    // the bytes of the shortest instruction that is written as a number; 1: none is
	based  bool   // a line had an address
	base   uint64 // the address of the first byte
	listed string // the current line
	source bool   // source lines may stand between lines with an address
	dump   bool   // lines begin with an address without a colon
}

var (
	dashed = lazyregexp.New(`^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2})+$`)
	// beginning of an array
	declared = lazyregexp.New(`^[\w\s*&:;\[\]]*=\s*(?:&|b|\[\]byte|new byte\[\])?\s*([{\["'].*)$`)
	// the last line of xxd -i
	counted = lazyregexp.New(`^\s*unsigned int \w+_len = \d+$`)
	// V8: address, offset, bytes
	compiled = lazyregexp.New(`^\s*0x([0-9a-f]{6,16})\s+[0-9a-f]+\s+([0-9a-f]{2,}(?:\s\s.*)?)$`)
	// a comment in the middle
	inlined = lazyregexp.New(`/\*.*?\*/`)
)

// blanks may stand before a token.
const blanks = " \t\r"

func (r *hexReader) line(line string) error {
	r.listed = line
	line = inlined().ReplaceAllStringFunc(line, func(c string) string { return strings.Repeat(" ", len(c)) })
	if m := declared().FindStringSubmatchIndex(line); m != nil {
		line = strings.Repeat(" ", m[2]) + line[m[2]:]
	}
	for _, mark := range []string{"#", "//", ";"} {
		line, _, _ = strings.Cut(line, mark)
	}
	trimmed := strings.Trim(line, blanks)
	switch {
	case strings.HasSuffix(trimmed, ">:"), strings.HasPrefix(trimmed, "Disassembly of section "),
		strings.Contains(trimmed, "file format "),
		strings.HasPrefix(trimmed, "Dump of assembler code "), trimmed == "End of assembler dump.",
		strings.HasPrefix(trimmed, "Address range "):
		r.source, r.dump = true, false
		return nil // headings of objdump and gdb
	case strings.HasPrefix(trimmed, "Contents of section "):
		r.dump = true
		return nil
	case counted().MatchString(trimmed):
		return nil
	case trimmed == "...":
		return r.errorf(strings.Index(line, "..."), "zeros, or other bytes, are left out here; write them all")
	}
	if dashed().MatchString(trimmed) {
		return r.pairs(strings.NewReplacer(":", "", "-", "").Replace(trimmed), strings.Index(line, trimmed))
	}
	if m := compiled().FindStringSubmatchIndex(line); m != nil {
		addr, err := strconv.ParseUint(line[m[2]:m[3]], 16, 64)
		if err == nil {
			return r.row(addr, line, m[4])
		}
	}
	if addr, rest, ok := r.cutDumped(line, trimmed); ok {
		return r.row(addr, rest, 0)
	}
	if addr, rest, ok := cutAddress(line); ok {
		return r.row(addr, line, len(line)-len(rest))
	}
	before := len(r.out)
	err := r.free(line)
	if err != nil && r.source {
		r.out = r.out[:before] // the next address tells whether there was more
		return nil
	}
	return err
}

// cutDumped removes the address from the front of a line of hexdump -C or objdump -s, and the
// characters from its end.
func (r *hexReader) cutDumped(line, trimmed string) (addr uint64, rest string, ok bool) {
	chars := strings.Index(r.listed, "  |")
	halves := chars > 0 && strings.HasSuffix(strings.TrimRight(r.listed, blanks), "|")
	if !r.dump && !halves {
		return 0, "", false
	}
	first, _, _ := strings.Cut(trimmed, " ")
	addr, err := strconv.ParseUint(first, 16, 64)
	rest = line[strings.Index(line, first)+len(first):]
	if halves && err == nil { // halves of eight bytes, two blanks apart
		rest = strings.Join(strings.Fields(r.listed[len(line)-len(rest):chars]), " ")
		r.dump = true
	}
	return addr, rest, err == nil
}

// free reads bytes without an address.
func (r *hexReader) free(line string) error {
	word, list, _ := strings.Cut(strings.ReplaceAll(strings.TrimLeft(line, blanks), "\t", " "), " ")
	if list = strings.ToLower(list); word == ".byte" || strings.EqualFold(word, "db") &&
		(strings.ContainsAny(list, ",h") || strings.Contains(list, "0x")) {
		return r.numbers(line, strings.Index(line, word)+len(word))
	}
	const between = blanks + `,{}[]()"'`
	hexed := strings.Contains(line, ",") && strings.Contains(strings.ToLower(line), "0x")
	for i := 0; i < len(line); {
		if strings.ContainsRune(between, rune(line[i])) {
			i++
			continue
		}
		n := strings.IndexAny(line[i:], between)
		if n < 0 {
			n = len(line) - i
		}
		t := line[i : i+n]
		if _, err := strconv.ParseUint(t, 10, 64); err == nil && hexed {
			if n > 1 {
				return r.errorf(i, "%s stands beside numbers with 0x, and may be decimal; write 0x before it, "+
					"or 0x and its hexadecimal digits", t)
			}
			t = "0x" + t
		}
		if err := r.token(t, i); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// numbers reads bytes in an assembler's syntax, from column i on: .byte 0x31, 192 or db 31h, 192.
func (r *hexReader) numbers(line string, i int) error {
	for field := range strings.SplitSeq(line[i:], ",") {
		t := strings.ToLower(strings.Trim(field, blanks))
		col := i + strings.IndexFunc(field+"0", func(c rune) bool { return !strings.ContainsRune(blanks, c) })
		i += len(field) + 1
		base := 10
		digits := t
		switch {
		case strings.HasPrefix(t, "0x"):
			digits, base = t[2:], 16
		case strings.HasSuffix(t, "h"):
			digits, base = strings.TrimSuffix(t, "h"), 16
		case len(t) > 1 && t[0] == '0':
			return r.errorf(col, "%s is octal for some; write 0x%s or leave the 0 out", t, strings.TrimLeft(t, "0"))
		}
		n, err := strconv.ParseUint(digits, base, 8)
		if err != nil {
			return r.errorf(col, "%q is no number of one byte; write 0x48, 0x89", t)
		}
		r.out = append(r.out, byte(n))
	}
	return nil
}

func (r *hexReader) errorf(i int, format string, args ...any) error {
	return fmt.Errorf("column %d of %q: %w", i+1, strings.TrimRight(r.listed, blanks), fmt.Errorf(format, args...))
}

// cutAddress removes the part before the bytes in a line of a listing: "  40:", "0x1129 <+4>:",
// "=> 0x1129 <f+4>:", "+0x4  ".
func cutAddress(line string) (addr uint64, rest string, ok bool) {
	line = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(line, blanks), "=>"), blanks)
	before, rest, ok := strings.Cut(line, ":")
	if strings.HasPrefix(line, "+0x") {
		before, rest, ok = strings.Cut(line, "  ")
		before = before[1:]
	} else if where, _, named := strings.Cut(before, " <"); named {
		before = where
	}
	if !ok {
		return 0, "", false
	}
	addr, err := strconv.ParseUint(strings.TrimPrefix(before, "0x"), 16, 64)
	return addr, rest, err == nil
}

// row reads the bytes in a line of a listing, from column i on.
func (r *hexReader) row(addr uint64, line string, i int) error {
	for i < len(line) && strings.IndexByte(blanks, line[i]) >= 0 {
		i++
	}
	switch base := addr - uint64(len(r.out)); {
	case i == len(line) && r.based && addr == r.base+uint64(len(r.out)):
		return nil // hexdump's last line has only the end address
	case i == len(line):
		return r.errorf(0, "no bytes stand behind the address; have them printed, too")
	case strings.HasPrefix(line[i:], "R_X86_64_"):
		return r.errorf(i, "the linker is to change bytes above; give the object file, elf(…)")
	case !r.based:
		r.based, r.base = true, base
	case base != r.base:
		return r.errorf(0, "the line is of %#x, and the bytes before it end at %#x; leave no line out", addr,
			r.base+uint64(len(r.out)))
	}
	for n := 0; i < len(line); n++ {
		word := line[i:]
		if k := strings.IndexAny(word, blanks); k >= 0 {
			word = word[:k]
		}
		number := strings.HasPrefix(word, "0x")
		if number && len(word) > 4 && r.unit == 1 {
			return r.errorf(i, "%s has several bytes, and nothing says which comes first; have them printed "+
				"one by one, in gdb by x/16xb", word)
		}
		digits := strings.TrimPrefix(word, "0x")
		if word == "|" {
			digits = "" // between groups
		}
		b, err := hex.DecodeString(digits)
		if err != nil && n == 0 {
			return r.errorf(i, "no bytes stand behind the address; have them printed, too")
		} else if err != nil {
			return r.errorf(i, "%q isn't bytes; put two blanks before what is no bytes any more, or #", word)
		}
		if err := r.group(b, i); err != nil {
			return err
		}
		i += len(word)
		rest := line[i:]
		if next := strings.TrimLeft(rest, blanks); number && strings.HasPrefix(next, "0x") {
			i += len(rest) - len(next)
			continue
		}
		if rest == "" || rest[0] == '\t' || len(rest) > 1 && strings.IndexByte(blanks, rest[1]) >= 0 {
			return nil // a mnemonic or characters follow
		}
		i++
	}
	return nil
}

// token reads the text between blanks, at column i.
func (r *hexReader) token(t string, i int) error {
	if t == "Code:" {
		return nil
	}
	digits := t
	if n := len(t); n > 2 && t[0] == '<' && t[n-1] == '>' {
		digits = t[1 : n-1]
		i++
	}
	switch number := strings.ToLower(digits); {
	case strings.HasPrefix(digits, `\x`):
		for esc := range strings.SplitSeq(digits[2:], `\x`) {
			if len(esc) != 2 {
				return r.errorf(i, `%q: an escape is \x and two digits`, t)
			}
			if err := r.pairs(esc, i); err != nil {
				return err
			}
		}
		return nil
	case strings.HasPrefix(number, "0x"):
		if len(digits) > 4 && r.unit == 1 {
			return r.errorf(i, "%s has several bytes, and nothing says which comes first; write them apart, as %s", t,
				apart(digits[2:]))
		}
		digits = fmt.Sprintf("%02s", digits[2:])
	case strings.HasSuffix(number, "h"):
		digits = strings.TrimSuffix(number, "h")
		if len(digits) == 3 {
			digits = strings.TrimPrefix(digits, "0")
		}
	}
	return r.pairs(digits, i)
}

// apart formats digits as bytes.
func apart(digits string) string {
	b, err := hex.DecodeString(digits)
	if err != nil {
		return "0x48 0x89"
	}
	return fmt.Sprintf("% x", b)
}

// pairs reads pairs of digits.
func (r *hexReader) pairs(digits string, i int) error {
	b, err := hex.DecodeString(digits)
	var invalid hex.InvalidByteError
	switch {
	case errors.As(err, &invalid):
		return r.errorf(i+strings.IndexByte(digits, byte(invalid)),
			"%q is no hexadecimal digit; write pairs of digits, 55 4889e5, and # before what is no bytes",
			rune(invalid))
	case err != nil:
		return r.errorf(i+len(digits)-1, "a single digit %q; a byte is two digits side by side, 0%c",
			digits[len(digits)-1], digits[len(digits)-1])
	}
	return r.group(b, i)
}

// group takes what stands in one group of digits, at column i.
func (r *hexReader) group(b []byte, i int) error {
	switch n := len(b); {
	case r.unit == 1 || n == 1:
	case n == 4 || n == r.unit:
		slices.Reverse(b)
	default:
		return r.errorf(i, "%x has %d digits: write an instruction as a number of %s, and bytes as pairs, apart", b,
			2*n, map[int]string{2: "8 digits, or of 4", 4: "8 digits"}[r.unit])
	}
	r.out = append(r.out, b...)
	return nil
}
