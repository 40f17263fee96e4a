package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	processors "kpsim/smp/arch/target"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// stepText is what the rules of a hit are tried on. Each function returns what
// follows from rdi, or from what it is.
var (
	// loads reads where rdi points to: the argument of the tests is somewhere
	// unmapped, or not even an address.
	loads = inWords(code{name: "loads", at: textBase + 0x200, bytes: []byte{
		0x8b, 0x07, // mov (%rdi),%eax
		0xc3, // ret
	}})
	// mended is loads with an exception-table entry.
	mended = inWords(code{name: "mended", at: textBase + 0x240, bytes: loads.bytes, extable: []int{0}})
	// flagged returns the flags that its pushf pushes.
	flagged = inWords(code{name: "flagged", at: textBase + 0x280, bytes: []byte{
		0x9c, // pushf
		0x58, // pop %rax
		0xc3, // ret
	}})
	// closes runs three instructions with interrupts off.
	closes = inWords(code{name: "closes", at: textBase + 0x2c0, bytes: []byte{
		0xfa, // cli
		0x9c, // pushf
		0x58, // pop %rax
		0xfb, // sti
		0xc3, // ret
	}})
	// calls returns the return address that its call pushes, less where it is itself.
	calls = inWords(code{name: "calls", at: textBase + 0x300, bytes: []byte{
		0xe8, 1, 0, 0, 0, // call 6
		0xc3,                // ret
		0x48, 0x8b, 4, 0x24, // 6: mov (%rsp),%rax
		0x48, 0x8d, 0x15, 0xef, 0xff, 0xff, 0xff, // lea calls(%rip),%rdx
		0x48, 0x29, 0xd0, // sub %rdx,%rax
		0xc3, // ret
	}})
	// callsAny is calls by way of rsi.
	callsAny = inWords(code{name: "callsAny", at: textBase + 0x340, bytes: []byte{
		0xff, 0xd6, // call *%rsi
		0xc3,                // ret
		0x48, 0x8b, 4, 0x24, // 3: mov (%rsp),%rax
		0xc3, // ret
	}})
	// repeats reads five bytes of itself.
	repeats = inWords(code{name: "repeats", at: textBase + 0x380, bytes: []byte{
		0x48, 0x8d, 0x35, 0xf9, 0xff, 0xff, 0xff, // lea repeats(%rip),%rsi
		0xb9, 5, 0, 0, 0, // mov $5,%ecx
		0xf3, 0xac, // rep lodsb
		0x0f, 0xb6, 0xc0, // movzbl %al,%eax
		0xc3, // ret
	}})
)

var stepTexts = []code{victim, other, loads, mended, flagged, closes, calls, callsAny, repeats}

// nowhere and noAddress are what loads is given: it faults with #PF, with #GP.
const (
	nowhere   = 0x123456789000
	noAddress = 0x8123456789abcdef
)

// somewhere is what it is given then, and loaded what it loads there: a word of other.
var (
	somewhere = uint64(other.at) + byWords[uint64](3, 4)
	loaded    = arch.Word(other.bytes[somewhere-uint64(other.at):][:4])
)

// callWith calls a function with rdi, and 99 in rax.
func callWith(x *smp.Ctx, f arch.Addr, rdi uint64) uint64 {
	x.Regs().R[result] = 99
	x.Regs().R[arg0] = rdi // where these are one, nothing is 99
	return x.Call(f)
}

// idle is what a CPU must be like when no hit is under way.
func (b *bench) idle(t require.TestingT, x *smp.Ctx) {
	c := b.e.Hits.kcb.This(x)
	require.Nil(t, c.current)
	require.Nil(t, c.child)
	require.Equal(t, busy{}, c.prevKprobe)
	require.NotZero(t, x.Regs().Flags&x86.IF, "interrupts are off")
}

var neverArmed = specMutant{name: "breakpoint-not-written", wire: func(_ *kernel.Kernel, d *Deps) {
	d.Text = noPoke{d.Text}
}}

// executed notes what of a probed instruction is executed where it is.
type executed struct {
	at, past arch.Addr
	armed    bool
	n        int
}

// Event implements traces.Sink.
func (w *executed) Event(e *traces.Event) *traces.Finding {
	if arch.Addr(e.A) >= w.at && arch.Addr(e.A) < w.past && w.armed && !row32.IsBreakpoint(e.B) &&
		!row32.IsJump.Match(e.B) {
		w.n++
	}
	return nil
}

// specStep is what happens at a hit, to its end.
var specStep = []specRule{
	{
		rule: "1.3", says: "the copy is executed, and never the original while the probe is armed",
		mutants: []specMutant{neverArmed},
		holds: func(t *specT) {
			w := &executed{at: victim.at, past: victim.at + 1}
			calls := func(b *bench, x *smp.Ctx) {
				for i := range uint64(4) {
					require.Equal(t, i+3, callWith(x, victim.at, i))
				}
			}
			b := t.bench(stepTexts, func(b *bench, x *smp.Ctx) {
				hits := 0
				k := &Kprobe{Addr: victim.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
					if x.CPU() == 0 {
						hits++
					}
					return 0
				}}
				require.NoError(t, b.e.Register(x, k))
				w.armed = true
				calls(b, x)
				w.armed = false
				require.Equal(t, 4, hits)
				require.NoError(t, b.e.Unregister(x, k))
				require.Equal(t, uint64(10), callWith(x, victim.at, 7))
			}, calls)
			b.log.Subscribe(w, smpev.Exec)
			s := sched.NewSticky(sched.Params{Seed: 1, Mean: 8})
			for i := range uint64(40) {
				w.armed = false
				s.Begin(i)
				require.Equal(t, smp.Passed, b.run(s), "schedule %d: %v", i, b.m.Refusal())
			}
			require.Zero(t, w.n)
		},
	},
	{
		rule: "1.3", says: "what a copy leaves relative to itself is put right",
		mutants: []specMutant{
			{name: "pushed-tf", row: "pushed-tf", in: []rules.Edition{rules.Edition26, rules.Edition415}},
			{name: "copy-returns", row: "copy-returns", in: []rules.Edition{rules.Edition26, rules.Edition415}},
			{name: "leak-if", row: "if-leak"},
		},
		holds: func(t *specT) {
			t.Settings.Kernel.Optprobes = false
			b := t.bench(stepTexts, func(b *bench, x *smp.Ctx) {
				for _, f := range []code{victim, flagged, closes, calls, callsAny} {
					if len(f.bytes) == 0 {
						continue
					}
					x.Regs().R[x86.RSI] = uint64(callsAny.at) + 3
					want := callWith(x, f.at, 7)
					for n := 0; f.insn(n) < f.end(); n++ {
						var at uint64
						k := &Kprobe{Addr: f.insn(n), Post: func(_ kapi.Context, _ *Kprobe, r *arch.Regs,
							_ uint64) {
							at = uint64(r.IP)
						}}
						require.NoError(t, b.e.Register(x, k))
						for range 2 {
							at = 0
							x.Regs().R[x86.RSI] = uint64(callsAny.at) + 3
							require.Equal(t, want, callWith(x, f.at, 7), "%s, %d", f.name, n)
							require.NotZero(t, at, "%s, %d", f.name, n)
							b.idle(t, x)
						}
						require.NoError(t, b.e.Unregister(x, k))
					}
				}
			})
			t.pass(b)
		},
	},
	{
		rule: "1.3", says: "a copy that faults is the original that faults, and hits again",
		mutants: []specMutant{
			{name: "fault-in-copy", row: "fault-in-copy"},
			{name: "leave-tf", row: "leave-tf", in: []rules.Edition{rules.Edition26, rules.Edition415}},
		},
		holds: func(t *specT) {
			t.Settings.Kernel.Preemption = true // what is boosted faults where it is
			b := t.bench(stepTexts, func(b *bench, x *smp.Ctx) {
				hits, faults := 0, 0
				b.k.Traps.PageIn = func(_ *smp.Ctx, regs *arch.Regs, addr arch.Addr) bool {
					faults++
					require.Equal(t, loads.at, regs.IP)
					require.NotZero(t, regs.Flags&x86.IF)
					require.Zero(t, regs.Flags&x86.TF)
					require.Nil(t, b.e.Hits.kcb.This(x).current)
					regs.R[arg0] = somewhere
					return true
				}
				k := &Kprobe{Addr: loads.at, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 }}
				require.NoError(t, b.e.Register(x, k))
				require.Equal(t, uint64(loaded), callWith(x, loads.at, nowhere))
				require.Equal(t, []int{2, 1}, []int{hits, faults})
				b.idle(t, x)
				require.NoError(t, b.e.Unregister(x, k))
				k = &Kprobe{Addr: mended.at} // a fault that no handler takes goes to the exception table
				b.k.Traps.PageIn = nil
				if err := b.e.Register(x, k); specArch == processors.ARM64 { // its arch_prepare_kprobe refuses it
					require.Equal(t, EINVAL, err)
					return
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, byWords[uint64](99, nowhere), callWith(x, mended.at, nowhere))
				require.Equal(t, byWords[uint64](99, noAddress), callWith(x, mended.at, noAddress))
				b.idle(t, x)
			})
			t.pass(b)
		},
	},
	{
		rule: "1.4", says: "then the post_handler, with flags 0 and the next instruction's ip",
		mutants: []specMutant{{name: "skip-post", row: "post-skipped"}},
		holds: func(t *specT) {
			b := t.bench(stepTexts, func(b *bench, x *smp.Ctx) {
				for _, f := range []struct {
					at, next arch.Addr
					want     uint64
				}{{victim.at, victim.insn(1), 10}, {other.at, other.insn(2), 2}} {
					var order []uint64
					k := &Kprobe{Addr: f.at,
						Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { order = append(order, 1); return 0 },
						Post: func(_ kapi.Context, _ *Kprobe, regs *arch.Regs, flags uint64) {
							order = append(order, uint64(regs.IP), regs.R[result], flags)
						}}
					require.NoError(t, b.e.Register(x, k))
					require.Equal(t, f.want, callWith(x, f.at, 7))
					rax := uint64(7) // the instruction has run
					if f.at == other.at {
						rax = byWords[uint64](99, 7)
					}
					require.Equal(t, []uint64{1, uint64(f.next), rax, 0}, order)
					require.NoError(t, b.e.Unregister(x, k))
				}
			})
			t.pass(b)
		},
	},
	{
		rule: "1.5", says: "any handler may be nil",
		mutants: []specMutant{{name: "nil-stops", row: "nil-stops"}},
		holds: func(t *specT) {
			b := t.bench(stepTexts, func(b *bench, x *smp.Ctx) {
				for i := range 8 {
					ran := 0
					k := &Kprobe{Addr: victim.at}
					if i&1 != 0 {
						k.Pre = func(kapi.Context, *Kprobe, *arch.Regs) int { ran++; return 0 }
					}
					if i&2 != 0 {
						k.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { ran++ }
					}
					if i&4 != 0 {
						k.Fault = func(kapi.Context, *Kprobe, *arch.Regs, int) int { ran++; return 0 }
					}
					require.NoError(t, b.e.Register(x, k))
					require.Equal(t, uint64(10), callWith(x, victim.at, 7))
					require.Equal(t, i&1+i>>1&1, ran)
					require.NoError(t, b.e.Unregister(x, k))
				}
			})
			t.pass(b)
		},
	},
	{
		rule: "1.6", says: "a pre_handler that changes the path: no step, no post_handler, its registers",
		mutants: []specMutant{{name: "ignore-pre", row: "path-ignored"}},
		holds: func(t *specT) {
			b := t.bench(stepTexts, func(b *bench, x *smp.Ctx) {
				k := &Kprobe{Addr: victim.at,
					Pre: func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
						regs.IP = loads.at
						regs.R[arg0] = somewhere
						return 1
					},
					Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { t.Errorf("a post_handler runs") }}
				require.NoError(t, b.e.Register(x, k))
				require.Equal(t, uint64(loaded), callWith(x, victim.at, 7))
				b.idle(t, x)
			})
			t.pass(b)
		},
	},
	{
		rule: "1.7", says: "what a handler leaves in the registers and in memory holds",
		mutants: []specMutant{{name: "copy-regs", row: "copy-regs"}},
		holds: func(t *specT) {
			b := t.bench(stepTexts, func(b *bench, x *smp.Ctx) {
				pre := &Kprobe{Addr: victim.at, Pre: func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
					regs.R[arg0] += 40
					return 0
				}}
				require.NoError(t, b.e.Register(x, pre))
				require.Equal(t, uint64(50), callWith(x, victim.at, 7))
				require.NoError(t, b.e.Unregister(x, pre))
				post := &Kprobe{Addr: victim.at, Post: func(_ kapi.Context, _ *Kprobe, regs *arch.Regs, _ uint64) {
					regs.R[between] += 80
				}}
				require.NoError(t, b.e.Register(x, post))
				require.Equal(t, uint64(90), callWith(x, victim.at, 7))
				require.NoError(t, b.e.Unregister(x, post))
				top := x.Thread().StackTop() - 16
				memory := &Kprobe{Addr: loads.at, Pre: func(x kapi.Context, _ *Kprobe, regs *arch.Regs) int {
					x.Memory().Store(top, 4, 123)
					regs.R[arg0] = uint64(top)
					return 0
				}}
				require.NoError(t, b.e.Register(x, memory))
				require.Equal(t, uint64(123), callWith(x, loads.at, somewhere))
			})
			t.pass(b)
		},
	},
	{
		rule: "1.11", says: "a hit inside a handler is counted and executed, its handlers don't run",
		mutants: []specMutant{{name: "no-missed", row: "missed-uncounted"}},
		holds: func(t *specT) {
			b := t.bench(stepTexts, func(b *bench, x *smp.Ctx) {
				inner := []*Kprobe{{Addr: other.at}, {Addr: other.insn(2)}, {Addr: loads.at}}
				for _, k := range inner {
					k.Pre = func(kapi.Context, *Kprobe, *arch.Regs) int { t.Errorf("a handler of a missed hit runs"); return 0 }
					k.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) {
						t.Errorf("a post_handler of a missed hit runs")
					}
				}
				calls := func(x kapi.Context) {
					require.Equal(t, uint64(2), callWith(x.(*smp.Ctx), other.at, 0))
					require.Equal(t, uint64(loaded), callWith(x.(*smp.Ctx), loads.at, somewhere))
				}
				outer := &Kprobe{Addr: victim.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { calls(x); return 0 },
					Post: func(x kapi.Context, _ *Kprobe, _ *arch.Regs, _ uint64) { calls(x) }}
				for _, k := range append(inner, outer) {
					require.NoError(t, b.e.Register(x, k))
				}
				for i := range 3 {
					require.Equal(t, uint64(10), callWith(x, victim.at, 7))
					for _, k := range inner {
						require.Equal(t, 2*i+2, k.Missed(), "%#x", k.Addr)
					}
					require.Zero(t, outer.Missed())
					b.idle(t, x)
				}
			})
			t.pass(b)
		},
	},
	{
		rule: "1.12", says: "the fault handler of who faults: pre_handler, post_handler, step; 1 means handled",
		in: []rules.Edition{rules.Edition26, rules.Edition415},
		mutants: []specMutant{
			{name: "no-fault", row: "no-fault"},
			{name: "no-fault-handlers", do: func(s *Settings) { s.FaultHandlers = false }},
		},
		holds: faultsAreHandled,
	},
	{
		rule: "1.15", says: "a rep string instruction hits once an iteration by #DB, else once",
		x86: ofStrings,
		mutants: []specMutant{{name: "other-step", do: func(s *Settings) {
			s.Step = era.StepInt3 + era.StepDebug - s.Step
		}}},
		holds: func(t *specT) {
			want := 1
			if t.Edition <= rules.Edition415 {
				want = 5
			}
			b := t.bench(stepTexts, func(b *bench, x *smp.Ctx) {
				hits, posts := 0, 0
				k := &Kprobe{Addr: repeats.at + 12, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 },
					Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }}
				require.NoError(t, b.e.Register(x, k))
				require.EqualValues(t, repeats.bytes[4], callWith(x, repeats.at, 0))
				require.Equal(t, []int{want, want}, []int{hits, posts})
			})
			t.pass(b)
		},
	},
}

// faultsAreHandled is 1.12.
func faultsAreHandled(t *specT) {
	b := t.bench(stepTexts, func(b *bench, x *smp.Ctx) {
		asked, answer := 0, 1
		trapnr, at := 0, arch.Addr(0)
		handler := func(_ kapi.Context, _ *Kprobe, regs *arch.Regs, nr int) int {
			asked++
			trapnr, at = nr, regs.IP
			if answer != 0 {
				regs.R[arg0] = somewhere
			}
			return answer
		}
		falls := func(f arch.Addr, bad uint64) func(x kapi.Context) uint64 {
			return func(x kapi.Context) uint64 { return callWith(x.(*smp.Ctx), f, bad) & 0xffff }
		}
		for _, c := range []struct {
			bad  uint64
			want int
		}{{nowhere, 14}, {noAddress, by32(13, 14)}} {
			got := uint64(0)
			run := falls(loads.at, c.bad)
			pre := func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { got = run(x); return 0 }
			post := func(x kapi.Context, _ *Kprobe, _ *arch.Regs, _ uint64) { got = run(x) }
			for _, k := range []*Kprobe{{Addr: victim.at, Pre: pre, Fault: handler},
				{Addr: victim.at, Post: post, Fault: handler}} {
				asked, got = 0, 0
				require.NoError(t, b.e.Register(x, k))
				require.Equal(t, uint64(10), callWith(x, victim.at, 7))
				require.Equal(t, []any{uint64(loaded), 1, c.want, loads.at}, []any{got, asked, trapnr, at})
				b.idle(t, x)

				// an ordinary fault, which the exception table has something for
				answer, run = 0, falls(mended.at, c.bad)
				require.Equal(t, uint64(10), callWith(x, victim.at, 7))
				require.Equal(t, []any{uint64(99), 2, c.want, mended.at}, []any{got, asked, trapnr, at})
				b.idle(t, x)
				answer, run = 1, falls(loads.at, c.bad)
				require.NoError(t, b.e.Unregister(x, k))
			}

			for _, f := range []code{loads, mended} {
				hits := 0
				k := &Kprobe{Addr: f.at, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 },
					Fault: handler}
				require.NoError(t, b.e.Register(x, k))
				asked = 0
				require.Equal(t, uint64(loaded), callWith(x, f.at, c.bad))
				require.Equal(t, []any{1, c.want, f.at, 2}, []any{asked, trapnr, at, hits})
				b.idle(t, x)
				if len(f.extable) > 0 {
					answer = 0
					require.Equal(t, uint64(99), callWith(x, f.at, c.bad))
					require.Equal(t, []any{2, 3}, []any{asked, hits})
					b.idle(t, x)
					answer = 1
				}
				require.NoError(t, b.e.Unregister(x, k))
			}
		}
	})
	t.pass(b)
}

// statuses notes what a CPU is doing about probes at each trap that it takes.
type statuses struct {
	b    *bench
	seen []status
}

// Event implements traces.Sink.
func (s *statuses) Event(e *traces.Event) *traces.Finding {
	c := s.b.e.Hits.kcb.Of(int(e.CPU))
	if c.current == nil {
		s.seen = append(s.seen, 0)
	} else {
		s.seen = append(s.seen, c.status)
	}
	return nil
}

// TestStatus: the statuses of a hit and of those inside its handlers, at the
// trap of each hit and at that which ends its step (study of kernels, 1.0).
func TestStatus(t *testing.T) {
	for _, step := range []era.Step{era.StepInt3, era.StepDebug} {
		set := repaired
		set.Kernel.Optprobes, set.Step = false, step
		w := new(statuses)
		b := newBench(t, set, stepTexts, func(b *bench, x *smp.Ctx) {
			inner := &Kprobe{Addr: loads.at}
			nests := func(x kapi.Context) { callWith(x.(*smp.Ctx), loads.at, somewhere) }
			outer := &Kprobe{Addr: victim.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { nests(x); return 0 },
				Post: func(x kapi.Context, _ *Kprobe, _ *arch.Regs, _ uint64) { nests(x) }}
			require.NoError(t, b.e.Register(x, inner))
			require.NoError(t, b.e.Register(x, outer))
			w.seen = nil
			callWith(x, victim.at, 7)
			require.Equal(t, []status{0, kprobeHitActive, kprobeReenter, kprobeHitSS, kprobeHitSSDone, kprobeReenter},
				w.seen)
			w.seen = nil
			nests(x)
			require.Equal(t, []status{0, kprobeHitSS}, w.seen)
			require.Equal(t, 2, inner.Missed())
		})
		w.b = b
		b.log.Subscribe(w, smpev.Trap)
		b.pass(t)
	}
}
