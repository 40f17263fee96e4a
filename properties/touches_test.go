package properties

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/sim"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// The addresses in drawn logs: three functions' worth of instructions, two probes on
// the first, one on the second, and two slots.
const (
	textAt = 0x1000
	slotAt = 0x9000
	siteAt = textAt + 9 // of another patcher
)

// The first bytes of a breakpoint, a jump and a call.
const (
	int3     uint64 = 0xcc
	jump     uint64 = 0xe9
	callByte uint64 = 0xe8
)

var lengths = [...]uint64{1, 3, 5, 2, 4, 1, 1, 5, 7, 3}

var probesAt = []uint64{textAt, textAt, textAt + 4}

// subjects are what calls of Attach are about.
var subjects = []uint64{smpev.SubjectOps, smpev.SubjectOps + 1, smpev.SubjectFprobe, smpev.SubjectPatch}

// textAddr draws the beginning of an instruction, or now and then its inside.
func textAddr(r *sim.Rand) uint64 {
	a := uint64(textAt)
	for _, n := range lengths[:r.N(len(lengths))] {
		a += n
	}
	if r.N(6) == 0 {
		a++
	}
	if r.N(4) == 0 {
		a = probesAt[r.N(len(probesAt))]
	}
	return a
}

func anyAddr(r *sim.Rand) uint64 {
	if r.N(3) == 0 {
		return slotAt + uint64(32*r.N(2)+r.N(2))
	}
	return textAddr(r)
}

// insnAt returns bytes that may be run or installed somewhere.
func insnAt(r *sim.Rand, a uint64) (lo, hi uint64) {
	switch r.N(4) {
	case 0:
		return int3, 1 << 56
	case 1:
		return jump | uint64(r.N(2))<<8, 5 << 56
	case 2:
		return uint64(r.N(3)), uint64(1+r.N(5)) << 56
	}
	return linkedAt(a)
}

// linkedAt returns what the head of the log says about an address.
func linkedAt(a uint64) (lo, hi uint64) {
	at := uint64(textAt)
	for _, n := range lengths {
		if at == a {
			return 0x1111111111111111 * (n + 1) & mask(n), n << 56
		}
		at += n
	}
	return 0x90, 1 << 56
}

// draw draws an event of a kind.
func draw(r *sim.Rand, k traces.Kind) (e traces.Event) {
	e.Kind, e.CPU = k, uint8(r.N(3))
	e.Task = e.CPU
	switch k {
	case smpev.Exec:
		e.A = anyAddr(r)
		e.B, e.C = insnAt(r, e.A)
	case smpev.Image:
		e.A = textAddr(r)
		e.B, e.C = insnAt(r, e.A)
	case smpev.TextStore:
		e.A = anyAddr(r)
		e.C = 1
		if e.A%2 == 0 {
			e.C += uint64(r.N(2))
		}
		e.B, _ = linkedAt(e.A)
		if b := r.N(4); b < 3 {
			e.B = [...]uint64{int3, jump, 7}[b]
		}
		e.B &= mask(e.C)
	case smpev.Trap, smpev.Claim, smpev.Oops:
		e.A = [...]uint64{smpev.VecBP, smpev.VecTimer}[r.N(2)]
		if e.B = anyAddr(r); e.A == smpev.VecBP {
			e.B = probesAt[r.N(3)] + 1
		}
		if k == smpev.Trap && r.N(8) == 0 {
			e.A, e.C = smpev.VecPF, anyAddr(r)
		}
		if k == smpev.Claim {
			e.C = uint64(1 + r.N(3))
		}
	case smpev.Return:
		e.A = [...]uint64{smpev.VecBP, smpev.VecTimer}[r.N(2)]
		e.B = anyAddr(r)
	case smpev.Alloc, smpev.Free, smpev.Retire:
		e.A, e.B, e.C = slotAt+uint64(32*r.N(2)), 32, kpev.SlotMem
		if r.N(3) == 0 { // a module's section, with a probe or two in it
			e.A, e.B, e.C = probesAt[r.N(3)]&^0xf, 0x10, smpev.ModuleMem
		}
	case smpev.Lock, smpev.Unlock:
		e.A = uint64(1 + r.N(3))
	case smpev.Shares:
		e.A, e.B, e.C = textAt+uint64(r.N(3)), uint64(1+r.N(3)), uint64(r.N(4))
	case smpev.MightSleep:
		e.A = uint64(r.N(40)) / 39
	case smpev.LiveCall:
		e.A, e.B, e.C = anyAddr(r), anyAddr(r), anyAddr(r)*uint64(r.N(20)/19)
	case smpev.CallEnd:
		e.A, e.B, e.C = uint64(e.Task), uint64(r.N(3)), uint64(7+r.N(8)/7)
	case smpev.Got:
		e.A, e.B = smpev.Check(uint64(e.Task), r.N(2), 0), uint64(7+r.N(8)/7)
	case smpev.Attach, smpev.Attached:
		e.A, e.B = subjects[r.N(len(subjects))], uint64(smpev.AttachRegister+r.N(2))
		if e.A == smpev.SubjectPatch {
			e.C = uint64(1 + r.N(2))
			if e.B == smpev.AttachUnregister {
				e.C = textAt + 4
			}
		}
	case smpev.Serves:
		e.A, e.B, e.C = uint64(smpev.SubjectOps+r.N(2)), textAt+4, 7
	case smpev.Hooks:
		e.A, e.B, e.C = smpev.SubjectFprobe, uint64(r.N(7)), textAt+4
	case smpev.Arrives:
		e.A, e.B = [...]uint64{textAt + 4, textAt + 9, slotAt, slotAt + 32}[r.N(4)], 7
	case kpev.ApiEnter, kpev.ApiReturn:
		e.A, e.B = uint64(1+r.N(4)), uint64(r.N(3))
		if e.C = uint64(r.N(6) / 5); k == kpev.ApiEnter {
			e.C = probesAt[e.B]
		}
	case kpev.Handler:
		e.A, e.B = uint64(r.N(3)), kpev.Pre
		if r.N(3) == 0 {
			e.B = kpev.Post
		}
		e.C = probesAt[e.A]
	case kpev.Missed, kpev.Skipped:
		e.A = uint64(r.N(3))
	case kpev.Sysctl, kpev.Enabled:
		e.A, e.B = uint64(r.N(2)), uint64(r.N(2))
	case kpev.Printk:
		e.A = uint64(kpev.LineArmed) + uint64(r.N(3)) | uint64(kpev.Prefixed)*uint64(r.N(2))
	case kpev.RetMissed, kpev.JprobeEnter:
		e.A = uint64(r.N(3))
	case kpev.State: // of states that there are: the others no order bears on
		e.A = probesAt[r.N(3)]
		e.B = [...]uint64{0, kpev.StateArmed, kpev.StateArmed | kpev.StateJumped | kpev.StateOptimized}[r.N(3)]
	case kpev.Listed:
		e.A, e.B = probesAt[r.N(3)], 'k'
		e.C = [...]uint64{0, kpev.TagDisabled, kpev.TagOptimized}[r.N(3)]
	case kpev.Carries:
		if e.B = uint64(r.N(3)); r.N(4) == 0 {
			e.B, e.C = 0, 1
		}
	case kpev.RetEntry, kpev.RetLeft, kpev.RetReturn: // one place of each task's stack
		e.A, e.B, e.C = uint64(r.N(3)), uint64(e.Task), uint64(7+r.N(8)/7)
		if k == kpev.RetLeft {
			e.C = 0
		}
	case kpev.Hooked:
		e.A, e.B, e.C = uint64(11+r.N(3)), uint64(e.Task), 7
	case kpev.Trampoline: // to where the calls of RetEntry return, mostly
		e.A, e.B = uint64(e.Task), uint64(7+r.N(8)/7)
	case kpev.InstanceNew, kpev.InstanceFree:
		e.A, e.B, e.C = uint64(11+r.N(3)), uint64(r.N(3)), 10
	case kpev.InstanceGet, kpev.InstancePut:
		e.A, e.B = uint64(11+r.N(3)), uint64(r.N(3))
	case kpev.HolderDrop, kpev.HolderFree:
		e.A = 10
	case kpev.Lies:
		e.A, e.B, e.C = uint64(11+r.N(3)), uint64(r.N(3)), uint64(r.N(2))
	case kpev.Seeks:
		e.A = uint64(r.N(3))
	case kpev.Stays: // mostly seen at once
		if e.Kind, e.A = kpev.Seeks, uint64(r.N(3)); r.N(40) == 0 {
			e.Kind = k
		}
	case smpev.Sets:
		e.B = uint64(r.N(2))
	case smpev.Uprobe:
		e.B = uint64(r.N(5))
	case smpev.Bpf:
		e.A, e.B, e.C = textAt+4, uint64(r.N(14)), uint64(7+r.N(2))
	case smpev.Tilted:
		e.A, e.B, e.C = uint64(smpev.TiltPreempt+r.N(2)), 0, uint64(r.N(2))
	case smpev.Denies:
		e.B = uint64(r.N(4) / 3)
	case smpev.Asked:
		e.A, e.B, e.C = uint64(r.N(2)), uint64(r.N(4)), [...]uint64{0, 0, 2, 17}[r.N(4)]
	case smpev.Holds:
		e.B = uint64(r.N(4) / 3)
	case linuxev.Heap:
		e.A, e.C = uint64(linuxev.UseAfterFree+r.N(linuxev.Leak)), 8
	case linuxev.Uneven:
		e.A = uint64(linuxev.Preemption + r.N(linuxev.CurrentProbe))
	case linuxev.Remains:
		e.A = uint64(linuxev.Preemption + r.N(linuxev.Slots))
	case kpev.Context:
		e.A, e.B, e.C = uint64(r.N(3)), uint64(1+r.N(5)), uint64(r.N(8))|uint64(min(r.N(8), 1))
	}
	return e
}

// head returns the first events of a log, of those kinds.
func head(kinds []traces.Kind) (list []traces.Event) {
	add := func(k traces.Kind, a, b, c uint64) {
		for _, x := range kinds {
			if x == k {
				list = append(list, traces.Event{Kind: k, CPU: 255, Task: traces.NoTask, A: a, B: b, C: c})
			}
		}
	}
	at := uint64(textAt)
	for _, n := range lengths {
		lo, hi := linkedAt(at)
		add(smpev.Load, at, lo, hi)
		at += n
	}
	add(smpev.TextStore, slotAt+64, 0x90, 1) // the images of raw sites end here
	add(smpev.Alloc, slotAt, 32, kpev.SlotMem)
	add(smpev.Alloc, slotAt+32, 32, kpev.SlotMem)
	for id := range uint64(3) {
		add(kpev.Kind, id, 0, 4)
		add(kpev.InstanceNew, 11+id, id, 10)
		add(kpev.Wants, id, 1, 0)
		add(kpev.Fits, id, 0, 0)
		add(kpev.Finds, id, textAt+1, textAt+2)
	}
	add(smpev.Module, textAt, 0x100, 0)
	if slices.Contains(kinds, smpev.Form) { // a site in the module
		add(smpev.Alloc, textAt, 0x100, smpev.ModuleMem)
		for value, b := range [...]uint64{int3, jump} {
			add(smpev.Setting, 0, uint64(value), smpev.SettingBreakpoint|smpev.SettingFirst*uint64(value))
			add(smpev.Form, siteAt, b, 1<<56)
		}
		add(smpev.TextStore, siteAt, jump, 1)
	}
	add(smpev.Leads, 0, textAt+4, 0) // a site
	add(smpev.Leads, smpev.SubjectOps, 0, smpev.LeadsDynamic)
	add(smpev.Leads, smpev.SubjectOps+1, 0, 0)
	add(smpev.Leads, smpev.SubjectFprobe, textAt+4, 4)
	add(smpev.Leads, smpev.SubjectPatch+1, textAt+4, slotAt)
	add(smpev.Leads, smpev.SubjectPatch+2, textAt+4, slotAt+32)
	add(smpev.Image, textAt+4, callByte, 5<<56)
	add(kpev.Keeps, 1, 0, 0)
	if slices.Contains(kinds, kpev.NoJump) { // it is about jumps that stand
		add(kpev.NoJump, 1, 0, 0)
		away := jump | 0x4000<<8 // into no probe's region
		add(smpev.Image, textAt, away, 5<<56)
		add(smpev.TextStore, textAt, away, 5)
	}
	for t := range uint64(3) {
		for i := range uint64(3) {
			add(smpev.Expect, t, i, 7)
			add(smpev.Want, smpev.Check(t, int(i), 0), 7, 0)
		}
	}
	return list
}

// order usually makes an ApiReturn, the end of a switch's write and an Unlock follow
// their beginnings: else almost nothing would be known about any probe.
func (l *logDrawn) order(r *sim.Rand, e *traces.Event) {
	open := &l.open[e.Task]
	switch e.Kind {
	case kpev.ApiEnter, kpev.ApiReturn:
		if e.Kind = kpev.ApiReturn; open.api == 0 {
			e.Kind, e.C = kpev.ApiEnter, probesAt[e.B]
			open.api, open.probe = e.A, e.B
			return
		}
		e.A, e.B, open.api = open.api, open.probe, 0
		e.C = uint64(r.N(8) / 7)
	case kpev.Sysctl, kpev.Enabled:
		under := &open.sysctl
		if e.Kind == kpev.Enabled {
			under = &open.enabled
		}
		if e.B = 1; *under == 0 {
			e.B, *under = 0, 1+e.A
			return
		}
		e.A, *under = *under-1, 0
	case smpev.Sets:
		if open.sets == 0 {
			open.sets = 1 + e.B
			return
		}
		e.B, e.C, open.sets = open.sets-1, smpev.SetsEnds, 0
	case smpev.Attach, smpev.Attached:
		if e.Kind = smpev.Attached; open.subject == 0 {
			e.Kind, open.subject, open.call = smpev.Attach, e.A, e.B
			return
		}
		e.A, e.B, e.C, open.subject = open.subject, open.call, uint64(16*(r.N(8)/7)), 0
	case smpev.Trap:
		if e.A == smpev.VecBP {
			open.breaks = append(open.breaks, e.B)
		}
	case smpev.Claim, smpev.Return:
		n := len(open.breaks)
		if n == 0 || e.A != smpev.VecBP {
			return
		}
		to := e.B
		if e.B = open.breaks[n-1]; e.Kind == smpev.Return { // mostly to try again
			if e.B--; to >= slotAt {
				e.B = to &^ 1 // or to a copy
			}
			open.breaks = open.breaks[:n-1]
		}
	case kpev.Handler, kpev.Missed, kpev.Skipped:
		if !l.traps {
			return
		}
		if len(open.hits) == 0 && r.N(20) > 0 {
			*e = traces.Event{Kind: smpev.Trap, CPU: e.CPU, Task: e.Task, A: smpev.VecBP, B: probesAt[e.A] + 1}
			open.breaks = append(open.breaks, e.B)
			for id, a := range probesAt {
				if a == e.B-1 { // so many handlers are due
					open.hits = append(open.hits, uint64(id))
				}
			}
		} else if len(open.hits) > 0 {
			e.A, open.hits = open.hits[0], open.hits[1:]
		}
	case smpev.Lock, smpev.Unlock:
		if e.Kind = smpev.Unlock; len(open.locks) == 0 || len(open.locks) < 3 && r.N(3) == 0 {
			e.Kind = smpev.Lock
			if n := len(open.locks); n > 0 && r.N(20) > 0 { // in their order
				e.A = open.locks[n-1]%3 + 1
			}
			for _, o := range l.open {
				for _, a := range o.locks {
					if a == e.A && r.N(20) > 0 {
						e.Kind = smpev.MightSleep // somebody has it: this one is to wait
						e.A = 0
						return
					}
				}
			}
			open.locks = append(open.locks, e.A)
			return
		}
		e.A = open.locks[len(open.locks)-1]
		open.locks = open.locks[:len(open.locks)-1]
	}
}

type logDrawn struct {
	traps bool // the monitor is told of them
	open  [3]struct {
		api, probe          uint64
		subject, call       uint64
		sysctl, enabled     uint64
		sets                uint64
		locks, hits, breaks []uint64
	}
}

// judge plays a log to a monitor, and returns whether it has a finding, and at which
// event.
func judge(m *Monitors, list []traces.Event) (found bool, at int) {
	m.Reset()
	for i := range list {
		if m.Event(&list[i]) != nil {
			return true, i
		}
	}
	return m.End(true) != nil, len(list)
}

func touchedBy(p *Property, t *Touched, e *traces.Event) (objects map[uint64]bool) {
	objects = make(map[uint64]bool)
	t.Begin()
	if !p.Alone {
		p.Touches(t, e)
	}
	for _, x := range t.List() {
		if x.Size == 0 {
			objects[x.Object<<1] = objects[x.Object<<1] || x.Write
			continue
		}
		for c := x.Object / 8; c <= (x.Object+x.Size-1)/8; c++ {
			objects[c<<1|1] = objects[c<<1|1] || x.Write
		}
	}
	return objects
}

// TestTouches: two neighbouring events of two CPUs that touch nothing in common may
// come in either order: both logs break the property, or none does. And each property
// distinguishes some orders.
func TestTouches(t *testing.T) {
	logs := thorough.Of(15_000, 30_000) / slow
	for _, p := range All {
		if p == &Progress || p == &Returns || p == &Linearizable {
			continue // has no events; claims nothing where orders are left out
		}
		if p.Touches == nil && !p.Alone {
			continue // ordered with all its events
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			// modules and slots
			touched := &Touched{proc: processorOf(x86.AMD64), Addrs: probesAt,
				Lent:  [][2]uint64{{textAt &^ 0xf, slotAt}, {slotAt, slotAt + 64}},
				Sites: [][2]uint64{{siteAt, siteAt + 1}}}
			heads := head(p.Kinds)
			var kinds []traces.Kind
			for _, k := range p.Kinds {
				if k != smpev.Setting && k != smpev.Form && k != smpev.Load &&
					k != smpev.Expect && k != smpev.Want && k != kpev.NoPre && k != kpev.NoJump &&
					k != kpev.Kind && k != kpev.Contexts && k != kpev.Returner && k != kpev.Wants && k != kpev.Keeps &&
					k != kpev.Fits && k != kpev.Finds && k != smpev.Module && k != smpev.Leads {
					kinds = append(kinds, k)
				}
			}
			m := NewMonitors(x86.AMD64, p)
			var r sim.Rand
			swapped, broken, matters, related := 0, 0, 0, false
			logs := uint64(logs)
			if p == &Accounted || p == &ReturnPairs || p == &PostCalled || p == &OptimizedAgain || p == &Copies ||
				p == &ClientsCalled || p == &ProgramsCalled {
				logs *= 8 // they have the rarest reasons
			}
			if p == &Locks { // few of them are broken
				logs *= 2
			}
			for i := range logs {
				r.Seed(1, i)
				list, l := append([]traces.Event(nil), heads...), &logDrawn{traps: p == &Accounted}
				kinds := kinds
				if i%4 == 0 && slices.Contains(kinds, kpev.Printk) { // who has the last word of kprobes/enabled
					kinds = []traces.Kind{kpev.Enabled, kpev.Printk, smpev.Exec, smpev.CallEnd, smpev.Trap,
						kpev.Handler}
					kinds = slices.DeleteFunc(kinds, func(k traces.Kind) bool { return !slices.Contains(p.Kinds, k) })
					list = append(list, traces.Event{Kind: kpev.ApiEnter, CPU: 255, Task: 9, A: kpev.Register,
						C: textAt},
						traces.Event{Kind: kpev.ApiReturn, CPU: 255, Task: 9, A: kpev.Register},
						traces.Event{Kind: kpev.Enabled}, traces.Event{Kind: kpev.Enabled, CPU: 1, Task: 1, A: 1})
					l.open[0].enabled, l.open[1].enabled = 1, 2
				}
				if p == &Copies && i%4 > 0 { // a breakpoint that leads to a copy is rare otherwise
					kinds = []traces.Kind{smpev.Trap, smpev.Claim, smpev.Return, smpev.TextStore}
				}
				if p == &ClientsCalled && i%4 > 0 { // so is a call that is due
					kinds = []traces.Kind{smpev.Attach, smpev.Exec, smpev.CallEnd}
				}
				if p == &ProgramsCalled && i%4 > 0 { // likewise
					kinds = []traces.Kind{smpev.Bpf, smpev.Exec, smpev.CallEnd}
				}
				for range 4 + r.N(24) {
					e := draw(&r, kinds[r.N(len(kinds))])
					if e.Kind == smpev.Bpf && i%4 > 0 {
						e.B = [...]uint64{smpev.BpfEntry, smpev.BpfAttaches, smpev.BpfAttached,
							smpev.BpfDetached}[r.N(4)]
					}
					if (p == &ClientsCalled || p == &ProgramsCalled) && e.Kind == smpev.Exec {
						e.A, e.B, e.C = textAt+4, callByte, 5<<56
					}
					l.order(&r, &e)
					list = append(list, e)
				}
				found, at := judge(m, list)
				k := len(heads) + r.N(len(list)-len(heads)-1)
				if found && at < len(list) && at > len(heads) && r.N(2) == 0 {
					k = at - 1 // what has just happened may have been the reason
				}
				a, b := list[k], list[k+1]
				if a.CPU == b.CPU {
					continue
				}
				x, y := touchedBy(p, touched, &a), touchedBy(p, touched, &b)
				related = related || len(x) > 0
				conflict := false
				for o, w := range x {
					v, both := y[o]
					conflict = conflict || both && (v || w)
				}
				list[k], list[k+1] = b, a
				again, _ := judge(m, list)
				if conflict {
					if again != found {
						matters++
					}
					continue
				}
				swapped++
				if found {
					broken++
				}
				if again != found {
					t.Fatalf("log %d: found %v, then %v, after these were swapped:\n%v %v\n%v %v\n%v",
						i, found, again, &a, x, &b, y, list[len(heads):])
				}
			}
			require.Greater(t, swapped, thorough.Of(250, 750)/slow)
			require.Greater(t, broken, thorough.Of(1, 10)/slow, "of %d", swapped)
			if related && slow == 1 { // in fewer logs it may come to none
				require.NotZero(t, matters)
			}
			t.Logf("%d swapped, of which %d broke it; of those in conflict the order mattered for %d", swapped, broken,
				matters)
		})
	}
}
