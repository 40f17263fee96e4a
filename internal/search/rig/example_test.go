package rig_test

import (
	"fmt"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// oneWriter is a monitor of one's own: text is written by cpu0 only.
type oneWriter struct{ stores int }

func (m *oneWriter) Event(e *traces.Event) *traces.Finding {
	if m.stores++; e.CPU != 0 {
		return &traces.Finding{Place: e.A, Message: fmt.Sprintf("cpu%d stores to text", e.CPU)}
	}
	return nil
}

// A machine to run by yourself, watched by a monitor of your own.
func ExampleNew() {
	sc, _ := library.Load("jump-label-flip")
	rig, err := rig.New(sc, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rig.Close()
	m := new(oneWriter)
	rig.Log.Subscribe(m, smpev.TextStore)
	s, _ := sched.New("random", sched.Params{Seed: 1})
	for i := range uint64(100) {
		run, _ := rig.Next(s, i)
		if rig.Log.Found != nil {
			fmt.Println("run", i, run.Outcome, rig.Log.Found.Message)
			return
		}
	}
	fmt.Println(m.stores, "stores in 100 runs")
	// Output: 900 stores in 100 runs
}
