package main

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

// All that kpsim prints passes an edge. Names, messages and paths come from strangers, and
// a terminal obeys what is in them: so characters that aren't plain are shown as escapes.
// Our own codes, for colours and to clear a line, bear a number that nobody outside knows.

// seal is in the codes that are our own: a parameter as those of ECMA-48 are.
var seal = strconv.FormatUint(rand.Uint64(), 10)

// own makes a code one of ours: \x1b[32m becomes \x1b[32;SEALm.
func own(code string) string { return code[:len(code)-1] + ";" + seal + code[len(code)-1:] }

// painted is text in a colour.
func painted(colour, text string) string { return own(colour) + text + own(endOfColour) }

const (
	escape  = '\x1b'
	mostOwn = 64 // bytes of a code of ours, at most
)

// An edge writes what is plain as it is, our own codes without their seal, and all else as
// an escape. Several goroutines may write.
type edge struct {
	w io.Writer

	mu   sync.Mutex
	held []byte // begins what may be a character, or a code, of which the rest is still to come
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

// flush writes what was held.
func (e *edge) flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.held) > 0 {
		e.w.Write(traces.Plain(e.held))
		e.held = nil
	}
}

// one shows the first character or code of a text, and returns the rest.
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

// begins reports whether a text may be the beginning of one character, or of one of our
// codes.
func begins(text []byte) bool {
	if text[0] != escape {
		return text[0] >= utf8.RuneSelf && len(text) < utf8.UTFMax && !utf8.FullRune(text)
	}
	params, csi := strings.CutPrefix(string(text[1:min(len(text), mostOwn)]), "[")
	return len(text) == 1 || csi && len(text) < mostOwn && strings.Trim(params, "0123456789;") == ""
}

// unsealed returns the code of ours that a text begins with, without its seal, and how long
// it is with it: 0 if it begins with none.
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
