package view_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// Each kind of event that a log can have is told in words.
func TestEachKindIsSaid(t *testing.T) {
	raw := regexp.MustCompile(`\b[a-z]+=0x|^\d+ cpu\d|[{}|]`)
	said := 0
	for _, k := range traces.Kinds() {
		row := k.Spec()
		if row.Heads || row.Monitors && row.Says == "" { // the first are no steps, the second in no log
			continue
		}
		said++
		for v := range uint64(10) {
			tr, _, _ := running()
			tr.On(0, prober).Emit(k, v, v, v)
			in := input(tr, 2)
			in.Source = nil
			steps := view.Lay(in, nil).Steps
			says := steps[len(steps)-1].Says
			assert.False(t, raw.MatchString(says), "%s: %s", k, says)
			assert.NotEmpty(t, says, k)
		}
		assert.NotEmpty(t, row.Doc, k)
	}
	assert.Greater(t, said, 75)
}

// What a kernel's own engine reports is told in words, after the call and the traps that its
// task is in.
func TestStoryOfAKernelsReports(t *testing.T) {
	for _, c := range []struct {
		kind    traces.Kind
		a, b, c uint64
		want    string
	}{
		{linuxev.Warn, f, 1126, 0, "the kernel warns at victim+0x0: the check in line 1126 of its source fails"},
		{linuxev.Warn, f, 0, 0, "the kernel warns at victim+0x0"},
		{linuxev.Heap, linuxev.UseAfterFree, f + 2, 168,
			"access to freed memory at victim+0x2, allocated with 168 bytes"},
		{linuxev.Heap, linuxev.UseAfterFree, f + 2, 0, "access to freed memory at victim+0x2"},
		{linuxev.Heap, linuxev.OutOfBounds, f + 2, 1,
			"access past the end of memory at victim+0x2, allocated with 1 byte"},
		{linuxev.Heap, linuxev.DoubleFree, f, 8,
			"memory at victim+0x0, allocated with 8 bytes, is freed a second time"},
		{linuxev.Heap, linuxev.BadFree, f, 0,
			"memory at victim+0x0 is freed, and isn't the beginning of an allocation"},
		{linuxev.Heap, linuxev.User, f, 0, "access to user space at victim+0x0 by the kernel's code"},
		{linuxev.Uneven, linuxev.Preemption, 1, 2, "a function returns with preempt_count 0x2, which was 0x1"},
		{linuxev.Uneven, linuxev.Interrupts, 1, 0, "a function returns with interrupts off, which were on"},
		{linuxev.Uneven, linuxev.Interrupts, 0, 1, "a function returns with interrupts on, which were off"},
		{linuxev.Uneven, linuxev.Sections, 0, 1, "a function returns in 1 RCU section, and began in 0"},
		{linuxev.Uneven, linuxev.CurrentProbe, 0, 16, "a function returns with current_kprobe 0x10, which was 0x0"},
	} {
		tr, p, other := running()
		p.Emit(kpev.ApiEnter, kpev.Register, 1, f)
		other.Emit(kpev.ApiEnter, kpev.Enable, 1, f)
		p.Trap(smpev.VecUD, f+1)
		p.Emit(c.kind, c.a, c.b, c.c)
		want := []string{"8 cpu0 began register(k), at victim+0x0.", "10 cpu0 took the #UD at victim+0x1.",
			"11 cpu0: " + c.want + "."}
		tells(t, tr, "W1 no-warning", 0, want...)

		tr, p, _ = running()
		p.Emit(kpev.ApiEnter, kpev.Register, 1, f).Emit(kpev.ApiReturn, kpev.Register, 1, 0)
		p.Emit(c.kind, c.a, c.b, c.c)
		tells(t, tr, "W1 no-warning", 0, "10 cpu0: "+c.want+".")
	}
}
