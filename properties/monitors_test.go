package properties_test

import (
	"testing"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// verdict is the result of a log.
type verdict struct {
	id      string
	at      int
	finding traces.Finding
}

func judge(p *tracetest.Player, tr *tracetest.Trace) (v verdict) {
	id, at, f := p.Play(tr)
	if f != nil {
		v = verdict{id, at, *f}
	}
	return v
}

// Monitors that share a scene find what each finds with a scene of its own, and
// irrelevant events change nothing: over the logs written by hand, and over nonsense.
func TestTogether(t *testing.T) {
	alone := tracetest.NewPlayer(watches()...)
	ms, asleep := together()
	woken, awake := together()
	woken.KeepAwake()
	found := 0
	check := func(tr *tracetest.Trace) {
		t.Helper()
		want := judge(alone, tr)
		for _, c := range []struct {
			name string
			p    *tracetest.Player
			ms   *properties.Monitors
		}{{"together", asleep, ms}, {"together and awake", awake, woken}} {
			got := judge(c.p, tr)
			if got.id != "" {
				got.id = c.ms.Finder().ID
			}
			if got != want {
				t.Fatalf("%s: %+v, alone: %+v, of\n%s", c.name, got, want, tr)
			}
		}
		if want.id != "" {
			found++
		}
	}
	for _, l := range logs {
		check(l.tr)
	}
	var r sim.Rand
	r.Seed(2, 0)
	for range 20_000 {
		check(likely(&r))
	}
	if found < 5_000 {
		t.Errorf("%d findings: nonsense that nobody finds fault with is no test", found)
	}
}

// likely is nonsense about few addresses, in the form of real events.
func likely(r *sim.Rand) *tracetest.Trace {
	tr := tracetest.New()
	tr.Load(f, "55", "48 89 e5", "53", "5b", "5d", "c3").Load(g, "0f 1f 44 00 00", "c3")
	insns := [...][]byte{push, mov, jmp, bp, nop5, label, armed, {0x53}, {0x5b}, {0xc3}}
	places := [...]uint64{f, f, f + 1, f + 4, f + 5, g, g + 5, slot, slot + 1, detour, detour + 8}
	if r.N(2) == 0 {
		tr.Image(g, nop5...).Image(g, label...)
	}
	for range 5 + r.N(40) {
		h := tr.On(uint8(r.N(2)), uint8(r.N(3)))
		at, insn := places[r.N(len(places))], insns[r.N(len(insns))]
		probe, api := uint64(r.N(2)), uint64(r.N(int(apis)))+1
		switch r.N(14) {
		case 0, 1, 2, 3:
			h.Exec(at, insn...)
		case 4:
			h.Store(at, insn...)
		case 5:
			h.Image(at, insn...)
		case 6:
			h.Trap([...]uint64{smpev.VecBP, smpev.VecTimer, smpev.VecNMI}[r.N(3)], at)
		case 7:
			h.Return([...]uint64{smpev.VecBP, smpev.VecTimer, smpev.VecNMI}[r.N(3)], at)
		case 8:
			h.Claim(smpev.VecBP, at, uint64(r.N(4)))
		case 9:
			h.Alloc(places[7+r.N(4)]&^7, 32, kpev.SlotMem)
		case 10:
			h.ApiEnter(api, probe, places[r.N(6)])
		case 11:
			h.ApiReturn(api, probe, 0)
		case 12:
			h.Pre(probe)
		case 13:
			h.Sysctl(uint64(r.N(2)), uint64(r.N(2)))
		}
	}
	return tr.End(r.N(2) == 0)
}

// apis is how many calls there are: register, unregister, enable, disable.
const apis = 4
