package kprobes

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// manyFunctions are n functions of 5 bytes and a ret, 64 bytes apart, all alike.
type manyFunctions int

func (n manyFunctions) at(i int) arch.Addr { return textBase + 0x10000 + arch.Addr(64*i) }

func (n manyFunctions) boot(b *bench) {
	f := inWords(code{name: "plain", // push %rbp; mov %rsp,%rbp; pop %rbp; nop; nop; ret
		bytes: []byte{0x55, 0x48, 0x89, 0xe5, 0x5d, 0x90, 0x90, 0xc3}}).bytes
	text := make([]byte, 64*int(n))
	for i := range int(n) {
		copy(text[64*i:], f)
		b.k.Symbols.Add(kapi.Function{Name: fmt.Sprintf("f%d", i), Addr: n.at(i), Size: len(f)}, nil)
	}
	b.m.Memory().Map(n.at(0), text, smp.PermRead|smp.PermExec)
}

// scaled runs a program on a machine with n functions.
func scaled(t testing.TB, n int, optprobes bool, program func(b *bench, x *smp.Ctx)) {
	s := repaired
	s.Kernel.Optprobes = optprobes
	b := bootBench(t, s, nil, manyFunctions(n).boot, program)
	require.Equal(t, smp.Passed, b.run(new(sched.Default)), "%v", b.m.Refusal())
}

// registerMany registers a probe at each of n functions, a multiple of 50. first and last are the least
// times that a fiftieth took, among the first fifth and among the last: what else the computer does
// lengthens some of them only.
func registerMany(t testing.TB, b *bench, x *smp.Ctx, n int, probes []Kprobe) (first, last time.Duration) {
	pre := func(kapi.Context, *Kprobe, *arch.Regs) int { return 0 }
	first, last = time.Hour, time.Hour
	for part := range 50 {
		start := time.Now()
		for i := part * n / 50; i < (part+1)*n/50; i++ {
			probes[i] = Kprobe{ID: uint64(i), Symbol: fmt.Sprintf("f%d", i), Pre: pre}
			require.NoError(t, b.e.Register(x, &probes[i]))
		}
		switch took := time.Since(start); {
		case part < 10:
			first = min(first, took)
		case part >= 40:
			last = min(last, took)
		}
	}
	return first, last
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestManyProbes: 100,000 probes in one machine, each less than 1 KiB of memory
// with its slot and its detour; all can be hit, and go again without a trace.
func TestManyProbes(t *testing.T) {
	n := thorough.Of(50_000, 100_000) / less
	for _, optprobes := range []bool{false, true} {
		t.Run(fmt.Sprintf("optprobes=%v", optprobes), func(t *testing.T) {
			scaled(t, n, optprobes, func(b *bench, x *smp.Ctx) {
				probes := make([]Kprobe, n)
				before, start := heap(), time.Now()
				first, last := registerMany(t, b, x, n, probes)
				registered := time.Since(start)
				b.e.Optimizer.WaitOptimizer(x)
				settled := time.Since(start)
				size := int(heap()-before) / n // the machine's memory for the copies among it
				t.Logf("%d bytes, %v a probe to register, %v with its optimization", size, registered/time.Duration(n),
					settled/time.Duration(n))
				require.Less(t, size, 1200)
				require.Less(t, last, 20*first, "with many probes each costs more") // one walk over all: 100 times

				hits := 0
				for i := range probes {
					probes[i].Pre = func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 }
				}
				for i := 0; i < n; i += 997 {
					hits = 0
					require.Equal(t, optprobes, b.e.FlagsOf(&probes[i])&FlagOptimized != 0)
					x.Call(manyFunctions(n).at(i))
					require.Equal(t, 1, hits)
				}

				all := make([]*Kprobe, n)
				for i := range probes {
					all[i] = &probes[i]
				}
				start = time.Now()
				require.NoError(t, b.e.UnregisterAll(x, all))
				b.e.Optimizer.WaitOptimizer(x)
				t.Logf("%v a probe to unregister", time.Since(start)/time.Duration(n))
				require.Zero(t, b.e.Table.probes.Len())
				require.True(t, b.e.Optimizer.Settled())
				var now [8]byte
				for i := 0; i < n; i += 997 {
					b.k.Text.Read(x, manyFunctions(n).at(i), now[:])
					require.Equal(t, [8]byte{0x55, 0x48, 0x89, 0xe5, 0x5d, 0x90, 0x90, 0xc3}, now)
				}
			})
		})
	}
}

// BenchmarkHit is a call of one of ten functions with a breakpoint, and
// BenchmarkLookup what finds the probe, where these are all and where they are
// ten of very many. BenchmarkLookupCold looks for all of these in turn, which no
// cache of the processor holds.
func BenchmarkHit(b *testing.B) { amongMany(b, benchHit, 10) }

func BenchmarkLookup(b *testing.B) { amongMany(b, benchLookup, 10) }

func BenchmarkLookupCold(b *testing.B) { amongMany(b, benchLookup, 100_000) }

func amongMany(b *testing.B, f func(b *testing.B, bb *bench, x *smp.Ctx, at arch.Addr), of int) {
	for _, n := range []int{10, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			scaled(b, n, false, func(bb *bench, x *smp.Ctx) {
				registerMany(b, bb, x, n, make([]Kprobe, n))
				b.ResetTimer()
				for i := range b.N {
					f(b, bb, x, manyFunctions(n).at(i%min(of, n)*7919%n))
				}
				b.StopTimer()
			})
		})
	}
}

func benchHit(_ *testing.B, _ *bench, x *smp.Ctx, at arch.Addr) { x.Call(at) }

func benchLookup(b *testing.B, bb *bench, _ *smp.Ctx, at arch.Addr) {
	if _, ok := bb.e.Table.probes.Peek(at); !ok {
		b.Fatal("not found")
	}
}

// BenchmarkRegister is one of 100,000.
func BenchmarkRegister(b *testing.B) {
	const n = 100_000
	for range b.N {
		scaled(b, n, false, func(bb *bench, x *smp.Ctx) {
			probes := make([]Kprobe, n)
			b.ResetTimer()
			registerMany(b, bb, x, n, probes)
			b.StopTimer()
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/probe")
}
