package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// Functions for somebody else's breakpoints and steps.
var (
	// broken has a breakpoint of a debugger's.
	broken = code{name: "broken", at: textBase + 0x500, bytes: []byte{
		0xb8, 5, 0, 0, 0, // mov $5,%eax
		0xcc,             // int3
		0x83, 0xc0, 0x01, // add $1,%eax
		0xc3, // ret
	}}
	// watched runs some of itself with the trap flag on.
	watched = code{name: "watched", at: textBase + 0x540, bytes: []byte{
		0x9c,                               // pushf
		0x48, 0x81, 0x0c, 0x24, 0, 1, 0, 0, // orq $0x100,(%rsp)
		0x9d,             // popf
		0xb8, 5, 0, 0, 0, // mov $5,%eax
		0x9c,                   // pushf
		0x48, 0x8b, 0x0c, 0x24, // mov (%rsp),%rcx
		0x48, 0x81, 0x24, 0x24, 0xff, 0xfe, 0xff, 0xff, // andq $~0x100,(%rsp)
		0x9d,             // popf
		0x48, 0x89, 0xc8, // mov %rcx,%rax
		0xc3, // ret
	}}
)

// A debugger owns the breakpoint of broken and every #DB, and notes where it was.
type debugger struct {
	breaks int
	steps  []arch.Addr
}

// hook makes it the last to be asked.
func (d *debugger) hook(b *bench) {
	b.k.Traps.OnBreakpoint(func(_ kapi.Context, regs *arch.Regs) uint64 {
		if regs.IP != broken.at+6 {
			return 0
		}
		d.breaks++
		return kpev.OwnerKprobe
	})
	b.k.Traps.OnDebug(func(_ kapi.Context, regs *arch.Regs) uint64 {
		d.steps = append(d.steps, regs.IP)
		return kpev.OwnerKprobe
	})
}

// TestDebugger: somebody else's breakpoints and steps are his, wherever they come
// from: a handler, or an NMI on top of a step.
func TestDebugger(t *testing.T) {
	for _, ed := range rules.AllEditions() {
		for _, full := range []bool{false, true} {
			var d debugger
			calls, traced, up := 0, 0, false
			s := settingsOf(ed, full)
			runs := func(x *smp.Ctx) {
				calls++
				require.EqualValues(t, 6, x.Call(broken.at))
				require.EqualValues(t, 99, callWith(x, mended.at, nowhere)) // nor a fault
				// Who is stepped on top of a step by #DB can't be told from that, here as there.
				if _, nmi := x.Interrupts(); !nmi || s.Step == era.StepInt3 {
					traced++
					x.Call(watched.at)
				}
			}
			s.Kernel.Optprobes = false
			b := newBench(t, s, append([]code{broken, watched}, stepTexts...), func(b *bench, x *smp.Ctx) {
				d.hook(b)
				k := &Kprobe{Addr: victim.at,
					Pre:  func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { runs(x.(*smp.Ctx)); return 0 },
					Post: func(x kapi.Context, _ *Kprobe, _ *arch.Regs, _ uint64) { runs(x.(*smp.Ctx)) }}
				require.NoError(t, b.e.Register(x, k))
				up = true
				for range 3 {
					require.EqualValues(t, 10, callWith(x, victim.at, 7))
					b.idle(t, x)
				}
				up = false
				require.NoError(t, b.e.Unregister(x, k))
			})
			require.NoError(t, b.m.Interrupts().Add(&smp.Source{Kind: smp.NMISource, Name: "nmi", AtMost: 3}, 0))
			b.k.OnInterrupt(func(x *smp.Ctx, _ *smp.Source) {
				if !up {
					return
				}
				was := *x.Regs()
				runs(x)
				sp, ip := x.Regs().R[x86.RSP], x.Regs().IP
				*x.Regs() = was
				x.Regs().R[x86.RSP], x.Regs().IP = sp, ip
			}, func(*smp.Source) bool { return false })
			b.m.Freeze()
			random := sched.NewRandom(sched.Params{Seed: 4, Length: 300})
			for i := range uint64(15) {
				d, calls, traced, up = debugger{}, 0, 0, false
				random.Begin(i)
				require.Equal(t, smp.Passed, b.run(random), "%v, run %d: %v", ed, i, b.m.Refusal())
				require.Equal(t, calls, d.breaks, "%v, run %d", ed, i)
				require.Len(t, d.steps, 5*traced, "%v, run %d", ed, i)
			}
		}
	}
}

// TestTracedStep: where the step is by #DB, who steps through probed code sees each
// instruction end where it would, and the same flags.
func TestTracedStep(t *testing.T) {
	for _, ed := range []rules.Edition{rules.Edition26, rules.Edition415} {
		s := settingsOf(ed, true)
		s.Kernel.Optprobes = false
		newBench(t, s, []code{watched}, func(b *bench, x *smp.Ctx) {
			var d debugger
			d.hook(b)
			want := x.Call(watched.at)
			require.NotZero(t, want&x86.TF)
			steps := d.steps
			require.Len(t, steps, 5)
			for _, off := range []arch.Addr{0, 1, 9, 10, 15, 16, 20, 28, 29, 32} {
				k := &Kprobe{Addr: watched.at + off}
				require.NoError(t, b.e.Register(x, k))
				for range 2 {
					d.steps = nil
					require.Equal(t, want, x.Call(watched.at), "%v, +%d", ed, off)
					require.Equal(t, steps, d.steps, "%v, +%d", ed, off)
					b.idle(t, x)
				}
				require.NoError(t, b.e.Unregister(x, k))
			}
		}).pass(t)
	}
}

// TestOwnBreakpoint: 2.6 takes a probe on somebody else's breakpoint, which stays
// his: at each hit both see it, in a handler too.
func TestOwnBreakpoint(t *testing.T) {
	s := settingsOf(rules.Edition26, true)
	newBench(t, s, append([]code{broken}, stepTexts...), func(b *bench, x *smp.Ctx) {
		var d debugger
		d.hook(b)
		hits, missed := 0, 0
		k := counting(broken.at+5, &hits)
		require.NoError(t, b.e.Register(x, k))
		for n := 1; n <= 3; n++ {
			require.EqualValues(t, 6, x.Call(broken.at))
			require.Equal(t, [3]int{n, n, 0}, [3]int{hits, d.breaks, k.Missed()})
			b.idle(t, x)
		}
		outer := &Kprobe{ID: 1, Addr: victim.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
			missed++
			require.EqualValues(t, 6, x.Call(broken.at))
			require.Equal(t, kprobeHitActive, b.e.Hits.kcb.This(x).status)
			return 0
		}}
		require.NoError(t, b.e.Register(x, outer))
		for range 2 {
			require.EqualValues(t, 10, callWith(x, victim.at, 7))
			require.Equal(t, [4]int{3, 3 + missed, missed, 0}, [4]int{hits, d.breaks, k.Missed(), outer.Missed()})
			b.idle(t, x)
		}
		require.NoError(t, b.e.Unregister(x, outer))
		require.EqualValues(t, 6, x.Call(broken.at))
		require.Equal(t, 4, hits)
		require.Empty(t, d.steps)
	}).pass(t)
}

// TestNestedKeepsOuter: whichever way the instruction of a hit inside a handler is
// done, the CPU is still with the hit outside.
func TestNestedKeepsOuter(t *testing.T) {
	for _, ed := range rules.AllEditions() {
		for _, full := range []bool{false, true} {
			newBench(t, settingsOf(ed, full), []code{victim, other, loads, fits}, func(b *bench, x *smp.Ctx) {
				posts := 0
				var inner []*Kprobe
				keeps := func(x kapi.Context, want status) {
					for range 2 {
						for _, c := range []struct {
							f    arch.Addr
							want uint64
						}{{other.at, 2}, {loads.at, loaded}, {fits.at, 10}} {
							require.Equal(t, c.want, callWith(x.(*smp.Ctx), c.f, somewhere), "%v", ed)
							k := b.e.Hits.kcb.This(x)
							require.NotNil(t, k.current, "%v, %v, %#x", ed, full, c.f)
							require.Equal(t, victim.at, k.current.addr, "%v, %v", ed, full)
							require.Equal(t, want, k.status, "%v, %v", ed, full)
						}
					}
				}
				outer := &Kprobe{Addr: victim.at,
					Pre:  func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { keeps(x, kprobeHitActive); return 0 },
					Post: func(x kapi.Context, _ *Kprobe, _ *arch.Regs, _ uint64) { posts++; keeps(x, kprobeHitSSDone) }}
				require.NoError(t, b.e.Register(x, outer))
				fails := func(kapi.Context, *Kprobe, *arch.Regs) int { t.Error("a handler of a missed hit runs"); return 0 }
				for n, at := range []arch.Addr{other.at, other.at + 7, fits.at, loads.at, loads.at + 2} {
					inner = append(inner, &Kprobe{ID: uint64(n + 1), Addr: at, Pre: fails})
					require.NoError(t, b.e.Register(x, inner[n]))
				}
				for n := 1; n <= 3; n++ { // queued, then boosted or jumped
					require.EqualValues(t, 10, callWith(x, victim.at, 7))
					require.Equal(t, n, posts)
					b.idle(t, x)
					if n == 2 {
						b.e.Optimizer.WaitOptimizer(x)
					}
				}
				require.Equal(t, 12, inner[0].Missed())
				require.Equal(t, 12, inner[2].Missed())
				require.Equal(t, 12, inner[3].Missed())
				require.Zero(t, outer.Missed())
			}).pass(t)
		}
	}
}

// TestChangedPathSign: what isn't 0 counts, whatever its sign (spec 1.6).
func TestChangedPathSign(t *testing.T) {
	newBench(t, repaired, []code{victim, other}, func(b *bench, x *smp.Ctx) {
		k := &Kprobe{Addr: victim.at + 3, Pre: func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
			regs.IP = other.at
			return -1
		}}
		require.NoError(t, b.e.Register(x, k))
		require.EqualValues(t, 2, callWith(x, victim.at, 7))
		b.idle(t, x)
	}).pass(t)
}

// TestTwins: two functions of the same bytes are two functions: what is relative to
// one is relative to that.
func TestTwins(t *testing.T) {
	twin := code{name: "twin", at: calls.at + 0x800, bytes: calls.bytes}
	for _, ed := range rules.AllEditions() {
		newBench(t, settingsOf(ed, true), []code{calls, twin}, func(b *bench, x *smp.Ctx) {
			for _, f := range []code{calls, twin} {
				for _, off := range []arch.Addr{10, 17} { // lea calls(%rip),%rdx
					require.NoError(t, b.e.Register(x, &Kprobe{Addr: f.at + off}))
				}
				for range 2 {
					require.EqualValues(t, 5, x.Call(f.at), "%v, %s", ed, f.name)
					b.e.Optimizer.WaitOptimizer(x)
				}
			}
		}).pass(t)
	}
}

// TestWhereRefused: addresses that no probe may have, in each edition.
func TestWhereRefused(t *testing.T) {
	for _, ed := range since(rules.Edition415) { // 2.6 has a probe of its own on the trampoline
		newBench(t, settingsOf(ed, true), []code{victim}, func(b *bench, x *smp.Ctx) {
			require.NoError(t, b.e.Kretprobes.Register(x, &Kretprobe{Kprobe: Kprobe{Addr: victim.at}}))
			require.Equal(t, EINVAL, b.e.Register(x, &Kprobe{ID: 1, Addr: b.e.Rethook.trampoline}), "%v", ed)
			require.Equal(t, EINVAL, b.e.Register(x, &Kprobe{ID: 2, Addr: victim.at, Offset: -int(victim.at)}), "%v", ed)
		}).pass(t)
	}
}

// TestBoundaryAlone: whether boundaries are looked at is a setting of its own.
func TestBoundaryAlone(t *testing.T) {
	for _, ed := range rules.AllEditions() {
		for _, any := range []bool{false, true} {
			s := settingsOf(ed, true)
			s.AnyByte = any
			newBench(t, s, []code{victim}, func(b *bench, x *smp.Ctx) {
				for off := range victim.bytes {
					want := error(EILSEQ)
					if any || off == 0 || off == 3 || off == 7 {
						want = nil
					}
					k := &Kprobe{Addr: victim.at + arch.Addr(off)}
					require.Equal(t, want, b.e.Register(x, k), "%v, any %v, +%d", ed, any, off)
					if want == nil {
						require.NoError(t, b.e.Unregister(x, k))
					}
				}
			}).pass(t)
		}
	}
}

// TestFuncEntry: a function begins behind its endbr64 (5.18 and later, with IBT),
// by whichever address it is asked for.
func TestFuncEntry(t *testing.T) {
	marked := code{name: "marked", at: textBase + 0x600, bytes: append([]byte{0xf3, 0x0f, 0x1e, 0xfa}, victim.bytes...)}
	for _, ed := range since(rules.Edition415) {
		for _, ibt := range []bool{false, true} {
			s := settingsOf(ed, true)
			s.Kernel.IBT = ibt
			newBench(t, s, []code{marked, victim}, func(b *bench, x *smp.Ctx) {
				skips := ibt && s.Kernel.Edition >= rules.Edition514
				for _, k := range []*Kprobe{{Symbol: "marked"}, {Addr: marked.at}, {Addr: marked.at + 4}, {Symbol: "marked", Offset: 4}, {Addr: marked.at + 7}, {Addr: victim.at}, {Addr: victim.at + 3}} {
					to, first := k.Addr, k.Addr == marked.at || k.Addr == victim.at
					if k.Symbol != "" {
						to, first = marked.at+arch.Addr(k.Offset), k.Offset == 0
					}
					if skips && to == marked.at {
						to += 4
					}
					if skips && to == marked.at+4 {
						first = true
					}
					require.NoError(t, b.e.Register(x, k), "%v", ed)
					require.Equal(t, to, k.Addr, "%v, %v", ed, ibt)
					require.Equal(t, first && s.Kernel.Edition >= rules.Edition514, b.e.FlagsOf(k)&FlagOnFuncEntry != 0, "%v, %v, %#x", ed, ibt, to)
					require.EqualValues(t, 10, callWith(x, marked.at, 7))
					require.NoError(t, b.e.Unregister(x, k))
				}
				require.Equal(t, EILSEQ, b.e.Register(x, &Kprobe{ID: 10, Addr: marked.at + 2}))
			}).pass(t)
		}
	}
}

// TestGonePost: a post_handler that went with its module's text keeps no probe from
// being a jump where there is text again (spec 4.4).
func TestGonePost(t *testing.T) {
	for _, ed := range since(rules.Edition415) {
		b := newBench(t, settingsOf(ed, ed != rules.EditionDocumented), []code{victim}, func(b *bench, x *smp.Ctx) {
			m := b.k.Modules.Named("mod")
			posts, hits := 0, 0
			old := &Kprobe{Addr: modCore, Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }}
			require.NoError(t, b.e.Register(x, old))
			require.Zero(t, b.k.Modules.Unload(x, m))
			require.Zero(t, b.k.Modules.Load(x, m))
			k := counting(modCore, &hits)
			require.NoError(t, b.e.Register(x, k))
			require.NotZero(t, b.e.FlagsOf(k)&FlagOptimized, "%v", ed)
			b.e.Optimizer.WaitOptimizer(x)
			require.EqualValues(t, 10, callWith(x, modCore, 7))
			require.Equal(t, [2]int{1, 0}, [2]int{hits, posts})
		})
		b.k.Modules.NewModule("mod", modTexts, modInit, modCore+0x60, true)
		b.m.Freeze()
		b.pass(t)
	}
}
