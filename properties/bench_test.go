package properties_test

import (
	"testing"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/smp/smpev"
)

// A run as in a search: two functions of thirty instructions, a probe that is optimized
// and unoptimized, three tasks that call, hit and are interrupted.
func run() *tracetest.Trace {
	tr := tracetest.New()
	for fn := uint64(f); fn <= f+0x80; fn += 0x80 {
		tr.Load(fn, "55", "48 89 e5", "53", "5b", "5d", "48 83 ec 18", "48 89 7d f8", "48 8b 45 f8", "48 8d 04 40",
			"48 89 45 f0", "eb 05", "48 ff 45 f0", "90", "48 83 7d f0 64", "7e f4", "48 8b 45 f0", "c9", "c3")
	}
	for task := range uint64(3) {
		for call := range uint64(4) {
			tr.Expect(task+1, call, 7)
		}
	}
	probed(tr)
	cpu := []tracetest.Hand{tr.On(0, 1), tr.On(1, 2), tr.On(2, 3)}
	for call := range uint64(4) {
		switch call {
		case 1:
			tr.Alloc(detour, 96, kpev.DetourMem).Store(detour, bytesOf(0x54, 96)...)
			optimize(tr)
		case 3:
			unoptimize(tr)
			tr.Free(detour, 96, kpev.DetourMem).Store(detour, bytesOf(0xcc, 96)...)
		}
		for _, c := range cpu {
			if call == 0 || call == 3 {
				hit(c)
			} else {
				c.Exec(f, jmp...)
				for k := range uint64(10) {
					c.Exec(detour+k, 0x54)
				}
				c.Pre(1)
				for k := range uint64(10) {
					c.Exec(detour+10+k, 0x54)
				}
			}
			c.Exec(f+5, 0x5b).Trap(smpev.VecTimer, f+6).Return(smpev.VecTimer, f+6).Exec(f+6, 0x5d)
			c.CallEnd(call, 7)
		}
	}
	unprobed(tr)
	tr.End(true).ExpectNone()
	return tr
}

func TestRun(t *testing.T) { run().Check(t, watches()...) }

func bench(b *testing.B, ws ...tracetest.Watch) {
	tr, p := run(), tracetest.NewPlayer(ws...)
	b.ReportAllocs()
	for b.Loop() {
		p.Play(tr)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(tr.Events)), "ns/event")
}

func BenchmarkRun(b *testing.B) {
	b.Run("no-monitor", func(b *testing.B) { bench(b) })
	for _, p := range properties.All {
		b.Run(p.ID, func(b *testing.B) { bench(b, watch(p)) })
	}
	b.Run("all", func(b *testing.B) { bench(b, watches()...) })
}
