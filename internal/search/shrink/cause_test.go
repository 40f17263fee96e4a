package shrink

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/kprobes/kpev"
	"kpsim/traces"
)

// What is said of a site is one cause as long as it is the same in what matters:
// which part of a jump is written, and whether it is called one yet, isn't.
func TestSiteState(t *testing.T) {
	for _, c := range []struct {
		claim traces.Kind
		mem   string
		want  string
	}{
		{0, "\x55\x48\x89\xe5\x53", "unprobed, as linked"},
		{kpev.Arm, "\x55\x48\x89\xe5\x53", "Arm, as linked"},
		{kpev.Arm, "\xcc\x48\x89\xe5\x53", "Arm, breakpoint"},
		{kpev.Optimizing, "\xcc\x48\x89\xe5\x53", "Optimizing, breakpoint"},
		{kpev.Optimizing, "\xcc\x1b\x00\x00\x1f", "Optimized, written"},
		{kpev.Optimized, "\xe9\x1b\x00\x00\x1f", "Optimized, written"},
		{kpev.Optimizing, "\xe9\x48\x89\xe5\x53", "Optimized, written"},
		{kpev.Disarm, "\xe9\x1b\x00\x00\x1f", "Disarm, written"},
	} {
		s := earSite{claim: c.claim}
		copy(s.orig[:], "\x55\x48\x89\xe5\x53")
		copy(s.mem[:], c.mem)
		assert.Equal(t, c.want, s.state())
	}
}
