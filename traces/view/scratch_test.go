package view_test

import (
	"fmt"
	"os"
	"testing"

	"kpsim/properties/harness"
	"kpsim/properties/scenario"
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
	res, err := harness.Explore(harness.Spec{Scenario: sc, Runs: 20000, Mutant: os.Getenv("MU")})
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
	for i := range rep.Rig.Log.Events {
		fmt.Println(rep.Rig.Log.Events[i].String())
	}
	fmt.Println(rep.Place, rep.Property.ID, rep.Finding.Message)
	for _, d := range res.Witness.Schedule {
		fmt.Println(d.String())
	}
}
