package image

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseHex reads bytes as people write and paste them:
//
//	55 4889e5 53          pairs of digits
//	0x55, 0x48, 0x89      numbers of one byte, in braces or not; 55h, 0ffh
//	\x55\x48\x89\xe5      escapes
//	Code: 55 <0f> 0b      as a kernel prints them when it dies
//	4: 48 89 e5  mov …    lines of objdump -d, gdb's disassemble /r, xxd, kpsim check
//
// Blanks, commas, braces, brackets and quotes may stand between bytes; #, // or ;
// begin a comment that ends with its line. In a line with an address before the bytes
// these end at a tab or two blanks, and the addresses have to go on from line to line,
// so that none is left out. An error says at which line and column (both from 1) it is,
// and what to write.
func ParseHex(s string) ([]byte, error) {
	var r hexReader
	for i, line := range strings.Split(s, "\n") {
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("line %d, %w", i+1, err)
		}
	}
	return r.out, nil
}

// A hexReader has read some lines.
type hexReader struct {
	out    []byte
	based  bool   // a line had an address:
	base   uint64 // that of the first byte
	listed string // the line that is read
}

// blanks may stand before a token.
const blanks = " \t\r"

func (r *hexReader) line(line string) error {
	r.listed = line
	for _, mark := range []string{"#", "//", ";"} {
		line, _, _ = strings.Cut(line, mark)
	}
	trimmed := strings.Trim(line, blanks)
	switch {
	case strings.HasSuffix(trimmed, ">:"), strings.HasPrefix(trimmed, "Disassembly of section "), strings.Contains(trimmed, "file format "):
		return nil // headings of objdump
	case trimmed == "...":
		return r.errorf(strings.Index(line, "..."), "zeros, or other bytes, are left out here; write them all")
	}
	if addr, rest, ok := cutAddress(line); ok {
		return r.row(addr, line, len(line)-len(rest))
	}
	const between = blanks + `,{}[]()"'`
	for i := 0; i < len(line); {
		if strings.ContainsRune(between, rune(line[i])) {
			i++
			continue
		}
		n := strings.IndexAny(line[i:], between)
		if n < 0 {
			n = len(line) - i
		}
		if err := r.token(line[i:i+n], i); err != nil {
			return err
		}
		i += n
	}
	return nil
}

func (r *hexReader) errorf(i int, format string, args ...any) error {
	return fmt.Errorf("column %d of %q: %w", i+1, strings.TrimRight(r.listed, blanks), fmt.Errorf(format, args...))
}

// cutAddress cuts what stands before the bytes in a line of a listing:
// "  40:", "0x1129 <+4>:", "=> 0x1129 <f+4>:", "+0x4  ".
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
	case i == len(line):
		return r.errorf(0, "no bytes stand behind the address; have them printed, too")
	case strings.HasPrefix(line[i:], "R_X86_64_"):
		return r.errorf(i, "the linker is to change bytes above; give the object file, elf(…)")
	case !r.based:
		r.based, r.base = true, base
	case base != r.base:
		return r.errorf(0, "the line is of %#x, and the bytes before it end at %#x; leave no line out", addr, r.base+uint64(len(r.out)))
	}
	for n := 0; i < len(line); n++ {
		word := line[i:]
		if k := strings.IndexAny(word, blanks); k >= 0 {
			word = word[:k]
		}
		b, err := hex.DecodeString(word)
		if err != nil && n == 0 {
			return r.errorf(i, "no bytes stand behind the address; have them printed, too")
		} else if err != nil {
			return r.errorf(i, "%q isn't bytes; put two blanks before what is no bytes any more, or #", word)
		}
		r.out = append(r.out, b...)
		i += len(word)
		if rest := line[i:]; rest == "" || rest[0] == '\t' || len(rest) > 1 && strings.IndexByte(blanks, rest[1]) >= 0 {
			return nil // a mnemonic follows, or characters
		}
		i++
	}
	return nil
}

// token reads what stands between blanks, at column i.
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
		if len(digits) > 4 {
			return r.errorf(i, "%s has several bytes, and nothing says which comes first; write them apart, as %s", t, apart(digits[2:]))
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

// apart writes digits as bytes.
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
		return r.errorf(i+strings.IndexByte(digits, byte(invalid)), "%q is no hexadecimal digit; write pairs of digits, 55 4889e5, and # before what is no bytes", rune(invalid))
	case err != nil:
		return r.errorf(i+len(digits)-1, "a single digit %q: a byte is two digits side by side, 0%c", digits[len(digits)-1], digits[len(digits)-1])
	}
	r.out = append(r.out, b...)
	return nil
}
