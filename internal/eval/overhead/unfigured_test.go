package overhead

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/cycles"
)

// What a profile gives is its own, with its comment, and only what is assumed is called so.
func TestUnfigured(t *testing.T) {
	require.Equal(t, "Assumed, as no figure has one: a switch of tasks 1000 cycles, a serialising instruction 150 "+
		"cycles, sending an IPI 300 cycles, getting a line of cache that another CPU has stored to 100 cycles.",
		Unfigured(nil))

	text := NominalProfile("Mine", "x86_64", 2000).Text(func(cycles.Event) string { return NominalNote })
	for _, c := range []struct{ word, line string }{
		{"send-ipi ", "send-ipi 1500.5 # our lab"}, {"sync_core ", "sync_core 77"},
		{"switch ", "switch 900 # " + NominalNote}, {"cache-line ", "cache-line 250 # Assumed by Ann"},
	} {
		before, rest, ok := strings.Cut(text, "\n"+c.word)
		require.True(t, ok)
		_, after, _ := strings.Cut(rest, "\n")
		text = before + "\n" + c.line + "\n" + after
	}
	u, err := ReadProfile("x", text)
	require.NoError(t, err)
	require.Equal(t, "By the profile: a switch of tasks 900 cycles, a serialising instruction 77 cycles, sending an "+
		"IPI 1500.5 cycles (our lab). Assumed, as the profile's comments say: getting a line of cache that another "+
		"CPU has stored to 250 cycles.", Unfigured(u))
	require.Equal(t, "By the profile: sending an IPI 1500.5 cycles (our lab).", Unfigured(u, cycles.SendIPI))
	require.Equal(t, GivenInProfile, u.From(cycles.Switch), "the comment is of the price before")
	require.Equal(t, NominalNote, u.From(cycles.Trap))
}

// Notes of fitted machines are recognised once the user has changed the price.
func TestFittedNominal(t *testing.T) {
	o, err := Fit(Figures())
	require.NoError(t, err)
	m := o.Machines()[0]
	for e := range cycles.Events {
		require.Equal(t, isUnfigured(e), o.Note(m, Calibrated, e) == fittedNominal, e)
	}
}
