package draw_test // yours

import (
	"testing"

	"pgregory.net/rapid"

	"kpsim/kpsimtest"
	"kpsim/kpsimtest/build"
	"kpsim/kpsimtest/draw"
)

// probed draws a machine, probes on a function of one's own, and what else happens.
func probed(t *rapid.T) {
	s := build.New("probed")
	m := draw.Machine(t, s)
	f := []build.Function{s.Text("f", "55 48 89 e5 53 5b 5d c3")} // push %rbp; mov %rsp,%rbp; push %rbx; …
	ks := draw.Probes(t, s, m, f, 1, 2)
	draw.Prober(t, s, m, ks)
	draw.Callers(t, s, m, f)
	draw.Interrupts(t, s, m)
	kpsimtest.Never(t, s, kpsimtest.Runs(50))
}

// No schedule of what is drawn breaks a property.
func TestProbed(t *testing.T) { rapid.Check(t, probed) }

// The same, drawn from the bytes of a fuzzer: go test -fuzz Probed.
func FuzzProbed(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(rapid.MakeFuzz(probed))
}
