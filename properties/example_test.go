package properties_test

import (
	"fmt"

	"kpsim/internal/testkit/tracetest"
	"kpsim/properties"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
)

// A monitor is tested on a log written by hand: no machine is needed.
func ExampleNewMonitors() {
	tr := tracetest.New()
	tr.Load(0x1000, "55", "48 89 e5", "53", "c3")       // the linked instructions
	tr.Image(0x1000, 0xe9, 0x1b, 0, 0, 0)               // a jump is about to be written,
	tr.Store(0x1001, 0x1b, 0, 0, 0).Store(0x1000, 0xe9) // and is
	tr.On(1, 2).Exec(0x1001, 0x1b, 0x00)                // cpu1, task 2, goes on inside
	monitors := properties.NewMonitors(x86.AMD64, &properties.NoStartInside)
	player := tracetest.NewPlayer(tracetest.Watch{ID: "T2", Kinds: monitors.Kinds(), Monitor: monitors})

	_, at, finding := player.Play(tr)
	fmt.Println("event", at, "breaks", monitors.Finder().Name)
	fmt.Println(finding.Message)
	// Output:
	// event 7 breaks no-start-inside
	// cpu1 task2 begins 1b 00 at 0x1001, inside the 5 bytes at 0x1000 that a patcher has written to
}

// A property is data: the sentence that explore prints, and the kinds of event that it
// needs.
func ExampleByName() {
	p, _ := properties.ByName("no-oops")
	fmt.Println(p.ID, p.Says)
	for _, k := range p.Kinds {
		fmt.Println(k == smpev.Oops, k)
	}
	// Output:
	// O1 The kernel doesn't die: every fault is handled.
	// true Oops
}
