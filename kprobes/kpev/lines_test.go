package kpev

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each line has a text, which takes as many numbers as it is given.
func TestLines(t *testing.T) {
	for line := LineArmed; line < lineCount; line++ {
		text := Text(line, 7, 8)
		assert.NotEmpty(t, text, "line %d", line)
		assert.NotContains(t, text, "%!", "line %d", line)
		assert.Equal(t, verbs[line], strings.Count(formats[line], "%"), "line %d", line)
		assert.Equal(t, "kprobes: "+text, Text(line|Prefixed, 7, 8))
	}
	assert.Equal(t, "line 99: 0x1 0x2", Text(99, 1, 2))
}

// A kernel's format is found with its level and subsystem.
func TestLineOf(t *testing.T) {
	for format, want := range map[string]Line{
		"\x016kprobes: Kprobes globally enabled\n": LineArmed | Prefixed,
		"\x016Kprobes globally disabled\n":         LineDisarmed,
		"\x014kprobes: Kprobes globally enabled, but failed to enable %d out of %d probes. Please check which kprobes are kept disabled via debugfs.\n": LineEnabledSome | Prefixed,
		"\x016kprobes: something else\n": 0,
		"\x01":                           0,
		"":                               0,
	} {
		got, ok := LineOf(format)
		assert.Equal(t, want, got, format)
		assert.Equal(t, want != 0, ok, format)
	}
}

// The lines about a switch are told from each other, and from the others.
func TestSwitched(t *testing.T) {
	ways := map[Switch][2]int{}
	for line := Line(0); line < lineCount; line++ {
		s, on := line.Switched()
		is, was := (line | Prefixed).Switched()
		assert.Equal(t, []any{s, on}, []any{is, was}, "line %d", line)
		n := ways[s]
		if on {
			n[1]++
		} else {
			n[0]++
		}
		ways[s] = n
	}
	assert.Equal(t, map[Switch][2]int{NoSwitch: {9, 0}, EnabledFile: {3, 3}, Optimization: {2, 2}}, ways)
}
