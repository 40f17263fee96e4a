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
