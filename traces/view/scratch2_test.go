package view_test

import (
	"os"
	"strconv"
	"testing"

	"kpsim/properties/harness"
	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces/view"
)

func TestDefault(t *testing.T) {
	name := os.Getenv("SC")
	if name == "" {
		t.Skip()
	}
	sc, err := scenario.LoadBuiltin(name)
	if err != nil {
		t.Fatal(err)
	}
	rig, err := harness.New(sc, os.Getenv("MU"))
	if err != nil {
		t.Fatal(err)
	}
	rig.Log.Store = true
	var ch sim.Chooser = new(sched.Default)
	if s := os.Getenv("RND"); s != "" {
		n, _ := strconv.Atoi(s)
		st, err := sched.New("portfolio", sched.Params{Seed: uint64(n), Length: 1000, Shards: 1})
		if err != nil {
			t.Fatal(err)
		}
		st.Begin(uint64(n))
		ch = st
	}
	run := rig.Run(ch)
	m := rig.Machine
	in := view.Input{
		Events: rig.Log.Events, CPUs: m.CPUs(), Symbol: m.SymbolName, KernelIP: uint64(smp.GateBase) + 0x100000,
		Task:   func(id uint64) string { return m.Tasks()[id].Name },
		Lock:   rig.Kernel.Locks.Name,
		Probe:  func(id uint64) string { return rig.Scenario.Probes[id].Name },
		Source: func(i uint64) string { return m.MoverName(sim.Mover(i)) },
		All:    os.Getenv("ALL") != "",
	}
	if run.Property != nil {
		in.Property = run.Property.ID
		in.Message = run.Finding.Message
	}
	in.Width, _ = strconv.Atoi(os.Getenv("W"))
	in.Rows, _ = strconv.Atoi(os.Getenv("R"))
	view.Interleaving(os.Stdout, in)
}
