package traces_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"kpsim/traces"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\n é ☃ 漢 █": "a\tb\n é ☃ 漢 █",
		"\x1b[31m":       `\x1b[31m`,
		"\r\x00\a\x7f":   `\x0d\x00\x07\u007f`,
		"\u0085\u009b1m": `\u0085\u009b1m`,
		"\u202eabc\u202a\u2066\u2069\u200e\u200f\u061c": `\u202eabc\u202a\u2066\u2069\u200e\u200f\u061c`,
		"\xff\xc3(\xed\xa0\x80":                         `\xff\xc3(\xed\xa0\x80`,
		"\u2028\ufeff\u00ad":                            `\u2028\ufeff\u00ad`,
		"\U000e0041":                                    `\udb40\udc41`,
		"\ufffd":                                        "\ufffd",
	} {
		require.Equal(t, want, traces.PlainString(text))
		require.Equal(t, want, string(traces.Plain([]byte(text))))
	}
}

// The result of Plain is plain, and JSON keeps its meaning.
func FuzzPlain(f *testing.F) {
	f.Add("\x1b\u202e\x7f\xff a")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range traces.PlainString(s) {
			require.True(t, traces.IsPlain(r), "%q", r)
		}
		if !utf8.ValidString(s) {
			return
		}
		b, err := json.Marshal(s)
		require.NoError(t, err)
		var again string
		require.NoError(t, json.Unmarshal(traces.Plain(b), &again))
		require.Equal(t, s, again)
	})
}
