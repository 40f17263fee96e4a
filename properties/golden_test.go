package properties_test

import (
	"strings"
	"testing"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/smp/arch/x86"
)

// The text of all logs. f is what is probed, its first five bytes the region:
//
//	f      f+1       f+4  f+5  f+6  f+7
//	push   mov       push pop  pop  ret      linked
//	55     48 89 e5  53   5b   5d   c3
//	e9     fb 0f 00  00                      optimized: jump to the detour
//
// g begins with a jump label, h with an instruction of ten bytes, k with a jump.
const (
	f      = 0x1000
	g      = 0x1010
	h      = 0x1018
	k      = 0x1028
	detour = 0x2000
	slot   = 0x3000
)

var (
	push  = []byte{0x55}
	mov   = []byte{0x48, 0x89, 0xe5}
	jmp   = []byte{0xe9, 0xfb, 0x0f, 0x00, 0x00}
	armed = []byte{0xcc, 0x48, 0x89, 0xe5, 0x53} // the breakpoint, and what stands behind it
	bp    = []byte{0xcc}

	nop5  = []byte{0x0f, 0x1f, 0x44, 0x00, 0x00}
	label = []byte{0xe9, 0x03, 0x00, 0x00, 0x00}

	movabs = []byte{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}
)

type log struct {
	name string // ID of the property it is about, and what happens
	why  string // it looks other than it is; "" if it doesn't
	tr   *tracetest.Trace
}

var logs []log

// golden adds a log whose verdict is obvious.
func golden(name string, build func(tr *tracetest.Trace)) { trap(name, "", build) }

// trap adds a log whose verdict isn't obvious, and says why: it must be accepted though
// it looks wrong, or rejected though it looks right.
func trap(name, why string, build func(tr *tracetest.Trace)) {
	tr := tracetest.New()
	tr.Load(f, "55", "48 89 e5", "53", "5b", "5d", "c3")
	tr.Load(g, "0f 1f 44 00 00", "c3")
	tr.Load(h, "48 b8 01 02 03 04 05 06 07 08", "c3")
	tr.Load(k, "e9 00 00 00 00", "c3")
	tr.Image(g, nop5...).Image(g, label...)
	build(tr)
	logs = append(logs, log{name, why, tr})
}

// The patcher's protocols, without the waits.

func arm(tr *tracetest.Trace, addr uint64) { tr.Image(addr, bp...).Store(addr, bp...) }

func disarm(tr *tracetest.Trace, addr uint64, b byte) { tr.Image(addr, b).Store(addr, b) }

func optimize(tr *tracetest.Trace) {
	tr.Image(f, jmp...).Store(f, bp...).Store(f+1, jmp[1:]...).Store(f, jmp[0])
}

func unoptimize(tr *tracetest.Trace) {
	tr.Image(f, armed...).Store(f, bp...).Store(f+1, armed[1:]...)
}

// probed registers probe 1 at f, with a slot.
func probed(tr *tracetest.Trace) {
	tr.ApiEnter(1, 1, f)
	tr.Alloc(slot, 16, kpev.SlotMem).Store(slot, 0x55, 0xcc)
	arm(tr, f)
	tr.ApiReturn(1, 1, 0)
}

// unprobed undoes it.
func unprobed(tr *tracetest.Trace) {
	tr.ApiEnter(2, 1, 0)
	disarm(tr, f, push[0])
	tr.Free(slot, 16, kpev.SlotMem).ApiReturn(2, 1, 0)
}

// moved is what an alternative puts in place of mov, and below what stands behind a breakpoint at f then.
var moved, below = []byte{0x48, 0x8b, 0xec}, []byte{0x48, 0x8b, 0xec, 0x53}

// replace applies the alternative, whose images a run's head has.
func replace(tr *tracetest.Trace) { tr.Image(f+1, mov...).Image(f+1, moved...).Store(f+1, moved...) }

// hit takes the breakpoint at f, runs the pre_handler of probe 1 and the copy.
func hit(h tracetest.Hand) {
	h.Break(f).Pre(1).Own(f, kpev.OwnerKprobe).Resume(slot)
	h.Exec(slot, push...).Break(slot+1).Own(slot+1, kpev.OwnerKprobe).Resume(f + 1)
}

func watches() []tracetest.Watch {
	var all []tracetest.Watch
	for _, p := range properties.All {
		all = append(all, watch(p))
	}
	return all
}

func watch(p *properties.Property) tracetest.Watch {
	ms := properties.NewMonitors(x86.AMD64, p)
	return tracetest.Watch{ID: p.ID, Kinds: ms.Kinds(), Monitor: ms}
}

// together is the whole catalogue over one scene.
func together() (*properties.Monitors, *tracetest.Player) {
	ms := properties.NewMonitors(x86.AMD64, properties.All...)
	return ms, tracetest.NewPlayer(tracetest.Watch{ID: "all", Kinds: ms.Kinds(), Monitor: ms})
}

// The whole catalogue watches each log: the property in question must have the finding,
// and no other property before it.
func TestGolden(t *testing.T) {
	for _, l := range logs {
		t.Run(l.name, func(t *testing.T) { l.tr.Check(t, watches()...) })
	}
}

// A monitor alone also rejects the logs that it must reject, and accepts all correct
// ones.
func TestGoldenAlone(t *testing.T) {
	for _, p := range properties.All {
		player := tracetest.NewPlayer(watch(p))
		for _, l := range logs {
			if id := l.tr.Rejects(); id == "" || id == p.ID {
				if err := l.tr.Judge(player); err != "" {
					t.Errorf("%s: %s", l.name, err)
				}
			}
		}
	}
}

// Each property accepts a log that looks wrong and rejects one that looks right. P1
// gets no events: the rig judges it.
func TestBothWays(t *testing.T) {
	for _, p := range properties.All {
		var accepts, rejects int
		for _, l := range logs {
			if !strings.HasPrefix(l.name, p.ID+"-") {
				continue
			}
			if id := l.tr.Rejects(); id != "" && id != p.ID {
				t.Errorf("%s is about %s and rejected by %s", l.name, p.ID, id)
			}
			switch {
			case l.why == "":
			case l.tr.Rejects() == "":
				accepts++
			default:
				rejects++
			}
		}
		if len(p.Kinds) > 0 && (accepts == 0 || rejects == 0) {
			t.Errorf("%s %s: %d logs look wrong and are accepted, %d look right and are rejected; want one of each",
				p.ID, p.Name, accepts, rejects)
		}
	}
}
