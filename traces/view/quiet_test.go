package view_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/kprobes/kpev"
	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// A task stands inside bytes from when it comes there, before the patcher or after it, until
// it leaves or they hold what they held; not at their first byte, nor where only a
// breakpoint is written, nor with the ip that a breakpoint has saved.
func TestSceneInsides(t *testing.T) {
	const says = "stands inside the 5 bytes at victim+0x0"
	tr, p, c := running()                       // steps 0, 1
	c.Exec(f, 0x55)                             // 2
	c.Trap(smpev.VecTimer, f+1)                 // 3: it comes to stand there
	p.Image(f, 0xcc).Store(f, 0xcc)             // 4, 5: a breakpoint
	p.Image(f, jump...).Store(f+1, jump[1:]...) // 6, 7
	p.Store(f, jump[0])                         // 8
	c.Return(smpev.VecTimer, f+1)               // 9
	c.Exec(f+1, 0x1b, 0x00)                     // 10
	c.Exec(f+3, 0x00, 0x1f)                     // 11: still inside
	c.Emit(smpev.CallEnd, 0, 0, 0)              // 12: it isn't any more
	c.Exec(f, jump...)                          // 13: at the first byte
	c.Emit(smpev.CallEnd, 0, 0, 0)              // 14
	assert.Equal(t, []string{"cpu1 caller " + says + " 3-12"}, spans(lay(tr), view.SpanInside))

	tr, p, c = running()
	c.Exec(f, 0x55)
	c.Trap(smpev.VecTimer, f+1).Return(smpev.VecTimer, f+1)
	c.Emit(smpev.CallEnd, 0, 0, 0)
	jumps(p)
	c.Trap(smpev.VecBP, f+1).Return(smpev.VecBP, f)
	assert.Empty(t, spans(lay(tr), view.SpanInside), "it had left; a breakpoint's ip is no place to come back to")

	tr, p, c = running()
	jumps(p)
	p.Image(f, 0x55, 0x48, 0x89, 0xe5, 0x53).Store(f, 0x55, 0x48, 0x89, 0xe5, 0x53)
	c.Exec(f, 0x55).Trap(smpev.VecTimer, f+1)
	assert.Empty(t, spans(lay(tr), view.SpanInside), "they hold what they held")

	tr, p, c = running()
	p.Emit(smpev.Alloc, slots, 16, kpev.SlotMem)    // 2
	p.Store(slots, 0x55, 0xcc)                      // 3
	c.Exec(slots, 0x55).Trap(smpev.VecNMI, slots+1) // 4, 5
	p.Emit(smpev.Free, slots, 16, 0)                // 6
	c.Return(smpev.VecNMI, slots+1)                 // 7
	assert.Equal(t, []string{"cpu1 caller stands inside slot, which will be freed 5-6",
		"cpu1 caller stands inside freed slot 6-7"}, spans(lay(tr), view.SpanInside))
}

// Folded is what doesn't touch the site, what the story doesn't rest on, and what no
// deviation is at; of a run of which nothing is told nothing is.
func TestSceneFolds(t *testing.T) {
	tr, p, c := running()
	for range 20 {
		p.Emit(smpev.MightSleep, 0, 0, 0) // 2 to 21
	}
	c.Exec(f, 0x55)             // 22
	c.Trap(smpev.VecTimer, f+1) // 23
	jumps(p)                    // 24, 25
	for range 5 {
		p.Emit(smpev.MightSleep, 0, 0, 0) // 26 to 30
	}
	c.Return(smpev.VecTimer, f+1) // 31
	c.Exec(f+1, 0x1b, 0x00)       // 32
	in := input(tr, 2)
	in.Property, in.PlaceAt = "T2 no-start-inside", f
	s := view.Lay(in, nil)
	assert.Equal(t, []view.Stretch{{From: 0, To: 20}}, s.Folds, "five aren't worth it")

	in.Schedule = []traces.Deviation{{Mover: "cpu0", Alt: "cpu1", Kind: sim.Step}}
	s = view.Lay(in, &view.Look{Turns: []uint32{s.Steps[9].Event.Seq}})
	assert.Equal(t, []view.Stretch{{From: 0, To: 7}, {From: 11, To: 20}}, s.Folds)

	in.Property, in.Schedule = "", nil
	assert.Empty(t, view.Lay(in, nil).Folds)
}

// What went wrong is said with the CPU and the place, if they are known.
func TestScenePlain(t *testing.T) {
	tr, p, c := running()
	jumps(p)
	c.Exec(f+1, 0x1b, 0x00)
	in := input(tr, 2)
	for _, test := range []struct{ property, place, want string }{
		{"T2 no-start-inside", "victim+0x1", "cpu1 ran code from the middle of an instruction at victim+0x1."},
		{"T2 no-start-inside", "", "cpu1 ran code from the middle of an instruction."},
		{"T4 text-agrees", "victim+0x1", "The text isn't what kprobes takes it to be (victim+0x1)."},
		{"S1 no-use-after-free", "", "cpu1 went into code memory that had been freed."},
		{"", "", ""},
	} {
		in.Property, in.Place = test.property, test.place
		assert.Equal(t, test.want, view.Lay(in, nil).Plain)
	}
	p.Emit(smpev.Free, slots, 16, 0)
	in = input(tr, 2)
	in.Property = "S1 no-use-after-free"
	assert.Equal(t, "cpu0 freed code memory that was still in use.", view.Lay(in, nil).Plain)
	in.AtEnd = true
	assert.Equal(t, "Code memory of a probe was left behind, or freed twice.", view.Lay(in, nil).Plain)
}
