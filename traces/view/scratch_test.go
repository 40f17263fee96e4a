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
	sc, ok := scenario.LoadBuiltin(name)
	fmt.Println(sc, ok)
}
