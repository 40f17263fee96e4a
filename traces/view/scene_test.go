package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// lay lays out a log of two CPUs, with nothing known besides its events.
func lay(tr *tracetest.Trace) *view.Scene { return view.Lay(input(tr, 2), nil) }

// spans lists the spans of some kinds: cpu1 caller #BP 3-9.
func spans(s *view.Scene, kinds ...string) (list []string) {
	for _, p := range s.Spans {
		if strings.Contains(strings.Join(kinds, " "), p.Kind) {
			list = append(list,
				strings.Join(strings.Fields(fmt.Sprintf("cpu%d %s %s %d-%d", p.CPU, p.Task, p.Says, p.From, p.To)),
					" "))
		}
	}
	return list
}

func arrows(s *view.Scene) (list []string) {
	for _, a := range s.Arrows {
		list = append(list, fmt.Sprintf("%s %d-%d", a.Kind, a.From, a.To))
	}
	return list
}

// Step 0 of these logs is begin's switch to prober; a hand's first event is step 1.

// A trap continues on any CPU that its task moves to, and no other task is in it.
func TestSceneTrapsOverSwitches(t *testing.T) {
	tr := begin()
	tr.On(1, 1).Emit(smpev.Switch, 1, caller, 1)                      // 1
	tr.On(1, caller).Exec(f, 0x55)                                    // 2
	tr.On(1, caller).Trap(smpev.VecTimer, f+1)                        // 3
	tr.On(1, caller).Trap(smpev.VecNMI, kernel)                       // 4
	tr.On(1, caller).Return(smpev.VecNMI, kernel)                     // 5
	tr.On(1, caller).Trap(smpev.VecResch, kernel)                     // 6
	tr.On(1, caller).Emit(smpev.Switch, caller, 1, 0)                 // 7: preempted, two traps deep
	tr.On(1, 1).Trap(smpev.VecTimer, kernel)                          // 8: another task's
	tr.On(1, 1).Return(smpev.VecTimer, kernel)                        // 9
	tr.On(0, prober).Emit(smpev.Switch, prober, caller, 1)            // 10: it goes on on another CPU
	tr.On(0, caller).Return(smpev.VecResch, kernel)                   // 11
	tr.On(0, caller).Return(smpev.VecTimer, f+1)                      // 12
	tr.On(0, caller).Exec(f+1, 0x48, 0x89, 0xe5).Trap(smpev.VecPF, f) // 13, 14: never ends
	tr.On(1, 1).Emit(smpev.MightSleep, 0, 0, 0)                       // 15
	tr.On(1, 1).Trap(smpev.VecTimer, f).Trap(smpev.VecNMI, f)         // 16, 17
	tr.On(1, 1).Emit(smpev.Return, smpev.VecTimer, f, 0)              // 18: of the outer one
	tr.On(1, 1).Emit(smpev.MightSleep, 0, 0, 0)                       // 19
	s := lay(tr)
	assert.Equal(t, []string{
		"cpu1 idle idle 0-1", "cpu0 idle idle 0-0", "cpu0 prober prober 0-10", "cpu1 caller caller 1-7",
		"cpu1 idle idle 7-19", "cpu0 caller caller 10-19",
	}, spans(s, view.SpanTask))
	assert.Equal(t, []string{
		"cpu1 caller timer interrupt 3-7", "cpu1 caller NMI 4-5", "cpu1 caller reschedule interrupt 6-7",
		"cpu1 idle timer interrupt 8-9",
		"cpu0 caller timer interrupt 10-12", "cpu0 caller reschedule interrupt 10-11", "cpu0 caller #PF 14-19",
		"cpu1 idle timer interrupt 16-18", "cpu1 idle NMI 17-18",
	}, spans(s, view.SpanTrap))
	depths := []int{}
	for i := range s.Steps {
		depths = append(depths, s.Steps[i].Depth)
	}
	assert.Equal(t, []int{0, 0, 0, 0, 1, 2, 1, 2, 0, 1, 0, 2, 1, 0, 0, 0, 0, 1, 2, 0}, depths)
}

// An arrow leads to the trap of the vector that was sent, on a CPU that it was sent to,
// and to no other; IPIs that arrive together lead to one.
func TestSceneArrows(t *testing.T) {
	tr := begin()
	p, c := tr.On(0, prober), tr.On(1, caller)
	p.Emit(smpev.SendIPI, 2, 0, 0)                  // 1: to reschedule
	p.Emit(smpev.SendIPI, 2, 1, 0)                  // 2
	c.Trap(smpev.VecTimer, f)                       // 3: neither
	c.Return(smpev.VecTimer, f)                     // 4
	p.Emit(smpev.SendIPI, 3, 1, 0)                  // 5: to itself, too
	p.Trap(smpev.VecCall, kernel)                   // 6
	p.Return(smpev.VecCall, kernel)                 // 7
	c.Trap(smpev.VecCall, f)                        // 8
	c.Return(smpev.VecCall, f)                      // 9
	c.Trap(smpev.VecCall, f)                        // 10: those have arrived
	c.Return(smpev.VecCall, f)                      // 11
	c.Trap(smpev.VecResch, f)                       // 12
	c.Return(smpev.VecResch, f)                     // 13
	p.Emit(smpev.SendIPI, 0, 1, 0)                  // 14: to no CPU
	p.Emit(smpev.Wake, optimizer, 0, 0)             // 15
	p.Emit(smpev.Wake, caller, 0, 0)                // 16
	p.Emit(smpev.Switch, prober, 0, 1)              // 17
	tr.On(0, 0).Emit(smpev.Switch, 0, optimizer, 1) // 18
	tr.On(0, optimizer).Emit(smpev.Switch, 6, 0, 1) // 19
	tr.On(0, 0).Emit(smpev.Switch, 0, optimizer, 1) // 20: that was another wake's
	s := lay(tr)
	assert.Equal(t, []string{"ipi 1-12", "ipi 2-8", "ipi 5-6", "ipi 5-8", "wake 15-18"}, arrows(s))
	assert.Equal(t, "send IPI to nobody", s.Steps[14].Says)
}

// A wait for CPUs ends when the last of them has answered: when it has serialised in the
// handler of an IPI that it took after the sending. It ends with what the sender does next at
// the latest, and goes on to the end of the run if neither comes. A sender without CPUs to
// wait for doesn't wait.
func TestSceneSyncWaits(t *testing.T) {
	tr := begin()
	p, c := tr.On(0, prober), tr.On(1, caller)
	p.Emit(smpev.SendIPI, 2, 1, 0)   // 1
	p.Emit(smpev.Serialise, 4, 0, 0) // 2: its own
	c.Trap(smpev.VecCall, f)         // 3
	c.Emit(smpev.Serialise, 4, 0, 0) // 4
	c.Return(smpev.VecCall, f)       // 5
	p.Emit(smpev.SendIPI, 3, 1, 0)   // 6: to itself, too
	c.Emit(smpev.Serialise, 4, 0, 0) // 7: in no handler
	// 8 to 10: in another one's
	c.Trap(smpev.VecNMI, f).Emit(smpev.Serialise, 4, 0, 0).Return(smpev.VecNMI, f)
	// 11 to 13: what interrupts it isn't what it does
	p.Trap(smpev.VecTimer, f).Emit(smpev.MightSleep, 0, 0, 0).Return(smpev.VecTimer, f)
	// 14: nor what befalls it
	p.Emit(smpev.Fire, 0x80, 0, 0)
	p.Trap(smpev.VecCall, f).Emit(smpev.Serialise, 4, 0, 0).Return(smpev.VecCall, f) // 15 to 17
	// 18 to 20: in one that lies in it
	c.Trap(smpev.VecCall, f).Trap(smpev.VecNMI, f).Emit(smpev.Serialise, 4, 0, 0)
	c.Return(smpev.VecNMI, f).Emit(smpev.Serialise, 4, 0, 0) // 21, 22
	c.Trap(smpev.VecCall, f)                                 // 23
	// 24: to one that has taken an older one
	p.Emit(smpev.SendIPI, 2, 1, 0)
	c.Emit(smpev.Serialise, 4, 0, 0).Return(smpev.VecCall, f) // 25, 26
	p.Emit(smpev.Serialise, 4, 0, 0)                          // 27
	tr.On(0, optimizer).Emit(smpev.MightSleep, 0, 0, 0)       // 28: another task
	// 29: no second answer is needed
	p.Emit(smpev.Unlock, 1, 0, 0)
	// 30 to 32: in an interrupt
	p.Trap(smpev.VecTimer, f).Emit(smpev.SendIPI, 2, 1, 0).Emit(smpev.Serialise, 4, 0, 0)
	p.Emit(smpev.Unlock, 1, 0, 0).Return(smpev.VecTimer, f) // 33, 34
	// 35: to reschedule: no wait
	p.Emit(smpev.SendIPI, 2, 0, 0)
	p.Emit(smpev.SendIPI, 0, 1, 0) // 36
	// 37 to 39: never answered
	p.Emit(smpev.SendIPI, 2, 1, 0).Emit(smpev.Serialise, 4, 0, 0).Emit(smpev.Serialise, 4, 0, 0)
	assert.Equal(t, []string{
		"cpu0 prober sync_core: cpu1 1-4", "cpu0 prober sync_core: cpu0-1 6-22", "cpu0 prober sync_core: cpu1 24-29",
		"cpu0 prober sync_core: cpu1 31-33",
		"cpu0 prober sync_core: cpu1 37-39",
	}, spans(lay(tr), view.SpanSync))
}

// Locks, grace periods, stop_machine and calls last from one event to another with the
// same name; a lock that isn't taken isn't held.
func TestSceneLasting(t *testing.T) {
	tr := begin()
	p, c := tr.On(0, prober), tr.On(1, caller)
	p.ApiEnter(kpev.Register, 0, f)            // 1
	p.Lock(1)                                  // 2
	c.LockHow(1, smpev.LockWaits)              // 3: it waits for it
	c.LockHow(2, smpev.LockNeeded)             // 4
	c.Unlock(2)                                // 5: not held
	p.Emit(smpev.GPStart, smpev.GPRcu, 7, 0)   // 6
	p.Emit(smpev.GPStart, smpev.GPTasks, 7, 0) // 7: of another flavour
	p.Unlock(1)                                // 8
	c.Lock(1)                                  // 9: by the next
	c.Emit(smpev.GPEnd, smpev.GPRcu, 7, 0)     // 10: from any CPU
	p.ApiReturn(kpev.Register, 0, 0)           // 11
	c.Unlock(1)                                // 12
	p.Emit(smpev.StopStart, 0, 0, 0)           // 13
	p.Emit(smpev.StopEnd, 0, 0, 0)             // 14
	p.ApiEnter(kpev.Unregister, 0, 0)          // 15: never returns
	c.Emit(smpev.StopEnd, 0, 0, 0)             // 16: of nothing
	c.ApiReturn(kpev.Unregister, 0, 0)         // 17: another task's
	p.Lock(3).Lock(3).Unlock(3).Unlock(3)      // 18 to 21: again while it is held
	s := lay(tr)
	assert.Equal(t, []string{"cpu0 prober kprobe_mutex 2-8", "cpu1 caller kprobe_mutex 9-12",
		"cpu0 prober kprobe_mutex 18-21", "cpu0 prober kprobe_mutex 19-20"}, spans(s, view.SpanLock))
	assert.Equal(t, []string{"cpu0 prober RCU grace period 6-10", "cpu0 prober RCU-tasks grace period 7-21"},
		spans(s, view.SpanGrace))
	assert.Equal(t, []string{"cpu0 stop_machine 13-14", "cpu1 stop_machine 13-14"}, spans(s, view.SpanStop))
	assert.Equal(t, []string{"cpu0 prober register(k) 1-11", "cpu0 prober unregister(k) 15-21"},
		spans(s, view.SpanCall))
}

// Calls that begin one after another are a batch, and one span, until the last has
// returned; not those of another task, of another kind, or with an event in between.
func TestSceneBatches(t *testing.T) {
	in := func(tr *tracetest.Trace) []string {
		i := input(tr, 2)
		i.Probe = func(id uint64) string { return fmt.Sprint("k", id) }
		return spans(view.Lay(i, nil), view.SpanCall)
	}
	tr := begin()
	p, c := tr.On(0, prober), tr.On(1, caller)
	p.ApiEnter(kpev.Register, 0, f).ApiEnter(kpev.Register, 1, f+1).ApiEnter(kpev.Register, 2, f+4) // 1 to 3
	p.Lock(1).Unlock(1)
	p.ApiReturn(kpev.Register, 0, 0).ApiReturn(kpev.Register, 1, 0).ApiReturn(kpev.Register, 2, 0) // 6 to 8
	p.ApiEnter(kpev.Unregister, 0, f)
	c.ApiEnter(kpev.Unregister, 1, f+1)
	c.ApiReturn(kpev.Unregister, 1, 0)
	p.ApiReturn(kpev.Unregister, 0, 0) // 12
	p.ApiEnter(kpev.Enable, 0, f).ApiEnter(kpev.Disable, 1, f+1).ApiReturn(kpev.Disable, 1, 0).ApiReturn(kpev.Enable, 0,
		0)
	p.Register(0, f).Register(1, f+1) // 17 to 20
	// the lock's number is no call's
	p.ApiEnter(kpev.Register, 0, f).Lock(kpev.Register).ApiEnter(kpev.Register, 1, f+1)
	assert.Equal(t, []string{
		"cpu0 prober register(k0 to k2) 1-8", "cpu0 prober unregister(k0) 9-12", "cpu1 caller unregister(k1) 10-11",
		"cpu0 prober enable(k0) 13-16", "cpu0 prober disable(k1) 14-15", "cpu0 prober register(k0) 17-18",
		"cpu0 prober register(k1) 19-20",
		"cpu0 prober register(k0) 21-23", "cpu0 prober register(k1) 23-23",
	}, in(tr))
}

// versions lists the versions of a patch: 3 cc 48 89.
func versions(p *view.Patch) (list []string) {
	for _, v := range p.Versions {
		gone := ""
		if v.Gone {
			gone = " gone"
		}
		list = append(list, fmt.Sprintf("%d %s%s", v.Step, v.Bytes, gone))
	}
	return list
}

// Each store that changes something is a version. Memory exists from its allocation
// until it is freed, and may be allocated again.
func TestSceneVersions(t *testing.T) {
	tr := begin()
	p := tr.On(0, prober)
	p.Alloc(slots, 3, kpev.SlotMem)    // 1
	p.Store(slots, 0x55)               // 2
	p.Store(slots+1, 0xcc)             // 3
	p.Image(f, 0xcc)                   // 4
	p.Store(f, 0xcc)                   // 5
	p.Store(f, 0xcc)                   // 6: the same
	p.Store(slots+3, 0x90)             // 7: behind it
	p.Image(f, jump...)                // 8
	p.Store(f+1, jump[1:]...)          // 9
	p.Store(f, 0xe9)                   // 10
	p.Free(slots, 3, kpev.SlotMem)     // 11
	p.Alloc(slots, 2, kpev.SlotMem)    // 12: less of it
	p.Store(slots, 0x48, 0x89, 0xe5)   // 13
	p.Free(detour, 20, kpev.DetourMem) // 14: not allocated
	s := lay(tr)
	require.Len(t, s.Texts, 2)
	site, slot := &s.Texts[0], &s.Texts[1]
	assert.True(t, site.Site)
	assert.False(t, slot.Site)
	assert.Equal(t, "victim+0x0", site.Name)
	assert.Equal(t, []string{
		"-1 55 48 89 e5 53", "5 cc 48 89 e5 53", "9 cc 1b 00 00 1f", "10 e9 1b 00 00 1f",
	}, versions(site))
	assert.Equal(t, "push %rbp; mov %rsp,%rbp; push %rbx", site.Versions[0].Listing)
	assert.Contains(t, site.Versions[3].Listing, "jmp")
	got := versions(slot)
	require.Len(t, got, 6)
	assert.Equal(t, []string{"1 ?? ?? ??", "2 55 ?? ??", "3 55 cc ??"}, got[:3])
	assert.Regexp(t, `^11 .* gone$`, got[3])
	assert.Empty(t, slot.Versions[3].Listing)
	assert.Equal(t, "13 48 89", got[5])
}

// Sites are in the order of their addresses, whichever is written to first.
func TestSceneSites(t *testing.T) {
	tr := begin()
	tr.On(0, prober).Image(f+8, 0xcc).Store(f+8, 0xcc).Image(f, 0xcc).Store(f, 0xcc)
	s := lay(tr)
	require.Len(t, s.Texts, 2)
	assert.Equal(t, []uint64{f, f + 8}, []uint64{s.Texts[0].At, s.Texts[1].At})
	assert.Equal(t, []string{"-1 c3", "2 cc"}, versions(&s.Texts[1]))
	assert.Equal(t, []view.Site{{At: f, Len: 1}, {At: f + 8, Len: 1}}, view.Sites(input(tr, 2)))
}

// A probed address goes from state to state, and keeps the last one.
func TestSceneBands(t *testing.T) {
	tr := begin()
	p := tr.On(0, prober)
	p.Emit(kpev.Arm, f+5, 0, 0)          // 1
	p.Emit(kpev.Arm, f, 0, 0)            // 2
	p.Emit(kpev.Optimizing, f, 0, 0)     // 3
	p.Emit(kpev.Optimized, f, detour, 0) // 4
	p.Emit(kpev.Unoptimizing, f, 0, 0)   // 5
	p.Emit(kpev.Unoptimized, f, 0, 0)    // 6
	p.Emit(kpev.Missed, 0, 0, 0)         // 7: of no state
	p.Emit(kpev.Disarm, f, 0, 0)         // 8
	p.Emit(smpev.MightSleep, 0, 0, 0)    // 9
	var list []string
	for _, b := range lay(tr).Bands {
		list = append(list, fmt.Sprintf("%s %s %d-%d", b.Place, b.State, b.From, b.To))
	}
	assert.Equal(t, []string{
		"victim+0x0 armed 2-3", "victim+0x0 optimizing 3-4", "victim+0x0 optimized 4-5", "victim+0x0 unoptimizing 5-6",
		"victim+0x0 armed 6-8", "victim+0x0 disarmed 8-9", "victim+0x5 armed 1-9",
	}, list)
}

// A task stands at the instruction it executes, at its return address, and at each
// address that a trap has saved. Anything else it does means that it has left, except
// the call that a detour makes. A task that is switched out stands there without a CPU.
func TestSceneStands(t *testing.T) {
	tr := begin()
	p, c := tr.On(0, prober), tr.On(1, caller)
	p.Image(f, jump...).Store(f, 0xcc)            // 1, 2
	c.Exec(f+8, 0xc3)                             // 3: not in what is patched
	c.Exec(f, 0xcc)                               // 4
	c.Trap(smpev.VecBP, f+1)                      // 5
	c.Emit(smpev.Serialise, 4, 0, 0)              // 6
	c.Trap(smpev.VecNMI, kernel)                  // 7: it comes back there all the same
	c.Exec(f, 0xcc)                               // 8: the NMI's handler is there, too
	c.Trap(smpev.VecBP, f+1)                      // 9
	c.Return(smpev.VecBP, f+1)                    // 10
	c.Return(smpev.VecNMI, kernel)                // 11
	c.Return(smpev.VecBP, f+1)                    // 12
	c.Emit(smpev.Fire, 0x80, 0, 0)                // 13: which isn't its doing
	c.Trap(smpev.VecResch, f+1)                   // 14
	c.Emit(smpev.Switch, caller, 1, 0)            // 15
	tr.On(1, 1).Trap(smpev.VecCall, kernel)       // 16: another task's
	tr.On(1, 1).Return(smpev.VecCall, kernel)     // 17
	tr.On(0, 0).Emit(smpev.Switch, 0, caller, 0)  // 18: on another CPU
	tr.On(0, caller).Return(smpev.VecResch, f+1)  // 19
	tr.On(0, caller).Exec(f+1, 0x48, 0x89, 0xe5)  // 20
	tr.On(0, caller).CallEnd(0, 0)                // 21: it has left
	tr.On(0, caller).Return(smpev.VecTimer, f+5)  // 22: not patched
	p.Alloc(detour, 20, kpev.DetourMem)           // 23
	c.Exec(detour+8, 0xe8, 0, 0, 0, 0)            // 24
	c.Emit(kpev.Handler, 0, kpev.Pre, f)          // 25: the detour's call
	c.Exec(detour+13, 0xc3)                       // 26
	c.Emit(kpev.Handler, 0, kpev.Pre, f)          // 27
	p.Emit(smpev.Image, f, 0x90, 1<<56)           // 28
	tr.On(view.Machine, traces.NoTask).Exec(f, 1) // 29: no task's
	var list []string
	for _, v := range lay(tr).Stands {
		line := fmt.Sprintf("%d task %d cpu%d", v.Step, v.Task, v.CPU)
		for _, at := range v.At {
			line += strings.TrimRight(fmt.Sprintf(", %d+%d %s%s", at.Patch, at.Off, at.Ran, at.Trap), " ")
		}
		list = append(list, line)
	}
	assert.Equal(t, []string{
		"4 task 5 cpu1, 0+0 cc", "5 task 5 cpu1, 0+1 #BP", "8 task 5 cpu1, 0+1 #BP, 0+0 cc",
		"9 task 5 cpu1, 0+1 #BP, 0+1 #BP",
		"10 task 5 cpu1, 0+1 #BP, 0+1", "11 task 5 cpu1, 0+1 #BP", "12 task 5 cpu1, 0+1",
		"14 task 5 cpu1, 0+1 reschedule interrupt",
		"15 task 5 cpu-1, 0+1 reschedule interrupt", "18 task 5 cpu0, 0+1 reschedule interrupt", "19 task 5 cpu0, 0+1",
		"20 task 5 cpu0, 0+1 48 89 e5", "21 task 5 cpu0",
		"24 task 5 cpu1, 1+8 e8 00 00 00 00", "26 task 5 cpu1, 1+13 c3", "27 task 5 cpu1",
	}, list)
}

// The violation is the given event, or the last one if only the end shows it; a run
// that breaks nothing has none.
func TestSceneViolation(t *testing.T) {
	tr, p, c := running()
	jumps(p)
	c.Exec(f+1, 0x1b, 0x00)
	c.Emit(smpev.MightSleep, 0, 0, 0)
	in := input(tr, 2)
	s := view.Lay(in, nil)
	assert.Equal(t, -1, s.Violation)
	assert.Empty(t, s.Headline)
	assert.Empty(t, s.Story)
	in.Property, in.Message, in.PlaceAt = "T2 no-start-inside", "it begins inside", f
	in.At = tr.Events[len(tr.Events)-2].Seq
	s = view.Lay(in, nil)
	assert.Equal(t, len(s.Steps)-2, s.Violation)
	assert.Equal(t, "violation", s.Steps[s.Violation].Class)
	assert.Contains(t, s.Headline, "T2 no-start-inside")
	require.NotEmpty(t, s.Story)
	for _, told := range s.Story {
		assert.NotEmpty(t, told.Text)
		assert.Less(t, told.Step, len(s.Steps))
		assert.GreaterOrEqual(t, told.Step, 0)
	}
	assert.Equal(t, s.Violation, s.Story[len(s.Story)-1].Step)

	in.AtEnd = true
	s = view.Lay(in, nil)
	assert.Equal(t, len(s.Steps)-1, s.Violation)
	assert.Equal(t, "violation", s.Steps[s.Violation].Class)
	assert.Equal(t, "", s.Steps[s.Violation-1].Class)
}

// Data besides the events: clocks, whose maximum so far is the run's time; the bytes
// that CPUs may fetch; the event after each deviation.
func TestSceneLook(t *testing.T) {
	tr := begin() // 5 loads, an expectation, a switch: event 6 is step 0
	p, c := tr.On(0, prober), tr.On(1, caller)
	p.Image(f, jump...) // event 7
	p.Store(f, 0xcc)    // event 8
	c.Exec(f, 0x55)     // event 9
	c.Exec(f+1, 0x48, 0x89, 0xe5)
	in := input(tr, 2)
	require.Equal(t, []view.Site{{At: f, Len: 5}}, view.Sites(in))
	require.Equal(t, 11, len(tr.Events))
	in.Schedule = make([]traces.Deviation, 4)
	old := []byte{0x55, 0x48, 0x89, 0xe5, 0x53}
	s := view.Lay(in, &view.Look{
		Clocks: []uint64{0, 0, 0, 0, 0, 0, 100, 200, 300, 50, 301},
		Sights: []view.Seen{{Seq: 0, CPU: 0, At: f, Bytes: old}, {Seq: 0, CPU: 1, At: f, Bytes: old},
			{Seq: 8, CPU: 0, At: f, Bytes: []byte{0xcc, 0x48, 0x89, 0xe5, 0x53}},
			{Seq: 8, CPU: 0, At: slots, Bytes: old}},
		Turns: []uint32{3, 8, 99},
	})
	clocks, times := []uint64{}, []uint64{}
	for i := range s.Steps {
		clocks, times = append(clocks, s.Steps[i].Clock), append(times, s.Steps[i].Time)
	}
	assert.Equal(t, []uint64{100, 200, 300, 50, 301}, clocks)
	assert.Equal(t, []uint64{100, 200, 300, 301, 302}, times)
	assert.Equal(t, []view.Sight{{Step: -1, CPU: 0, Bytes: "55 48 89 e5 53"},
		{Step: -1, CPU: 1, Bytes: "55 48 89 e5 53"}, {Step: 2, CPU: 0, Bytes: "cc 48 89 e5 53"}}, s.Texts[0].Sights)
	turns := []int{}
	for _, d := range s.Deviations {
		turns = append(turns, d.Step)
	}
	assert.Equal(t, []int{0, 2, 4, -1}, turns, "one that nobody has seen is nowhere")
	assert.Empty(t, view.Lay(input(begin(), 2), nil).Texts)
	none := view.Lay(view.Input{Arch: x86.AMD64}, nil)
	assert.Empty(t, none.Steps)
	assert.Equal(t, -1, none.Violation)
}

// Each reason to serialise has a name.
func TestSceneNamesReasons(t *testing.T) {
	tr := begin()
	for why := smpev.SyncPoke1; why <= kpev.SyncCopy; why++ {
		tr.On(0, prober).Emit(smpev.Serialise, uint64(why), 0, 0)
	}
	tr.On(0, prober).Emit(smpev.Serialise, smpev.SyncDebug, 0, 0)
	tr.On(0, prober).Emit(smpev.Serialise, smpev.SyncByHand, 0, 0)
	tr.On(0, prober).Emit(smpev.Serialise, smpev.SyncImage, 0, 0)
	tr.On(0, prober).Emit(smpev.Serialise, smpev.SyncWhole, 0, 0)
	tr.On(0, prober).Emit(smpev.Serialise, smpev.SyncWhole+1, 0, 0)
	s := lay(tr)
	last := len(s.Steps) - 1
	for i := range s.Steps[:last] {
		assert.NotContains(t, s.Steps[i].Says, "reason")
	}
	assert.Contains(t, s.Steps[last].Says, "reason", "that was all of them")
}
