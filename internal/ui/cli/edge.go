package cli

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"kpsim/traces"
)

// All output passes an edge. Names, messages and paths are untrusted, and a terminal would obey
// control codes in them, so unprintable characters are shown as escapes. Our own codes, for
// colours and to clear a line, carry a secret number, the seal.

// seal marks our own codes: an ECMA-48 parameter.
var seal = strconv.FormatUint(rand.Uint64(), 10)

// own marks a code as ours: \x1b[32m becomes \x1b[32;SEALm.
func own(code string) string { return code[:len(code)-1] + ";" + seal + code[len(code)-1:] }

// Painted returns text in a colour.
func Painted(colour, text string) string { return own(colour) + text + own(endOfColour) }

const (
	escape  = '\x1b'
	mostOwn = 64 // maximum length of a code of ours, in bytes
)

// An edge writes plain characters as they are, our own codes without their seal, and
// everything else as an escape. Several goroutines may write.
type edge struct {
	w io.Writer

	mu   sync.Mutex
	held []byte // the incomplete character or code at the end
	buf  []byte
}

func newEdge(w io.Writer) *edge { return &edge{w: w} }

// Write implements io.Writer.
func (e *edge) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := b
	if len(e.held) > 0 {
		text = append(e.held, b...)
	}
	e.buf = e.buf[:0]
	for len(text) > 0 && !begins(text) {
		text = e.one(text)
	}
	e.held = append([]byte(nil), text...)
	if _, err := e.w.Write(e.buf); err != nil {
		return 0, err
	}
	return len(b), nil
}

// flush writes the bytes held back.
func (e *edge) flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.held) > 0 {
		e.w.Write(traces.Plain(e.held))
		e.held = nil
	}
}

// one shows the first character or code of text and returns the rest.
func (e *edge) one(text []byte) []byte {
	if text[0] == escape {
		if code, n := unsealed(text); n > 0 {
			e.buf = append(e.buf, code...)
			return text[n:]
		}
	}
	if c := text[0]; c >= ' ' && c <= '~' || c == '\n' {
		e.buf = append(e.buf, c)
		return text[1:]
	}
	r, size := utf8.DecodeRune(text)
	e.buf = traces.AppendPlain(e.buf, r, text[:size])
	return text[size:]
}

// begins reports whether text may be the beginning of a character or of one of our codes.
func begins(text []byte) bool {
	if text[0] != escape {
		return text[0] >= utf8.RuneSelf && len(text) < utf8.UTFMax && !utf8.FullRune(text)
	}
	params, csi := strings.CutPrefix(string(text[1:min(len(text), mostOwn)]), "[")
	return len(text) == 1 || csi && len(text) < mostOwn && strings.Trim(params, "0123456789;") == ""
}

// unsealed returns the code of ours at the start of text, without its seal, and its length
// with the seal, 0 if there is none.
func unsealed(text []byte) (code []byte, n int) {
	window := text[:min(len(text), mostOwn)]
	end := bytes.IndexAny(window, "mK")
	if end < 0 {
		return nil, 0
	}
	bare, ours := bytes.CutSuffix(window[:end], []byte(";"+seal))
	if !ours {
		return nil, 0
	}
	if window[end] == 'K' {
		return []byte("\r\x1b[K"), end + 1
	}
	return append(bytes.Clone(bare), 'm'), end + 1
}
