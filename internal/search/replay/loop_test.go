package replay_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/replay"
	"kpsim/traces"
	"kpsim/traces/view"
)

// endless is a trace of a run without an end: of a site that is written to, and what it calls.
const endless = `kpsim trace: P1

-- scenario.star --
scenario("endless")
machine(cpus = 2, steps = 20000)
old = text("old", at = 0xffffffff81000200, hex = "%OLD")
site = text("site", at = 0xffffffff81000140, hex = "e8 bb000000 c3")
task(name = "patcher", cpu = 0, ops = [write(site, "e8 bb000000")])
task(name = "t2", cpu = 1, ops = [call(site)])
never()
-- schedule --
-- verdict --
property: P1
message: any
-- digest --
0x0
-- origin --
strategy: default
seed: 0
run: 0
schedule format: 2
`

// A run without an end is explained by the instructions that a task repeats, wherever they stand, and not by its last
// event, nor by that of a task that has ended.
func TestDecideLoop(t *testing.T) {
	for _, c := range []struct{ old, says string }{
		{"ebfe c3", "cpu1: t2 repeats one instruction from here on: jmp old+0x0 at old+0x0, "},
		{"90 ebfe c3", "cpu1: t2 repeats one instruction from here on: jmp old+0x1 at old+0x1, "},
		{"51 59 ebfc c3", "cpu1: t2 repeats 3 instructions from here on, the first: push %rcx at old+0x0, "},
		// it is run 100 times before, and isn't what goes on for ever
		{"b964000000 ffc9 75fc 90 ebfd c3", "cpu1: t2 repeats 2 instructions from here on, the first: nop at old+0x9, "},
	} {
		file, err := traces.Parse("endless.kps", []byte(strings.ReplaceAll(endless, "%OLD", c.old)))
		require.NoError(t, err)
		r, err := replay.Play("endless.kps", file, true)
		require.NoError(t, err)
		require.True(t, r.Breaks, r.Why)
		in := r.View(file)
		r.Decide(&in)
		for _, list := range [][]view.Sentence{view.Deciding(in), view.Story(in)} {
			require.Len(t, list, 1)
			require.Contains(t, list[0].Text, c.says)
		}
		r.Rig.Close()
	}
}
