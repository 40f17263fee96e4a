package kprobes

import (
	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

var jText = textBase + 0x800

var (
	jprobeReturn = exported("jprobe_return")

	// sums returns the sum of its first argument, its seventh, on the stack, and its
	// fifteenth, which is the first word behind the 64 bytes that are kept.
	sums = text("sums", jText, 0x48, 0x8b, 0x44, 0x24, row32.Word, 0x48, 0x01, 0xf8, 0x48, 0x03, 0x44, 0x24, 0x40, 0xc3)
	// gives calls sums with 40 and, far down the stack, 300.
	gives = text("gives", jText+0x40,
		0x68, 0x2c, 0x01, 0, 0, // push $300
		0x48, 0x83, 0xec, 64-2*row32.Word, // sub $48,%rsp
		0x6a, 0x28, // push $40
		callTo(jText),
		0x48, 0x83, 0xc4, 0x40, // add $64,%rsp
		0xc3)
	// spoils is a jprobe's entry: it changes what it has been given.
	spoils = text("spoils", jText+0x80,
		0x48, 0x31, 0xff, // xor %rdi,%rdi
		0x48, 0x31, 0xdb, // xor %rbx,%rbx
		0x48, 0xc7, 0x44, 0x24, row32.Word, 0, 0, 0, 0, // movq $0,8(%rsp)
		callTo(jprobeReturn))
	// stays is one that does nothing.
	stays = text("stays", jText+0xc0, callTo(jprobeReturn))

	jCodes = []code{sums, gives, spoils, stays, victim}
)

// spec3 is section 3 of the specification: jprobes.
var spec3 = []specRule{
	{
		rule: "3.1", says: "the entry's changes of registers and stack are undone",
		in: []rules.Edition{rules.Edition26},
		mutants: []specMutant{
			{name: "no-stack-copy", row: "no-stack-copy"},
			{name: "no-regs-copy", row: "no-regs-copy"},
		},
		holds: func(t *specT) {
			t.pass(t.bench(jCodes, func(b *bench, x *smp.Ctx) {
				before := x.Open()
				j := &Jprobe{Kprobe: Kprobe{ID: 1, Addr: sums.at}, Entry: spoils.at}
				require.NoError(t, b.e.Jprobes.Register(x, j))
				for range 2 {
					x.Regs().R[x86.RBX] = 5
					require.EqualValues(t, 342, called(x, gives, 2))
					require.EqualValues(t, 5, x.Thread().Left().R[x86.RBX])
					require.Zero(t, x.Thread().Left().R[row32.SP])
				}
				require.Equal(t, before, x.Open())
				require.Zero(t, x.Thread().PreemptCount())
				require.Nil(t, b.e.Hits.kcb.This(x).current)
				require.NoError(t, b.e.Jprobes.Unregister(x, j))
				require.EqualValues(t, 342, called(x, gives, 2))
			}))
		},
	},
	{
		rule: "3.1", says: "arguments in registers and on the stack, 64 bytes of it kept",
		in:      []rules.Edition{rules.Edition26},
		mutants: []specMutant{{name: "no-stack-copy", row: "no-stack-copy"}},
		holds: func(t *specT) {
			t.pass(t.bench(jCodes, func(b *bench, x *smp.Ctx) {
				runs := 0
				j := &Jprobe{Kprobe: Kprobe{ID: 1, Symbol: "sums"},
					Handler: func(x kapi.Context, j *Jprobe, regs *arch.Regs) {
						runs++
						require.False(t, x.(*smp.Ctx).Open())
						require.EqualValues(t, 2, regs.R[arg0])
						word := arch.Addr(row32.Word)
						arg, _ := x.Memory().Load(x86.SP(regs)+word, row32.Word)
						require.EqualValues(t, 40, arg)
						regs.R[arg0] = 9
						for off := word; off < 64+word; off += word {
							x.Memory().Store(x86.SP(regs)+off, row32.Word, 7)
						}
					}}
				require.NoError(t, b.e.Jprobes.Register(x, j))
				require.EqualValues(t, 2+40+7, called(x, gives, 2), "the word behind the 64 bytes isn't put back")
				require.Equal(t, 1, runs)
			}))
		},
	},
	{
		rule: "3.1", says: "at a function's first instruction", in: []rules.Edition{rules.Edition26},
		mutants: []specMutant{{name: "anywhere", row: "anywhere"}},
		holds: func(t *specT) {
			t.pass(t.bench(jCodes, func(b *bench, x *smp.Ctx) {
				require.Equal(t, EINVAL,
					b.e.Jprobes.Register(x, &Jprobe{Kprobe: Kprobe{Addr: sums.at + 5}, Entry: stays.at}))
				require.Equal(t, EINVAL, b.e.Jprobes.Register(x, &Jprobe{Kprobe: Kprobe{Addr: sums.at}}), "no entry")
			}))
		},
	},
	{
		rule: "3.2", says: "one jprobe a function, other probes beside it", in: []rules.Edition{rules.Edition26},
		mutants: []specMutant{{name: "two-jprobes", row: "two-jprobes"}},
		holds: func(t *specT) {
			t.pass(t.bench(jCodes, func(b *bench, x *smp.Ctx) {
				got := ""
				handler := func(kapi.Context, *Jprobe, *arch.Regs) { got += "j" }
				j := &Jprobe{Kprobe: Kprobe{ID: 1, Addr: victim.at}, Handler: handler}
				require.NoError(t, b.e.Jprobes.Register(x, j))
				require.Equal(t, EEXIST,
					b.e.Jprobes.Register(x, &Jprobe{Kprobe: Kprobe{ID: 2, Addr: victim.at}, Handler: handler}))
				require.NoError(t,
					b.e.Kretprobes.Register(x, retAt(victim, func(kapi.Context, *Instance, *arch.Regs) int { got += "r"; return 0 })))
				require.NoError(t, b.e.Register(x, &Kprobe{ID: 3, Addr: victim.at,
					Pre:  func(kapi.Context, *Kprobe, *arch.Regs) int { got += "k"; return 0 },
					Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { got += "p" }}))
				require.EqualValues(t, 10, called(x, victim, 7))
				require.Equal(t, "kjpr", got)
				require.NoError(t, b.e.Jprobes.Unregister(x, j))
				got = ""
				require.EqualValues(t, 10, called(x, victim, 7))
				require.Equal(t, "kpr", got)
				require.NoError(t, b.e.Jprobes.Register(x, j))
			}))
		},
	},
	{
		rule: "3.3", says: "jprobe_return traps, and the function runs as if nothing had been",
		in:      []rules.Edition{rules.Edition26},
		mutants: []specMutant{{name: "no-break", row: "no-break"}},
		holds: func(t *specT) {
			for _, n := range []int{1, 2} { // CPUs
				calls := func(b *bench, x *smp.Ctx) {
					for i := range uint64(4) {
						require.EqualValues(t, 340+i, called(x, gives, i))
					}
				}
				programs := []func(b *bench, x *smp.Ctx){func(b *bench, x *smp.Ctx) {
					j := &Jprobe{Kprobe: Kprobe{ID: 1, Addr: sums.at}, Entry: spoils.at}
					for range 2 {
						require.NoError(t, b.e.Jprobes.Register(x, j))
						calls(b, x)
						require.NoError(t, b.e.Jprobes.Unregister(x, j))
					}
				}, calls}
				b := t.bench(jCodes, programs[:n]...)
				s := sched.NewSticky(sched.Params{Seed: 1, Mean: 6})
				for i := range uint64(100) {
					s.Begin(i)
					require.Equal(t, smp.Passed, b.run(s), "schedule %d: %v", i, b.m.Refusal())
				}
			}
		},
	},
	{
		rule: "3.3", says: "a probe hit from inside a jprobe's entry is nested", in: []rules.Edition{rules.Edition26},
		mutants: []specMutant{{name: "no-break", row: "no-break"}},
		holds: func(t *specT) {
			t.pass(t.bench(jCodes, func(b *bench, x *smp.Ctx) {
				hits := 0
				k := &Kprobe{ID: 3, Addr: victim.at, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { hits++; return 0 }}
				require.NoError(t, b.e.Register(x, k))
				require.NoError(t,
					b.e.Jprobes.Register(x, &Jprobe{Kprobe: Kprobe{ID: 1, Addr: sums.at},
						Handler: func(x kapi.Context, _ *Jprobe, _ *arch.Regs) {
							require.EqualValues(t, 8, called(x.(*smp.Ctx), victim, 5))
						}}))
				require.EqualValues(t, 342, called(x, gives, 2))
				require.Equal(t, []int{0, 1}, []int{hits, k.Missed()})
				require.EqualValues(t, 8, called(x, victim, 5))
				require.Equal(t, 1, hits)
			}))
		},
	},
}
