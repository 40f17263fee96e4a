package kprobes

import (
	"encoding/binary"
	"fmt"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	processors "kpsim/smp/arch/target"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// text makes a code of pieces: bytes, and calls and jumps to addresses.
func text(name string, at arch.Addr, pieces ...any) code {
	var b []byte
	near := func(op byte, to arch.Addr) {
		b = append(b, op)
		b = binary.LittleEndian.AppendUint32(b, uint32(to-(at+arch.Addr(len(b))+4)))
	}
	for _, p := range pieces {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case callTo:
			near(0xe8, arch.Addr(p))
		case jumpTo:
			near(0xe9, arch.Addr(p))
		}
	}
	return inWords(code{name: name, at: at, bytes: b})
}

type (
	callTo arch.Addr
	jumpTo arch.Addr
)

var retText = textBase + 0x400

var (
	doExit = exported("do_exit")

	// recurs returns its argument, which it counts down by calling itself.
	recurs = text("recurs", retText, 0x85, 0xff, 0x74, 0x0a, 0xff, 0xcf, callTo(retText), 0xff, 0xc0, 0xc3, 0x31, 0xc0,
		0xc3)
	// tail is victim of its argument and one, by a jump.
	tail = text("tail", retText+0x40, 0x48, 0xff, 0xc7, jumpTo(victim.at))
	// leaver returns past who called it; left calls it.
	leaver = text("leaver", retText+0x80, 0x48, 0x83, 0xc4, row32.Word, 0xb8, 9, 0, 0, 0, 0xc3)
	left   = text("left", retText+0xc0, callTo(retText+0x80), 0xb8, 8, 0, 0, 0, 0xc3)
	// again returns twice to where it was called from.
	again = text("again", retText+0x100, 0xff, 0x34, 0x24, 0xc3)
	// ender never returns.
	ender = text("ender", retText+0x140, 0x53, callTo(doExit), 0x5b, 0xc3)
	// tells returns its own return address.
	tells = text("tells", retText+0x180, 0x48, 0x8b, 0x04, 0x24, 0xc3)
	// asks returns what tells does, called from asks+1.
	asks = text("asks", retText+0x1c0, 0x53, callTo(retText+0x180), 0x5b, 0xc3)

	switchTo = text("__switch_to", retText+0x200, 0x48, 0x89, 0xf8, 0xc3)

	retCodes = []code{victim, other, outer, recurs, tail, leaver, left, again, ender, tells, asks, switchTo}
)

// retAt is a return probe at a function.
func retAt(c code, h RetHandler) *Kretprobe {
	return &Kretprobe{Kprobe: Kprobe{ID: uint64(c.at - textBase), Addr: c.at}, Handler: h}
}

// ret runs a program with the functions of this file.
func (t *specT) ret(f func(b *bench, x *smp.Ctx)) *bench { return t.bench(retCodes, f) }

// called calls a function with one argument and returns what it left.
func called(x *smp.Ctx, c code, arg uint64) uint64 {
	x.Regs().R[arg0] = arg
	return x.Call(c.at)
}

// conserved follows the instances of return probes, and what they belong to.
type conserved struct {
	state   map[uint64]int // of an instance: 1 free, 2 in use, 3 its memory is gone
	holders map[uint64]int // 1, and 3 when its memory is gone
	wrong   string
}

var conservedKinds = []traces.Kind{kpev.InstanceNew, kpev.InstanceGet, kpev.InstancePut, kpev.InstanceFree,
	kpev.HolderDrop, kpev.HolderFree}

func (c *conserved) reset() {
	c.state, c.holders, c.wrong = make(map[uint64]int), make(map[uint64]int), ""
}

// Event implements traces.Sink.
func (c *conserved) Event(e *traces.Event) *traces.Finding {
	move := func(of map[uint64]int, from, to int) {
		if of[e.A] != from && c.wrong == "" {
			c.wrong = e.String()
		}
		of[e.A] = to
	}
	switch e.Kind {
	case kpev.InstanceNew:
		c.holders[e.C] = 1
		move(c.state, 0, 1)
	case kpev.InstanceGet:
		move(c.state, 1, 2)
	case kpev.InstancePut:
		move(c.state, 2, 1)
	case kpev.InstanceFree:
		move(c.state, 1, 3)
	case kpev.HolderDrop:
		move(c.holders, 1, 1)
	case kpev.HolderFree:
		move(c.holders, 1, 3)
	}
	return nil
}

// inUse returns how many instances are.
func (c *conserved) inUse() (n int) {
	for _, s := range c.state {
		if s == 2 {
			n++
		}
	}
	return n
}

// leaked returns how many weren't freed.
func (c *conserved) leaked() (n int) {
	for _, s := range c.state {
		if s != 3 {
			n++
		}
	}
	return n
}

// printed collects the lines that the kernel prints.
type printed []string

// Event implements traces.Sink.
func (p *printed) Event(e *traces.Event) *traces.Finding {
	*p = append(*p, kpev.Text(kpev.Line(e.A), e.B, e.C))
	return nil
}

// spec2 is section 2 of the specification: return probes.
var spec2 = []specRule{
	{
		rule: "2.1", says: "the handler runs at the return, and control goes on where it was to",
		mutants: []specMutant{{name: "no-hook", row: "return-not-hooked"}},
		holds: func(t *specT) {
			var order []string
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				r := retAt(victim, func(_ kapi.Context, ri *Instance, regs *arch.Regs) int {
					order = append(order, "return")
					return 0
				})
				k := &Kprobe{Addr: victim.insn(1), Pre: func(kapi.Context, *Kprobe, *arch.Regs) int {
					order = append(order, "inside")
					return 0
				}}
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				require.NoError(t, b.e.Register(x, k))
				for range 2 {
					require.EqualValues(t, 10, called(x, victim, 7))
					require.Zero(t, x.Thread().Left().R[row32.SP])
					order = append(order, "back")
				}
				require.NoError(t, b.e.Kretprobes.Unregister(x, r))
				require.Equal(t, EINVAL, b.e.Kretprobes.Unregister(x, r))
				require.EqualValues(t, 10, called(x, victim, 7))
			}))
			require.Equal(t, []string{"inside", "return", "back", "inside", "return", "back", "inside"}, order)
		},
	},
	{
		rule: "2.1", says: "the trampoline is a nop under a probe in 2.6 on x86-64, code later and on i386",
		mutants: []specMutant{{name: "another-generation", do: func(s *Settings) {
			if s.Return == era.ReturnGlobal && specArch == processors.X8664 {
				s.Return = era.ReturnHashed
			} else {
				s.Return, s.OldTrampoline = era.ReturnGlobal, true
			}
		}}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				r := retAt(victim, nil)
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				at := b.k.Stub("kretprobe_trampoline")
				_, probed := b.e.Table.probes.Get(x, at)
				nop := t.Edition == rules.Edition26 && !b.settings.Kernel.Bits32
				require.Equal(t, nop, probed)
				var now [1]byte
				b.k.Text.Read(x, at, now[:])
				require.Equal(t, nop, now[0] == x86.Int3)
				require.EqualValues(t, 10, called(x, victim, 7))
			}))
		},
	},
	{
		rule: "2.2", says: "the default of maxactive",
		mutants: []specMutant{{name: "other-rule", do: func(s *Settings) { s.MaxactiveAll = !s.MaxactiveAll }}},
		holds: func(t *specT) {
			for _, preemption := range []bool{true, false} {
				t.Settings.Kernel.Preemption = preemption
				b := t.bench(retCodes, func(b *bench, x *smp.Ctx) {
					for _, ask := range []int{0, -1, 1, 4097} {
						want := ask
						if ask <= 0 {
							if want = 10; t.Edition < rules.Edition65 && !preemption {
								want = 2
							}
						}
						r := retAt(victim, nil)
						r.Maxactive = ask
						require.NoError(t, b.e.Kretprobes.Register(x, r))
						require.Equal(t, want, r.Maxactive)
						require.Len(t, r.holder.all, want)
						require.NoError(t, b.e.Kretprobes.Unregister(x, r))
					}
				}, func(*bench, *smp.Ctx) {})
				t.pass(b)
			}
		},
	},
	{
		rule: "2.2", says: "what never gives up its CPU never misses with an instance a CPU",
		mutants: []specMutant{{name: "one-less", row: "one-less"}},
		holds: func(t *specT) {
			r := retAt(victim, nil)
			calls := func(b *bench, x *smp.Ctx) {
				x.PreemptDisable()
				for range 4 {
					called(x, victim, 7)
				}
				x.PreemptEnable()
			}
			b := t.bench(retCodes, func(b *bench, x *smp.Ctx) {
				*r = *retAt(victim, nil)
				r.Maxactive = 2
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				calls(b, x)
			}, calls)
			s := sched.NewSticky(sched.Params{Seed: 1, Mean: 6})
			for i := range uint64(150) {
				s.Begin(i)
				require.Equal(t, smp.Passed, b.run(s), "%v", b.m.Refusal())
				require.Zero(t, r.Missed(), "schedule %d", i)
			}
		},
	},
	{
		rule: "2.3", says: "no free instance: nmissed, no handler, the call as if unprobed",
		mutants: []specMutant{{name: "hook-first", row: "hook-first"}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				entries, returns := 0, 0
				r := retAt(recurs, func(kapi.Context, *Instance, *arch.Regs) int { returns++; return 0 })
				if t.Edition != rules.Edition26 {
					r.Entry = func(kapi.Context, *Instance, *arch.Regs) int { entries++; return 0 }
				}
				r.Maxactive = 3
				for range 2 {
					require.NoError(t, b.e.Kretprobes.Register(x, r))
					require.Zero(t, r.Missed())
					returns, entries = 0, 0
					for i := 1; i <= 2; i++ {
						require.EqualValues(t, 9, called(x, recurs, 9))
						require.Equal(t, []int{3 * i, 7 * i}, []int{returns, r.Missed()})
					}
					if r.Entry != nil {
						require.Equal(t, returns, entries)
					}
					require.Zero(t, r.Kprobe.Missed())
					require.NoError(t, b.e.Kretprobes.Unregister(x, r))
				}
			}))
		},
	},
	{
		rule: "2.4", says: "entry_handler: the return is followed if it returns 0", in: since(rules.Edition415),
		mutants: []specMutant{{name: "entry-ignored", row: "entry-ignored"}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				returns, entries := 0, 0
				var to arch.Addr
				r := retAt(victim, func(kapi.Context, *Instance, *arch.Regs) int { returns++; return 0 })
				r.Entry = func(x kapi.Context, _ *Instance, regs *arch.Regs) int {
					entries++
					return int(regs.R[arg0]) % 2
				}
				k := &Kprobe{Addr: victim.insn(1), Pre: func(x kapi.Context, _ *Kprobe, regs *arch.Regs) int {
					to, _ = row32.Caller(x.Memory(), regs)
					return 0
				}}
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				require.NoError(t, b.e.Register(x, k))
				for i := range uint64(30) {
					require.Equal(t, i+3, called(x, victim, i))
					require.Equal(t, i%2 == 0, to == b.e.Rethook.trampoline,
						"the return address is left alone")
				}
				require.Equal(t, []int{30, 15, 0}, []int{entries, returns, r.Missed()})
			}))
		},
	},
	{
		rule: "6.1", says: "2.6 has no entry_handler and no data_size", in: []rules.Edition{rules.Edition26},
		mutants: []specMutant{{name: "later-generation", do: func(s *Settings) { s.Return = era.ReturnHashed }}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				r := retAt(victim, nil)
				r.Entry = func(kapi.Context, *Instance, *arch.Regs) int { return 0 }
				require.Equal(t, EOPNOTSUPP, b.e.Kretprobes.Register(x, r))
				r.Entry, r.DataSize = nil, 8
				require.Equal(t, EOPNOTSUPP, b.e.Kretprobes.Register(x, r))
			}))
		},
	},
	{
		rule: "2.5", says: "private data of each instance", in: since(rules.Edition415),
		mutants: []specMutant{{name: "one-data", row: "one-data"}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				var got []uint64
				r := retAt(recurs, func(_ kapi.Context, ri *Instance, regs *arch.Regs) int {
					got = append(got, binary.LittleEndian.Uint64(ri.Data)-regs.R[result])
					return 0
				})
				r.DataSize = 8
				r.Entry = func(_ kapi.Context, ri *Instance, regs *arch.Regs) int {
					require.Len(t, ri.Data, 8)
					binary.LittleEndian.PutUint64(ri.Data, regs.R[arg0])
					return 0
				}
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				require.EqualValues(t, 4, called(x, recurs, 4))
				require.Equal(t, []uint64{0, 0, 0, 0, 0}, got)
			}))
		},
	},
	{
		rule: "2.5", says: "how much of it there may be", in: since(rules.Edition415),
		mutants: []specMutant{{name: "other-limit", do: func(s *Settings) { s.DataMax = 4096 - s.DataMax }}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				r := retAt(victim, nil)
				r.DataSize, r.Maxactive = 4096, 1
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				require.NoError(t, b.e.Kretprobes.Unregister(x, r))
				r.DataSize = 100_000
				if t.Edition >= rules.Edition65 {
					require.Equal(t, E2BIG, b.e.Kretprobes.Register(x, r))
				} else {
					require.NoError(t, b.e.Kretprobes.Register(x, r))
				}
			}))
		},
	},
	{
		rule: "2.6", says: "fields of an instance, the return value, what the handler changes",
		mutants: []specMutant{
			{name: "regs-lost", row: "regs-lost"},
		},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				n := 0
				var r *Kretprobe
				r = retAt(victim, func(x kapi.Context, ri *Instance, regs *arch.Regs) int {
					n++
					require.Equal(t, r, ri.Rp)
					require.Equal(t, x.Task(), ri.Task)
					require.Equal(t, outer.returns(n-1), ri.RetAddr)
					require.Equal(t, uint64(10+90*(n-1)), regs.R[result], "regs_return_value")
					regs.R[result] = uint64(100 * n)
					regs.R[row32.Saved[0]] = 5
					regs.Flags |= byWords(uint64(x86.CF), 0)
					return 77 // ignored
				})
				k := &Kprobe{Addr: victim.at, Pre: func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
					if n == 1 {
						regs.R[arg0] = 97
					}
					return 0
				}}
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				require.NoError(t, b.e.Register(x, k))
				require.EqualValues(t, 201, called(x, outer, 7))
				require.EqualValues(t, 5, x.Thread().Left().R[row32.Saved[0]])
				require.Equal(t, byWords(uint64(x86.CF), 0), x.Thread().Left().Flags&x86.CF)
				require.Equal(t, 2, n)
			}))
		},
	},
	{
		rule: "2.7", says: "__builtin_return_address() is the trampoline's",
		mutants: []specMutant{{name: "no-hook", row: "return-not-hooked"}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				require.EqualValues(t, asks.returns(0), called(x, asks, 0))
				require.NoError(t, b.e.Kretprobes.Register(x, retAt(tells, nil)))
				require.EqualValues(t, b.k.Stub("kretprobe_trampoline"), called(x, asks, 0))
			}))
		},
	},
	{
		rule: "2.7", says: "a backtrace inside sees the trampoline until 5.14, the real address since",
		x86:     ofStacks,
		mutants: []specMutant{{name: "other-unwinder", do: func(s *Settings) { s.Unwind = !s.Unwind }}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				var traces [][]arch.Addr
				look := func(x kapi.Context, sp arch.Addr) { traces = append(traces, b.k.Tasks.Backtrace(x, sp, nil)) }
				tramp := b.k.Stub("kretprobe_trampoline")
				require.NoError(t, b.e.Kretprobes.Register(x, retAt(asks, nil)))
				require.NoError(t,
					b.e.Kretprobes.Register(x, retAt(tells, func(x kapi.Context, _ *Instance, regs *arch.Regs) int {
						look(x, x86.SP(regs)-8)
						return 0
					})))
				require.NoError(t,
					b.e.Register(x,
						&Kprobe{Addr: tells.at + 4, Pre: func(x kapi.Context, _ *Kprobe, regs *arch.Regs) int {
							look(x, x86.SP(regs))
							return 0
						}}))
				called(x, asks, 0)
				inside, handler := []arch.Addr{tramp, tramp}, []arch.Addr{tramp}
				if t.Edition >= rules.Edition65 { // asks was called by no text
					inside, handler = []arch.Addr{asks.at + 6, 0}, []arch.Addr{asks.at + 6, 0}
				} else if t.Edition != rules.Edition26 { // where the return address was lie saved registers
					handler = handler[:1]
				}
				require.Len(t, traces, 2)
				for i, want := range [][]arch.Addr{inside, handler} {
					require.NotEmpty(t, traces[i])
					require.Equal(t, want[0], traces[i][0], "%d: %x", i, traces)
				}
				require.Len(t, traces[0], 2)
			}))
		},
	},
	{
		rule: "2.8", says: "a return that nobody knows: a line, and BUG()",
		x86:     ofPushes,
		mutants: []specMutant{{name: "no-bug", row: "no-bug"}},
		holds: func(t *specT) {
			var lines printed
			oops := 0
			b := t.ret(func(b *bench, x *smp.Ctx) {
				require.NoError(t, b.e.Kretprobes.Register(x, retAt(again, nil)))
				called(x, again, 0)
			})
			b.log.Subscribe(&lines, kpev.Printk)
			b.log.Subscribe(onEvent(func(e *traces.Event) {
				if e.A == smpev.VecUD {
					oops++
				}
			}), smpev.Oops)
			require.Equal(t, smp.Refused, b.run(new(sched.Default)))
			want := "rethook: Return address not found! Maybe there is a bug in the kernel"
			switch t.Edition {
			case rules.Edition26, rules.Edition415:
				want = fmt.Sprintf("kretprobe BUG!: Processing kretprobe 500 @ %x", uint64(again.at))
			case rules.Edition514:
				want = "Oops! Kretprobe fails to find correct return address."
			}
			require.Equal(t, printed{want}, lines)
			require.Equal(t, 1, oops, "BUG()")
		},
	},
	{
		rule: "2.8", says: "a function that is left without a return",
		mutants: []specMutant{{name: "frame-unchecked", row: "frame-unchecked"}},
		holds: func(t *specT) {
			var c conserved
			c.reset()
			b := t.ret(func(b *bench, x *smp.Ctx) {
				got := ""
				require.NoError(t,
					b.e.Kretprobes.Register(x, retAt(left, func(kapi.Context, *Instance, *arch.Regs) int { got += "left "; return 0 })))
				require.NoError(t,
					b.e.Kretprobes.Register(x, retAt(leaver, func(kapi.Context, *Instance, *arch.Regs) int { got += "leaver "; return 0 })))
				require.EqualValues(t, 9, called(x, left, 0))
				require.EqualValues(t, 9, called(x, left, 0))
				require.Equal(t, "left left ", got)
				require.Zero(t, c.inUse())
			})
			b.log.Subscribe(&c, conservedKinds...)
			t.pass(b)
			require.Empty(t, c.wrong)
		},
	},
	{
		rule: "2.8", says: "a task that exits inside gives its instances back",
		mutants: []specMutant{{name: "no-flush", row: "no-flush"}},
		holds: func(t *specT) {
			var c conserved
			c.reset()
			r := retAt(ender, func(kapi.Context, *Instance, *arch.Regs) int {
				t.Errorf("it returns")
				return 0
			})
			ended := false
			b := t.bench(retCodes, func(b *bench, x *smp.Ctx) {
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				called(x, ender, 0)
				ended = true
			}, func(b *bench, x *smp.Ctx) {
				b.e.Optimizer.WaitOptimizer(x)
				for range 30 {
					x.Sleep(kapi.Yield)
				}
				require.NoError(t, b.e.Kretprobes.Unregister(x, r))
				b.k.RCU.Synchronize(x, kapi.QuiesceRCU)
				b.k.RCU.Synchronize(x, kapi.QuiesceRCU)
			})
			b.log.Subscribe(&c, conservedKinds...)
			t.pass(b)
			require.False(t, ended)
			require.Empty(t, c.wrong)
			require.Zero(t, c.leaked())
		},
	},
	{
		rule: "2.9", says: "__switch_to is refused",
		mutants: []specMutant{{name: "switch-to", row: "switch-to"}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				require.Equal(t, EINVAL, b.e.Kretprobes.Register(x, retAt(switchTo, nil)))
				require.Equal(t, EINVAL, b.e.Register(x, &Kprobe{Addr: switchTo.at}))
			}))
		},
	},
	{
		rule: "2.9", says: "a return probe behind a function's entry is refused",
		mutants: []specMutant{{name: "anywhere", row: "anywhere"}},
		holds: func(t *specT) {
			behind := int(outer.returns(0) - outer.at)
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				require.Equal(t, EINVAL, b.e.Kretprobes.Register(x, &Kretprobe{Kprobe: Kprobe{Addr: outer.returns(0)}}))
				require.Equal(t, EINVAL,
					b.e.Kretprobes.Register(x, &Kretprobe{Kprobe: Kprobe{Symbol: "outer", Offset: behind}}))
				require.NoError(t, b.e.Kretprobes.Register(x, &Kretprobe{Kprobe: Kprobe{Symbol: "outer"}}))
			}))
		},
	},
	{
		rule: "2.9", says: "behind an endbr64 is the entry", in: since(rules.Edition65),
		x86:     ofIBT,
		mutants: []specMutant{{name: "no-ibt", row: "no-ibt"}},
		holds: func(t *specT) {
			t.Settings.Kernel.IBT = true
			f := code{name: "tracked", at: retText + 0x300, bytes: []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xf8,
				0xc3}}
			t.pass(t.bench([]code{f}, func(b *bench, x *smp.Ctx) {
				n := 0
				for _, off := range []arch.Addr{0, 4} {
					r := retAt(f, func(kapi.Context, *Instance, *arch.Regs) int { n++; return 0 })
					r.Kprobe.Addr += off
					require.NoError(t, b.e.Kretprobes.Register(x, r))
					require.Equal(t, f.at+4, r.Kprobe.Addr)
					require.EqualValues(t, 7, called(x, f, 7))
					require.NoError(t, b.e.Kretprobes.Unregister(x, r))
				}
				require.Equal(t, 2, n)
			}))
		},
	},
	{
		rule: "2.10", says: "recursive and nested functions, tail calls, several return probes on one",
		mutants: []specMutant{{name: "one-handler", row: "one-handler"}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				got := ""
				say := func(s string) RetHandler {
					return func(kapi.Context, *Instance, *arch.Regs) int { got += s; return 0 }
				}
				for _, r := range []*Kretprobe{retAt(recurs, say("r")), retAt(victim, say("v")), retAt(outer, say("o")),
					retAt(tail, say("t")), retAt(victim, say("w"))} {
					require.NoError(t, b.e.Kretprobes.Register(x, r))
				}
				for range 2 {
					got = ""
					require.EqualValues(t, 5, called(x, recurs, 5))
					require.EqualValues(t, 11, called(x, outer, 7))
					require.EqualValues(t, 11, called(x, tail, 7))
					// the newest call first: of two on one function the one whose pre_handler ran last
					inOrder := "vwvwovwt"
					require.Equal(t, "rrrrrr"+inOrder, got)
					b.e.Optimizer.WaitOptimizer(x) // then they are optimized
				}
			}))
		},
	},
	{
		rule: "2.11", says: "a probe and a return probe on one function",
		mutants: []specMutant{{name: "entry-returns", row: "entry-returns"}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				hits, posts, returns := 0, 0, 0
				k := &Kprobe{ID: 1, Addr: victim.at,
					Pre:  func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 },
					Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }}
				require.NoError(t, b.e.Register(x, k))
				require.NoError(t,
					b.e.Kretprobes.Register(x, retAt(victim, func(kapi.Context, *Instance, *arch.Regs) int { returns++; return 0 })))
				require.EqualValues(t, 10, called(x, victim, 7))
				require.Equal(t, []int{1, 1, 1}, []int{hits, posts, returns})
				require.NoError(t, b.e.Unregister(x, k))
				b.e.Optimizer.WaitOptimizer(x)
				require.EqualValues(t, 10, called(x, victim, 7))
				require.Equal(t, []int{1, 1, 2}, []int{hits, posts, returns})
			}))
		},
	},
	{
		rule: "1.10", says: "return handlers: preemption off, interrupts off until 5.10 and as they were later",
		mutants: []specMutant{{name: "another-generation", do: func(s *Settings) {
			if s.Return >= era.ReturnHashed {
				s.Return = era.ReturnFreelist
			} else {
				s.Return = era.ReturnHashed
			}
		}}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				returns := 0
				r := retAt(victim, func(x kapi.Context, _ *Instance, _ *arch.Regs) int {
					returns++
					require.Equal(t, t.Edition >= rules.Edition514, x.(*smp.Ctx).Open(), "interrupts on")
					require.Greater(t, x.(*smp.Ctx).Thread().PreemptCount()+x.(*smp.Ctx).Thread().Traps(), 0)
					return 0
				})
				if t.Edition != rules.Edition26 {
					r.Entry = func(x kapi.Context, _ *Instance, _ *arch.Regs) int {
						require.False(t, x.(*smp.Ctx).Open(), "a breakpoint's")
						return 0
					}
				}
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				called(x, victim, 7)
				require.Equal(t, 1, returns)
				require.Zero(t, x.Thread().PreemptCount())
				require.True(t, x.Open())
			}))
		},
	},
	{
		rule: "6.4", says: "arrays of return probes", in: since(rules.Edition415),
		mutants: []specMutant{{name: "anywhere", row: "anywhere"}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				rs := []*Kretprobe{retAt(victim, nil), retAt(outer, nil), {Kprobe: Kprobe{Addr: outer.returns(0)}},
					retAt(tail, nil)}
				require.Equal(t, EINVAL, b.e.Kretprobes.RegisterAll(x, rs))
				for _, r := range rs {
					require.Nil(t, r.Kprobe.aggr)
				}
				require.Equal(t, EINVAL, b.e.Kretprobes.RegisterAll(x, nil))
				require.NoError(t, b.e.Kretprobes.RegisterAll(x, rs[:2]))
				require.NoError(t, b.e.Kretprobes.UnregisterAll(x, rs[:2]))
			}))
		},
	},
	{
		rule: "6.6", says: "a return probe that is disabled, and enabled again", in: since(rules.Edition415),
		mutants: []specMutant{{name: "no-hook", row: "return-not-hooked"}},
		holds: func(t *specT) {
			t.pass(t.ret(func(b *bench, x *smp.Ctx) {
				n := 0
				r := retAt(victim, func(kapi.Context, *Instance, *arch.Regs) int { n++; return 0 })
				require.Equal(t, EINVAL, b.e.Disable(x, &r.Kprobe))
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				require.Equal(t, EINVAL, b.e.Kretprobes.Register(x, r))
				for range 2 {
					require.NoError(t, b.e.Disable(x, &r.Kprobe))
				}
				called(x, victim, 7)
				require.Zero(t, n)
				for range 2 {
					require.NoError(t, b.e.Enable(x, &r.Kprobe))
				}
				called(x, victim, 7)
				require.Equal(t, 1, n)
			}))
		},
	},
	{
		rule: "6.1", says: "a return probe that is registered already",
		mutants: []specMutant{{name: "re-register", row: "re-register-late"}},
		holds: func(t *specT) {
			var c conserved
			c.reset()
			b := t.ret(func(b *bench, x *smp.Ctx) {
				n := 0
				r := retAt(victim, func(kapi.Context, *Instance, *arch.Regs) int { n++; return 0 })
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				require.Equal(t, EINVAL, b.e.Kretprobes.Register(x, r))
				called(x, victim, 7)
				require.Equal(t, 1, n)
				require.NoError(t, b.e.Kretprobes.Unregister(x, r))
				b.k.RCU.Synchronize(x, kapi.QuiesceRCU)
			})
			b.log.Subscribe(&c, conservedKinds...)
			t.pass(b)
			require.Zero(t, c.leaked())
		},
	},
}

// onEvent is a traces.Sink of one function.
type onEvent func(e *traces.Event)

// Event implements traces.Sink.
func (f onEvent) Event(e *traces.Event) *traces.Finding { f(e); return nil }
