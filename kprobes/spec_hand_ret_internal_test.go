package kprobes

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// TestReRegistered: kernels that took a registered return probe for a new one until its
// address was found taken left it without a holder. When it is unregistered there is
// nothing to stop then, which must not be our own fault.
func TestReRegistered(t *testing.T) {
	for _, g := range []era.Return{era.ReturnGlobal, era.ReturnHashed, era.ReturnFreelist, era.ReturnRethook,
		era.ReturnObjpool} {
		s := repaired
		s.Return = g
		breakSteps(&s, "re-register-late")
		b := newBench(t, s, retCodes, func(b *bench, x *smp.Ctx) {
			r := retAt(victim, func(kapi.Context, *Instance, *arch.Regs) int { return 0 })
			require.NoError(t, b.e.Kretprobes.Register(x, r))
			require.Equal(t, EINVAL, b.e.Kretprobes.Register(x, r))
			require.NoError(t, b.e.Kretprobes.Unregister(x, r))
			require.Equal(t, EINVAL, b.e.Kretprobes.Unregister(x, r))
		})
		require.Equal(t, smp.Passed, b.run(new(sched.Default))) // its instances are left behind, as they were there
	}
}

// TestPools: of a pool of free instances each is in one hand at a time, and none is
// lost, whatever several CPUs do at once. The pools stand alone: an operation is a
// few points, so that random schedules come into each window.
func TestPools(t *testing.T) {
	for _, g := range []era.Return{era.ReturnFreelist, era.ReturnObjpool} {
		for _, maxactive := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%d/%d", g, maxactive), func(t *testing.T) {
				s := repaired
				s.Return = g
				var h *holder
				held := map[*Instance]bool{}
				wrong, taken := "", 0
				program := func(b *bench, x *smp.Ctx) {
					x.PreemptDisable()
					for i := range 3 {
						var ri *Instance
						if g == era.ReturnFreelist {
							ri = b.e.Kretprobes.freelistTryGet(x, h)
						} else {
							ri = b.e.Kretprobes.objpoolPop(x, h)
						}
						if ri == nil {
							continue
						}
						if held[ri] {
							wrong = "an instance is in two hands"
						}
						taken++
						held[ri] = true
						x.Step("holds", i)
						delete(held, ri)
						if g == era.ReturnFreelist {
							b.e.Kretprobes.freelistAdd(x, h, ri)
						} else {
							b.e.Kretprobes.objpoolPush(x, h, ri)
						}
					}
					x.PreemptEnable()
				}
				b := newBench(t, s, nil, program, program, program)
				for name, st := range map[string]sched.Strategy{
					"random": sched.NewRandom(sched.Params{Seed: 7, Length: 80}),
					"sticky": sched.NewSticky(sched.Params{Seed: 7, Mean: 4, Length: 80}),
				} {
					for i := range uint64(1500) {
						clear(held)
						st.Begin(i)
						b.made = func() {
							h = &holder{do: &linux}
							for range maxactive {
								h.all = append(h.all, &Instance{holder: h})
							}
							h.live.Init(b.e.d.Cells, true)
							b.e.Kretprobes.fillPool(h)
						}
						require.Equal(t, smp.Passed, b.run(st), "%s, run %d", name, i)
						require.Empty(t, wrong, "%s, run %d", name, i)
						free := map[*Instance]bool{}
						for ri := h.head.Peek(); ri != nil; ri = ri.next.Peek() {
							require.False(t, free[ri], "%s, run %d: twice in the pool", name, i)
							free[ri] = true
						}
						for c := range h.rings {
							r := &h.rings[c]
							for at := r.Head.Peek(); at != r.tail.Peek(); at++ {
								require.False(t, free[r.Owned(at)], "%s, run %d: twice in the pool", name, i)
								free[r.Owned(at)] = true
							}
						}
						require.Len(t, free, maxactive, "%s, run %d: instances are lost", name, i)
					}
				}
				require.NotZero(t, taken)
			})
		}
	}
}

// specHandRet is specHand of return probes and jprobes.
var specHandRet = []specRule{
	{
		rule: "2.6", says: "each handler is told the return address; the ip in its registers differs by edition",
		mutants: []specMutant{
			{name: "rethook", in: []rules.Edition{rules.Edition26, rules.Edition415, rules.Edition514},
				do: func(s *Settings) { s.Return, s.Unwind = era.ReturnRethook, true }},
			{name: "other-unwinder", in: since(rules.Edition65), do: func(s *Settings) { s.Unwind = false }},
			{name: "ret-addr-kept", row: "ret-addr-kept"},
		},
		holds: func(t *specT) {
			var tos, ips []arch.Addr
			t.run([]code{victim, outer}, func(b *bench, x *smp.Ctx) {
				for id := range uint64(2) {
					r := &Kretprobe{Kprobe: Kprobe{ID: id, Addr: victim.at},
						Handler: func(_ kapi.Context, ri *Instance, regs *arch.Regs) int {
							tos, ips = append(tos, ri.RetAddr), append(ips, regs.IP)
							return 0
						}}
					require.NoError(t, b.e.Kretprobes.Register(x, r))
				}
				callWith(x, outer.at, 7)
				first, second := outer.returns(0), outer.returns(1)
				tramp := b.e.Rethook.trampoline
				require.Equal(t, []arch.Addr{first, first, second, second}, tos)
				switch {
				case b.settings.NopTrampoline():
					require.Equal(t, []arch.Addr{tramp + 1, tramp + 1, tramp + 1, tramp + 1}, ips)
				case t.Edition < rules.Edition65:
					require.Equal(t, []arch.Addr{tramp, tramp, tramp, tramp}, ips)
				default:
					require.Equal(t, tos, ips)
				}
			})
		},
	},
	{
		rule: "2.5", says: "it is as long as was asked for, and zero at first, also in an engine that has run before",
		in:      since(rules.Edition415),
		mutants: []specMutant{{name: "one-data", row: "one-data"}},
		holds: func(t *specT) {
			size := 0
			b := t.bench([]code{victim}, func(b *bench, x *smp.Ctx) {
				r := &Kretprobe{Kprobe: Kprobe{Addr: victim.at}, DataSize: size, Maxactive: 2,
					Entry: func(_ kapi.Context, ri *Instance, _ *arch.Regs) int {
						return 0
					}}
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				for i, ri := range r.holder.all {
					require.Equal(t, make([]byte, size), ri.Data, "instance %d", i)
					copy(ri.Data, bytes.Repeat([]byte{0xa5}, size))
				}
				require.NoError(t, b.e.Kretprobes.Unregister(x, r))
			})
			for _, size = range []int{24, 8, 16} {
				if b.e == nil {
					t.pass(b)
					continue
				}
				d := b.e.d
				b.m.Reset(new(sched.Default))
				b.k.Reset()
				b.locks.Reset()
				clear(b.handed)
				b.e.Renew(d, b.settings)
				require.Equal(t, smp.Passed, b.m.Run())
				b.kept(t)
			}
		},
	},
	{
		rule: "6.1", says: "a return probe that is refused leaves nothing behind", in: since(rules.Edition415),
		mutants: []specMutant{{name: "no-bans", wire: func(_ *kernel.Kernel, d *Deps) {
			d.Symbols = unbanned{d.Symbols}
		}}},
		holds: func(t *specT) {
			b := t.boot([]code{victim}, func(b *bench) {
				b.k.Symbols.Ban(kapi.Function{Addr: victim.at, Size: len(victim.bytes)}, kapi.BanSection)
			}, func(b *bench, x *smp.Ctx) {
				r := &Kretprobe{Kprobe: Kprobe{Addr: victim.at}}
				require.Equal(t, EINVAL, b.e.Kretprobes.Register(x, r))
				require.Nil(t, r.holder)
			})
			t.pass(b) // which looks for what is left
		},
	},
	{
		rule: "6.7", says: "nobody comes to what is handed to call_rcu: a return probe has no handler then, and an instance is in no list", in: []rules.Edition{rules.Edition65, rules.Edition69},
		mutants: []specMutant{{name: "another-generation", do: func(s *Settings) { s.Return = era.ReturnFreelist }}},
		holds: func(t *specT) {
			var seen []string
			b := t.bench([]code{victim}, func(b *bench, x *smp.Ctx) {
				r := retAt(victim, func(kapi.Context, *Instance, *arch.Regs) int { return 0 })
				require.NoError(t, b.e.Kretprobes.Register(x, r))
				callWith(x, victim.at, 1)
				require.NoError(t, b.e.Kretprobes.Unregister(x, r))
			})
			b.wire = func(_ *kernel.Kernel, d *Deps) { d.RCU = seenRCU{d.RCU, &seen} }
			t.pass(b)
			require.Equal(t, []string{"holder, live false"}, seen)
		},
	},
	{
		rule: "3.1", says: "64 bytes of the stack come back, all of them and no more",
		in:      []rules.Edition{rules.Edition26},
		mutants: []specMutant{{name: "no-stack-copy", row: "no-stack-copy"}},
		holds: func(t *specT) {
			t.pass(t.bench(jCodes, func(b *bench, x *smp.Ctx) {
				sp, word := arch.Addr(0), arch.Addr(row32.Word)
				entry := func(x kapi.Context, _ *Jprobe, regs *arch.Regs) {
					sp = x86.SP(regs)
					for i := word; i < 64+word; i += word { // but the return address
						x.Memory().Store(sp+i, row32.Word, 0xdead)
					}
				}
				was, is := make([]uint64, 64/word), make([]uint64, 64/word)
				look := func(to []uint64) PreHandler {
					return func(x kapi.Context, _ *Kprobe, regs *arch.Regs) int {
						for i := range to {
							to[i], _ = x.Memory().Load(x86.SP(regs)+word*arch.Addr(i+1), row32.Word)
						}
						return 0
					}
				}
				require.NoError(t,
					b.e.Jprobes.Register(x, &Jprobe{Kprobe: Kprobe{ID: 1, Addr: sums.at}, Handler: entry}))
				// before the jprobe
				require.NoError(t, b.e.Register(x, &Kprobe{ID: 2, Addr: sums.at, Pre: look(was)}))
				require.NoError(t, b.e.Register(x, &Kprobe{ID: 3, Addr: sums.at + 5, Pre: look(is)})) // behind it
				called(x, gives, 2)
				last := len(was) - 1
				require.Equal(t, was[:last], is[:last])
				require.NotEqual(t, was[last], is[last])
			}))
		},
	},
}

// unbanned is symbols of which nothing is banned.
type unbanned struct{ kapi.Symbols }

func (unbanned) Banned(arch.Addr) kapi.Ban { return kapi.BanNone }

// seenRCU takes down what is handed to call_rcu.
type seenRCU struct {
	kapi.RCU
	seen *[]string
}

func (r seenRCU) Call(x kapi.Context, h kapi.Reclaimer) {
	if i, ok := h.(*holderHead); ok {
		*r.seen = append(*r.seen, fmt.Sprintf("holder, live %v", (*holder)(i).live.Peek()))
	}
	r.RCU.Call(x, h)
}
