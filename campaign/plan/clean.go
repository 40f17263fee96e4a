package plan

import "strings"

// Clean returns a text without control characters, cut to most bytes, because texts of workers are printed on
// terminals and written to files. Line breaks are kept if lines is true.
func Clean(s string, most int, lines bool) string {
	if len(s) > most {
		s = s[:most] + "…"
	}
	s = strings.ToValidUTF8(s, "?")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && lines, r == '\t' && lines:
			return r
		case r == '\n', r == '\t':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029', r >= '\u202a' && r <= '\u202e',
			r >= '\u2066' && r <= '\u2069':
			return '?'
		}
		return r
	}, s)
}
