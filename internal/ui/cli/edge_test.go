package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/traces"
)

// Our own codes reach the terminal, and nothing else that a terminal obeys.
func TestEdge(t *testing.T) {
	for text, want := range map[string]string{
		Painted(Red, "no") + " é\n\t": Red + "no" + endOfColour + " é\n\\x09",
		ClearLine + "12 runs":         "\r\x1b[K12 runs",
		Red + "forged" + endOfColour:  `\x1b[1;31mforged\x1b[0m`,
		"\r\x1b[K":                    `\x0d\x1b[K`,
		"\x1b]0;title\a\x7f\u009b2J":  `\x1b]0;title\x07\u007f\u009b2J`,
		"\u202egnp.exe":               `\u202egnp.exe`,
		"\xc3(\xff":                   `\xc3(\xff`,
		"\x1b[" + strings.Repeat("1;", 100) + seal + "m": `\x1b[` + strings.Repeat("1;", 100) + seal + "m",
		"\x1b[32;" + seal: `\x1b[32;` + seal,
	} {
		want = strings.ReplaceAll(want, `\x09`, "\t")
		for _, piece := range []int{1, 2, 3, 7, len(text)} { // however it is written
			var out bytes.Buffer
			e := newEdge(&out)
			for rest := text; rest != ""; rest = rest[min(piece, len(rest)):] {
				n, err := e.Write([]byte(rest[:min(piece, len(rest))]))
				require.NoError(t, err)
				require.Equal(t, min(piece, len(rest)), n)
			}
			e.flush()
			assert.Equal(t, want, out.String(), "in pieces of %d", piece)
		}
	}
}

// Whatever is written, in whatever pieces, comes out as Plain shows it.
func TestEdgeAny(t *testing.T) {
	piece := rapid.SampledFrom([]string{"\x1b", "[", "31", ";", "m", "K", "\r", "\u202e", "\xc3", "\xff", "é", "a",
		"\x1b[31m", "\u009b", "\n", "\x00"})
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		e, text := newEdge(&out), ""
		for _, s := range rapid.SliceOf(piece).Draw(t, "pieces") {
			text += s
			e.Write([]byte(s))
		}
		e.flush()
		require.Equal(t, traces.PlainString(text), out.String())
		require.Equal(t, traces.PlainString(out.String()), out.String(), "it is plain")
	})
}

// What kpsim prints to be typed is, to a shell, the words that were meant.
func TestTypedWords(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	words := []string{"a", "", "a b", "it's", "$(touch trip)", "`id`", "; rm x #", "a\nb", "\x1b[31m", "é", "\u202e",
		"\xff", "a\\b'\x01", "~", "-x", "a=b", "{a,b}", "!x", "^a", "*"}
	line := Line(append([]string{"printf", `%s\0`}, words...)...)
	require.Equal(t, line, traces.PlainString(line))
	require.NotContains(t, line, "\n")
	out, err := exec.Command(bash, "-c", line).Output()
	require.NoError(t, err, line)
	require.Equal(t, strings.Join(words, "\x00")+"\x00", string(out))
	require.Equal(t, "./--out=x", AsFile("--out=x"))
	require.Equal(t, "./--out", AsScenario("/etc/--out"))
}
