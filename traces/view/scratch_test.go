package view_test

import (
	"os"
	"strconv"
	"testing"

	"kpsim/properties/harness"
	"kpsim/properties/scenario"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces/view"
)

func TestScratch(t *testing.T) {
	name := os.Getenv("SC")
	if name == "" {
		t.Skip()
	}
	sc, err := scenario.LoadBuiltin(name)
	if err != nil {
		t.Fatal(err)
	}
	res, err := harness.Explore(harness.Spec{Scenario: sc, Runs: 200000, Mutant: os.Getenv("MU")})
	if err != nil {
		t.Fatal(err)
	}
	if res.Witness == nil {
		t.Fatal("no witness")
	}
	if p := os.Getenv("OUT"); p != "" {
		os.WriteFile(p, res.Witness.File.Marshal(), 0o644)
	}
	rep, err := harness.PlayFile("x", res.Witness.File, true)
	if err != nil {
		t.Fatal(err)
	}
	m := rep.Rig.Machine
	in := view.Input{
		Events: rep.Rig.Log.Events, CPUs: m.CPUs(), Symbol: m.SymbolName, KernelIP: uint64(smp.GateBase) + 0x100000,
		Task:     func(id uint64) string { return m.Tasks()[id].Name },
		Lock:     rep.Rig.Kernel.Locks.Name,
		Probe:    func(id uint64) string { return rep.Rig.Scenario.Probes[id].Name },
		Source:   func(i uint64) string { return m.MoverName(sim.Mover(i)) },
		Schedule: res.Witness.File.Schedule, Property: rep.Property.ID + " " + rep.Property.Name, Place: rep.Place, Message: rep.Finding.Message,
		All: os.Getenv("ALL") != "",
	}
	in.Width, _ = strconv.Atoi(os.Getenv("W"))
	view.Interleaving(os.Stdout, in)
}
