package image

import (
	"encoding/hex"
	"fmt"
)

// ParseHex reads bytes written as pairs of hexadecimal digits. Blanks and line
// ends may stand between bytes; # begins a comment that ends with its line. An
// error says at which line and column (both from 1) it is.
func ParseHex(s string) ([]byte, error) {
	var out []byte
	line, col := 1, 0
	for i := 0; i < len(s); i++ {
		col++
		switch c := s[i]; {
		case c == '\n':
			line, col = line+1, 0
		case c == ' ' || c == '\t' || c == '\r':
		case c == '#':
			for i+1 < len(s) && s[i+1] != '\n' {
				i++
			}
		case !isHexDigit(c):
			return nil, fmt.Errorf("line %d, column %d: %q is no hexadecimal digit", line, col, c)
		case i+1 == len(s) || !isHexDigit(s[i+1]):
			return nil, fmt.Errorf("line %d, column %d: a single digit %q: a byte is two digits side by side", line, col, c)
		default:
			b, err := hex.DecodeString(s[i : i+2])
			if err != nil {
				return nil, fmt.Errorf("line %d, column %d: %v", line, col, err)
			}
			out = append(out, b...)
			i, col = i+1, col+1
		}
	}
	return out, nil
}

func isHexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
