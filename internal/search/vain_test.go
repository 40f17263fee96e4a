package search_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/traces"
)

// vain is a program in which probes are armed in vain: a client that changes the path has their
// site while kprobes/enabled is written. The site is armed again when that has gone.
const vain = `
machine(cpus = 2, preempt = "none", edition = "%s", optprobes = %s)
f = text("f", "0f1f440000 8d4701 c3")
g = text("g", "4889f8 4883c001 c3")
fentry(f)
site = kprobe("site", at = f, post = [count()])
other = kprobe("other", at = f, post = [count()])
plain = kprobe("plain", at = g)
task("prober", cpu = 0, ops = [register(site, errno = 0), register(other, errno = 0), register(plain, errno = 0),
    enabled(False), livepatch(True), enabled(True), call(f, 1, returns = 2), enable(site, errno = 0),
    call(f, 1, returns = 2), call(g, 1, returns = 2),
    livepatch(False), enabled(False), enabled(True), call(f, 1, returns = 2)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 2), call(g, 1, returns = 2)], repeat = 2)
never()
`

// A linesSink keeps the lines of the kernel's log.
type linesSink struct{ lines []kpev.Line }

func (s *linesSink) Event(e *traces.Event) *traces.Finding {
	s.lines = append(s.lines, kpev.Line(e.A)&^kpev.Prefixed)
	return nil
}

// TestEnabledInVain: a hit isn't accused where the kernel has said that it couldn't arm the
// probe; kernels until 4.15 say so by a WARN, and that all are enabled.
func TestEnabledInVain(t *testing.T) {
	for edition, lines := range map[string][]kpev.Line{
		"4.15": {kpev.LineDisarmed, kpev.LineFtraceInit, kpev.LineArmed, kpev.LineDisarmed, kpev.LineArmed},
		"5.14": {kpev.LineDisarmed, kpev.LineArmedSome, kpev.LineDisarmed, kpev.LineArmed},
		"6.9":  {kpev.LineDisarmed, kpev.LineEnabledSome, kpev.LineDisarmed, kpev.LineArmed},
	} {
		for _, optprobes := range []string{"True", "False"} {
			sc, err := lang.Parse("vain", []byte(fmt.Sprintf(vain, edition, optprobes)))
			require.NoError(t, err)
			res, err := explore.Run(explore.Spec{Scenario: sc, Runs: 300, Seed: 1, Blind: true})
			require.NoError(t, err)
			require.Empty(t, res.Broken, edition)

			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			var log linesSink
			r.Log.Subscribe(&log, kpev.Printk)
			r.Run(new(sched.Default))
			require.Equal(t, lines, log.lines, edition)
		}
	}
}
