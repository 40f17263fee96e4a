package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// Sentences that several of these stories have.
const (
	wroteJump = "cpu0 wrote the jump to slots+0x20 over victim+0x0..+0x4."
	didntWait = "prober didn't wait for a grace period or for stop_machine before writing."
	wentOn    = "cpu1 went on at victim+0x1 and ran 1b 00 (sbb (%rax),%eax): bytes 1 and 2 of the jump to slots+0x20."
	returned  = "cpu1 returned to victim+0x1 and ran 1b 00 (sbb (%rax),%eax): bytes 1 and 2 of the jump to slots+0x20."
)

// tells compares the story of a log with sentences; at 0 is the last event.
func tells(t *testing.T, tr *tracetest.Trace, property string, at uint32, want ...string) {
	t.Helper()
	in := input(tr, 2)
	in.Property, in.At, in.PlaceAt = property, at, f
	assert.Equal(t, want, story(in), "%s", tr)
}

// story is a story's sentences, each after the number of its event.
func story(in view.Input) (list []string) {
	for _, s := range view.Story(in) {
		list = append(list, fmt.Sprintf("%d %s", s.Seq, s.Text))
	}
	return list
}

// jumps has a CPU store the whole jump.
func jumps(p tracetest.Hand) tracetest.Hand { return p.Image(f, jump...).Store(f, jump...) }

// running begins a log in which both CPUs run their tasks.
func running() (tr *tracetest.Trace, p, c tracetest.Hand) {
	tr = begin()
	tr.On(1, 1).Emit(smpev.Switch, 1, caller, 1)
	return tr, tr.On(0, prober), tr.On(1, caller)
}

// The story tells of the interrupt that holds the CPU while the tail is written, not of
// those before and after it.
func TestStoryPicksTheInterrupt(t *testing.T) {
	tr, p, c := running()
	c.Exec(f, 0x55)
	c.Trap(smpev.VecTimer, f+1).Return(smpev.VecTimer, f+1)
	p.Image(f, jump...).Store(f, 0xcc)
	c.Trap(smpev.VecNMI, f+1)
	p.Store(f+1, jump[1:]...)
	c.Return(smpev.VecNMI, f+1)
	answer(c, f+1, 3)
	c.Exec(f+1, 0x1b, 0x00)
	tells(t, tr, "T2 no-start-inside", 0,
		"8 cpu1 ran push %rbp at victim+0x0; next was victim+0x1.",
		"12 cpu0 wrote a breakpoint over victim+0x0.",
		"13 An NMI took cpu1 at victim+0x1, before mov %rsp,%rbp ran.",
		"14 "+didntWait,
		"14 cpu0 wrote the tail of the jump to slots+0x20 over victim+0x1..+0x4.",
		"19 "+returned,
	)
}

// A grace period that the CPU's tick ends, and one that began before it came.
func TestStoryOfGracePeriods(t *testing.T) {
	tr, p, c := running()
	c.Exec(f, 0x55)
	p.Emit(smpev.GPStart, smpev.GPRcu, 3, 0)
	c.Trap(smpev.VecTimer, f+1)
	p.Emit(smpev.GPEnd, smpev.GPRcu, 3, 0).Image(f, jump...).Store(f, jump...)
	c.Return(smpev.VecTimer, f+1).Exec(f+1, 0x1b, 0x00)
	tells(t, tr, "T2 no-start-inside", 0,
		"8 cpu1 ran push %rbp at victim+0x0; next was victim+0x1.",
		"10 A timer interrupt took cpu1 at victim+0x1, before mov %rsp,%rbp ran.",
		"11 The RCU grace period ended although caller stood at victim+0x1: cpu1's tick at event 10 was its quiescent state.",
		"13 "+wroteJump,
		"15 "+returned,
	)

	tr, p, c = running()
	p.Emit(smpev.GPStart, smpev.GPSched, 3, 0).Emit(smpev.GPEnd, smpev.GPSched, 3, 0)
	c.Exec(f, 0x55)
	jumps(p)
	c.Exec(f+1, 0x1b, 0x00)
	tells(t, tr, "T2 no-start-inside", 0,
		"9 prober's RCU-sched grace period ended before cpu1 came to victim+0x1.",
		"10 cpu1 ran push %rbp; next was victim+0x1, where it stood until event 13.",
		"12 "+wroteJump,
		"13 "+wentOn,
	)
}

// A byte is old although an IPI has been sent, because it hasn't arrived. If the CPU
// had serialised since, the story wouldn't say so.
func TestStoryOfAStaleByte(t *testing.T) {
	tr, p, c := running()
	answer(c, f, 4)
	p.Image(f, jump...).Store(f, 0xcc)
	sync(p, 2, 1)
	p.Store(f+1, jump[1:]...)
	c.Exec(f, 0x55)
	tells(t, tr, "T1 whole-instructions", 0,
		"12 cpu0 wrote a breakpoint over victim+0x0.",
		"12 The IPI that was to make cpu1 serialise hadn't reached it, so it might still fetch the older bytes.",
		"16 cpu1 ran 55 (push %rbp): as linked.",
	)

	tr, p, c = running()
	p.Image(f, jump...).Store(f, 0xcc)
	answer(c, f, 4)
	c.Exec(f, 0x55)
	tells(t, tr, "T1 whole-instructions", 0,
		"9 cpu0 wrote a breakpoint over victim+0x0.",
		"13 cpu1 ran 55 (push %rbp): as linked.",
	)
}

// The pieces of one memcpy are one write; a head that is stored by itself is another.
func TestStoryOfPieces(t *testing.T) {
	tr := tracetest.New()
	const g = f + 5 // the jump lies across a chunk's end
	tr.Load(f, "90", "90", "90", "90", "90", "55", "48 89 e5", "53", "c3")
	tr.On(0, prober).Image(g, jump...).Store(g, jump...)
	tr.On(1, caller).Exec(g+1, 0x1b, 0x00)
	tells(t, tr, "T2 no-start-inside", 0,
		"10 "+didntWait,
		"10 cpu0 wrote the jump to slots+0x25 over victim+0x5..0xffffffff81000009.",
		"12 cpu1 went on at victim+0x6 and ran 1b 00 (sbb (%rax),%eax): bytes 1 and 2 of the jump to slots+0x25.",
	)

	tr, p, c := running()
	p.Image(f, jump...).Store(f, jump[0]).Store(f+1, jump[1:]...)
	c.Exec(f+1, 0x1b, 0x00)
	tells(t, tr, "T2 no-start-inside", 0,
		"9 cpu0 wrote the first byte of the jump to slots+0x20 over victim+0x0.",
		"10 "+didntWait,
		"10 cpu0 wrote the tail of the jump to slots+0x20 over victim+0x1..+0x4.",
		"11 "+wentOn,
	)
}

// A detour is freed and allocated again while a task is in its callback.
func TestStoryOfMemoryUsedAgain(t *testing.T) {
	tr, p, c := running()
	p.Alloc(detour, 20, kpev.DetourMem)
	c.Exec(f, 0x55)
	p.Alloc(slots, 2, kpev.SlotMem).Free(slots, 2, kpev.SlotMem) // no task was in it
	jumps(p).Emit(kpev.Optimized, f, detour, 0)
	c.Exec(f, jump...).Exec(detour, 0x54)
	p.Free(detour, 20, kpev.DetourMem).Alloc(detour, 30, kpev.DetourMem)
	c.CallEnd(0, 78)
	tells(t, tr, "X1 transparent", 0,
		"15 cpu1 took the jump at victim+0x0 (jmpq detour+0x0).",
		"17 cpu0 freed the detour while caller was in it, behind push %rsp.",
		"18 cpu0 was handed the same memory, for something else.",
		"19 cpu1: call 0 of caller ended otherwise than it ends without probes.",
	)
}

func TestStoryOfLocks(t *testing.T) {
	tr, p, c := running()
	p.Lock(1).Lock(2).Unlock(2).Unlock(1)
	c.Lock(2).Lock(1)
	in := input(tr, 2)
	in.Property = "K1 locks"
	in.Lock = func(id uint64) string { return []string{"", "kprobe_mutex", "text_mutex"}[id] }
	assert.Equal(t, []string{
		"9 cpu0 had taken text_mutex under kprobe_mutex before.",
		"12 cpu1: caller took text_mutex.",
		"13 cpu1: caller: lock kprobe_mutex.",
	}, story(in))
}

func TestStoryOfTheEnd(t *testing.T) {
	tr, p, _ := running()
	p.Register(0, f).Emit(kpev.Arm, f, 0, 0).Store(f, 0xcc).Unregister(0).Emit(kpev.Disarm, f, 0, 0)
	tr.End(true)
	tells(t, tr, "L2 text-restored", 0,
		"11 cpu0 wrote the probe's breakpoint to victim+0x0.",
		"13 unregister(k) returned on cpu0, the last call for victim+0x0.",
		"14 cpu0 disarmed victim+0x0, it says, but stored nothing there.",
		"15 At the end victim+0x0 holds cc; linked there is 55.",
	)
}

// Any story has at most eight sentences, ends with the violation, and doesn't panic on
// an incomplete log.
func TestStoryOfAnything(t *testing.T) {
	tr, _ := interrupted()
	all := tr.Events
	for _, property := range []string{"T1 x", "T2 x", "T3 x", "B1 x", "X1 x", "X2 x", "A1 x", "L1 x", "L2 x", "L3 x",
		"S1 x", "O1 x", "K1 x", "P1 x"} {
		for at := 1; at < len(all); at++ {
			for _, from := range []int{0, 5, 30} { // without the head, too
				in := input(tr, 2)
				in.Property, in.At = property, all[at].Seq
				in.Events = append([]traces.Event(nil), all[min(from, at):]...)
				story := view.Story(in)
				if len(story) == 0 || len(story) > 8 {
					t.Fatalf("%s at event %d from %d: %d sentences", property, at, from, len(story))
				}
				if last := story[len(story)-1]; last.Seq != all[at].Seq {
					t.Errorf("%s: the story of event %d ends with event %d", property, all[at].Seq, last.Seq)
				}
				for _, s := range story {
					if !strings.HasSuffix(s.Text, ".") || strings.Contains(s.Text, "%!") ||
						strings.Contains(s.Text, "  ") {
						t.Errorf("%q", s.Text)
					}
				}
			}
		}
	}
	in := input(tr, 2)
	if view.Story(in) != nil {
		t.Error("nothing is broken, and there is a story")
	}
}

// An interrupt after the stores holds no CPU; one within another ends by itself.
func TestStoryOfInterruptsElsewhere(t *testing.T) {
	tr, p, c := running()
	c.Exec(f, 0x55)
	jumps(p)
	c.Trap(smpev.VecTimer, f+1).Return(smpev.VecTimer, f+1).Exec(f+1, 0x1b, 0x00)
	tells(t, tr, "T2 no-start-inside", 0,
		"8 cpu1 ran push %rbp; next was victim+0x1, where it stood until event 13.",
		"10 "+didntWait,
		"10 "+wroteJump,
		"13 "+wentOn,
	)

	tr, p, c = running()
	c.Exec(f, 0x55).Trap(smpev.VecTimer, f+1).Trap(smpev.VecNMI, kernel)
	jumps(p).Emit(smpev.Switch, prober, 0, 0) // preempted, but not caller
	c.Return(smpev.VecNMI, kernel).Return(smpev.VecTimer, f+1).Exec(f+1, 0x1b, 0x00)
	tells(t, tr, "T2 no-start-inside", 0,
		"8 cpu1 ran push %rbp at victim+0x0; next was victim+0x1.",
		"9 A timer interrupt took cpu1 at victim+0x1, before mov %rsp,%rbp ran.",
		"12 "+didntWait,
		"12 "+wroteJump,
		"16 "+returned,
	)
}

// A wait before another work item is no wait for this one.
func TestStoryOfAnEarlierWait(t *testing.T) {
	tr, p, c := running()
	p.Emit(smpev.GPStart, smpev.GPSched, 1, 0).Emit(smpev.GPEnd, smpev.GPSched, 1, 0)
	jumps(p).Emit(kpev.Optimized, f, detour, 0)
	p.Store(f, 0x55, 0x48, 0x89, 0xe5, 0x53).Emit(kpev.Unoptimized, f, 0, 0)
	c.Exec(f, 0x55)
	jumps(p)
	c.Exec(f+1, 0x1b, 0x00)
	tells(t, tr, "T2 no-start-inside", 0,
		"15 cpu1 ran push %rbp; next was victim+0x1, where it stood until event 18.",
		"17 "+didntWait,
		"17 "+wroteJump,
		"18 "+wentOn,
	)
}

// A breakpoint that was there when it was run, and whose owner left while the CPU was
// on its way to the handler, wasn't an old byte.
func TestStoryOfAnOwnerThatWent(t *testing.T) {
	tr, p, c := running()
	p.Register(0, f).Emit(kpev.Arm, f, 0, 0).Store(f, 0xcc)
	c.Break(f)
	p.Emit(kpev.Disarm, f, 0, 0).Store(f, 0x55)
	c.Oops(smpev.VecBP, f+1)
	tells(t, tr, "B1 owned-breakpoint", 0,
		"11 cpu0 wrote the probe's breakpoint to victim+0x0.",
		"12 cpu1 ran cc at victim+0x0, the breakpoint, and trapped.",
		"15 cpu0 wrote the original byte back to victim+0x0.",
		"16 Neither the text-poke handler nor kprobes claimed the #BP on cpu1: the kernel died.",
	)
}

// An interrupt comes in a detour, which is gone when it returns.
func TestStoryOfAReturnToFreedMemory(t *testing.T) {
	tr, p, c := running()
	p.Alloc(detour, 20, kpev.DetourMem)
	c.Exec(f, jump...).Exec(detour, 0x54).Trap(smpev.VecTimer, detour+1)
	p.Free(detour, 20, kpev.DetourMem)
	c.Return(smpev.VecTimer, detour+1)
	tells(t, tr, "S1 no-use-after-free", 0,
		"9 cpu1 ran jmpq detour+0x0 at victim+0x0, into the detour.",
		"10 cpu1 ran push %rsp at detour+0x0; next was detour+0x1.",
		"11 A timer interrupt took cpu1 at detour+0x1.",
		"12 prober didn't wait for a grace period or for stop_machine before freeing.",
		"12 cpu0 freed the detour.",
		"13 cpu1 returned to detour+0x1, in freed memory.",
	)
}

// Waits and actions of other tasks say nothing about the writer; and a grace period
// began where it did, whatever others have begun since.
func TestStoryOfOthersWaits(t *testing.T) {
	tr, p, c := running()
	o := tr.On(0, optimizer)
	c.Exec(f, 0x55)
	o.Emit(smpev.GPStart, smpev.GPSched, 3, 0).Emit(smpev.GPEnd, smpev.GPSched, 3, 0)
	jumps(p)
	c.Exec(f+1, 0x1b, 0x00)
	tells(t, tr, "T2 no-start-inside", 0,
		"8 cpu1 ran push %rbp; next was victim+0x1, where it stood until event 13.",
		"12 "+didntWait,
		"12 "+wroteJump,
		"13 "+wentOn,
	)

	tr, p, c = running()
	o = tr.On(0, optimizer)
	p.Emit(smpev.GPStart, smpev.GPSched, 3, 0)
	c.Exec(f, 0x55)
	c.Trap(smpev.VecTimer, f+1)
	o.Emit(smpev.GPStart, smpev.GPSched, 4, 0)
	p.Emit(smpev.GPEnd, smpev.GPSched, 3, 0)
	o.Emit(kpev.Arm, f, 0, 0) // another's work is no other work of prober's
	jumps(p)
	c.Return(smpev.VecTimer, f+1).Exec(f+1, 0x1b, 0x00)
	tells(t, tr, "T2 no-start-inside", 0,
		"9 cpu1 ran push %rbp at victim+0x0; next was victim+0x1.",
		"10 A timer interrupt took cpu1 at victim+0x1, before mov %rsp,%rbp ran.",
		"12 The RCU-sched grace period ended although caller stood at victim+0x1: cpu1's tick at event 10 was its quiescent state.",
		"15 "+wroteJump,
		"17 "+returned,
	)
}

// Memory that was freed counts as allocated again if only a part of it was.
func TestStoryOfMemoryUsedInPart(t *testing.T) {
	tr, p, c := running()
	p.Alloc(detour, 20, kpev.DetourMem)
	c.Exec(f, 0x55)
	jumps(p).Emit(kpev.Optimized, f, detour, 0)
	c.Exec(f, jump...).Exec(detour, 0x54)
	p.Free(detour, 20, kpev.DetourMem).Alloc(detour+8, 30, kpev.DetourMem)
	c.CallEnd(0, 78)
	tells(t, tr, "X1 transparent", 0,
		"13 cpu1 took the jump at victim+0x0 (jmpq detour+0x0).",
		"15 cpu0 freed the detour while caller was in it, behind push %rsp.",
		"16 cpu0 was handed the same memory, for something else.",
		"17 cpu1: call 0 of caller ended otherwise than it ends without probes.",
	)
}
