package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A pokes is what a patcher does to text: the bytes of each store, and how often it sends IPIs.
type pokes struct {
	stores []uint64
	ipis   int
}

func (p *pokes) Event(e *traces.Event) *traces.Finding {
	if e.Kind == smpev.SendIPI {
		p.ipis++
	} else {
		p.stores = append(p.stores, e.C)
	}
	return nil
}

// TestWhole: jump labels that are written without a breakpoint are stored as their addresses allow, and all CPUs are
// synced once after the last site.
func TestWhole(t *testing.T) {
	const (
		riscv, arm   = `machine(cpus = 3, arch = "riscv64")`, `machine(cpus = 3, arch = "arm64")`
		riscvStopped = `machine(cpus = 3, arch = "riscv64", patch = "stop_machine")`
		f            = `f = text("f", "00000013 00008067 00000013 00008067 00008067")`
		odd          = `f = text("f", "0001 00000013 00008067 00008067")`
		g            = `g = text("g", "d503201f d65f03c0 d503201f d65f03c0 d65f03c0")`
	)
	for name, row := range map[string]struct {
		machine, text, at, target string
		stores                    []uint64
		ipis                      int
	}{
		"riscv64":                 {riscv, f, "f", "f + 4", []uint64{4}, 1},
		"two sites":               {riscv, f, "[f, f + 8]", "[f + 4, f + 16]", []uint64{4, 4}, 1},
		"at two more than four":   {riscv, odd, "f + 2", "f + 10", []uint64{2, 2}, 1},
		"with stopped CPUs":       {riscvStopped, f, "f", "f + 4", []uint64{4}, 0},
		"arm64":                   {arm, g, "g", "g + 4", []uint64{4}, 1},
		"two sites of arm64":      {arm, g, "[g, g + 8]", "[g + 4, g + 16]", []uint64{4, 4}, 1},
		"of arm64 at six times 4": {arm, g, "g + 8", "g + 16", []uint64{4}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := rig.New(searchtest.Load(t, row.machine+"\n"+row.text+`
key = jump_label("key", at = `+row.at+`, target = `+row.target+`)
task("a", ops = [label_on(key)])
never()
`), "")
			require.NoError(t, err)
			defer r.Close()
			var did pokes
			r.Log.Subscribe(&did, smpev.TextStore, smpev.SendIPI)
			run := r.Run(new(sched.Default))
			require.Nil(t, run.Property, r.Message(&run))
			require.Equal(t, row.stores, did.stores)
			require.Equal(t, row.ipis, did.ipis)
		})
	}
}

// TestForeignWhole: such kernels don't look at a site before they write it, and write none of a key that doesn't turn.
func TestForeignWhole(t *testing.T) {
	for ops, wrong := range map[string]string{
		`write(f, "00008067"), label_on(l)`:                "T6",
		`label_off(l), write(f, "00008067")`:               "J2",
		`write(f, "00008067"), label_off(l)`:               "J2", // it isn't written
		`label_on(l), save_text(f, d), write(f, saved(d))`: "",
	} {
		r, err := rig.New(searchtest.Load(t, `machine(cpus = 2, arch = "riscv64")
d = data("d", size = 4)
f = text("f", "00000013 00008067 00008067")
l = jump_label("l", at = f, target = f + 8)
task("a", ops = [`+ops+`])
never()
`), "")
		require.NoError(t, err, ops)
		run := r.Run(new(sched.Default))
		if wrong == "" {
			require.Nil(t, run.Property, "%s: %s", ops, r.Message(&run))
		} else {
			require.Equal(t, wrong, run.Property.ID, ops)
		}
		r.Close()
	}
}
