package traces

import (
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// IsPlain reports whether a character may be shown to readers. It must not be a control
// character other than a tab or the end of a line, and must not be invisible or change the
// writing direction (Unicode's category C, and the separators of lines and paragraphs).
func IsPlain(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || ' ' <= r && r <= '~':
		return true
	case r < ' ':
		return false
	}
	return !unicode.In(r, unicode.C, unicode.Zl, unicode.Zp)
}

// Plain returns text with all characters that aren't plain shown as escapes: \x1b, \u202e, and
// \xff for a byte that isn't UTF-8. Plain text is returned unchanged. The escapes of
// characters beyond ASCII are those of JSON, so JSON text keeps its meaning.
func Plain(text []byte) []byte {
	n := plainPrefix(text)
	if n == len(text) {
		return text
	}
	out := append(make([]byte, 0, len(text)+64), text[:n]...)
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		out = AppendPlain(out, r, text[n:n+size])
		n += size
	}
	return out
}

// PlainString is Plain for a string.
func PlainString(s string) string {
	if plainPrefix(s) == len(s) {
		return s
	}
	return string(Plain([]byte(s)))
}

// plainPrefix returns the number of plain ASCII bytes at the beginning of text.
func plainPrefix[T string | []byte](text T) int {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return i
		}
	}
	return len(text)
}

// AppendPlain appends a character, decoded from raw, as Plain shows it.
func AppendPlain(out []byte, r rune, raw []byte) []byte {
	switch {
	case r == utf8.RuneError && len(raw) == 1 || r < ' ' && !IsPlain(r):
		return fmt.Appendf(out, `\x%02x`, raw[0])
	case IsPlain(r):
		return append(out, raw...)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
