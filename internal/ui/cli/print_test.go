package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrintJSON: the first object of a command says which kpsim it is, and no other one.
func TestPrintJSON(t *testing.T) {
	const kpsim = `"kpsim":{"version":"","commit":"","modified":null,"source":"module kpsim"}`
	for _, first := range []any{map[string]int{"a": 1}, struct{}{}} {
		var out bytes.Buffer
		p := New(&out, &out)
		require.NoError(t, p.PrintJSON(first))
		require.NoError(t, p.PrintJSON(map[string]string{"b": "<&>"}))
		p.Flush()
		lines := strings.SplitAfter(out.String(), "\n")
		require.True(t, strings.HasSuffix(lines[0], kpsim+"}\n"), lines[0])
		require.JSONEq(t, strings.Replace(strings.Replace(lines[0], ","+kpsim, "", 1), kpsim, "", 1),
			map[bool]string{true: "{}", false: `{"a":1}`}[first == struct{}{}])
		require.Equal(t, "{\"b\":\"<&>\"}\n", lines[1])
	}
}

func TestTenths(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1: "100", 0.5: "50.0", 0.9999: "over 99.9", 0.0001: "under 0.1",
		0.123: "12.3"} {
		if got := Tenths(x); got != want {
			t.Errorf("tenths(%g) = %s, want %s", x, got, want)
		}
	}
}
