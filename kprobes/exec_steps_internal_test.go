package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// A stepping is a way to get past a probed instruction.
type stepping struct {
	name string
	s    Settings
}

// steppings are those of the editions, built with preemption and without, and
// that of 2.6 on i386, which boosts. Jumps are left out.
func steppings() (all []stepping) {
	add := func(name string, s Settings) {
		s.Kernel.Optprobes = false
		all = append(all, stepping{name, s})
	}
	for _, ed := range []rules.Edition{rules.Edition26, rules.Edition415, rules.Edition514, rules.Edition69} { // the others step as 5.14 does
		add(ed.String(), settingsOf(ed, true))
		add(ed.String()+", no preemption", settingsOf(ed, false))
	}
	i386 := settingsOf(rules.Edition26, false)
	i386.Boost = era.BoostStepped
	add("2.6, boosted", i386)
	return all
}

// TestExecSteps calls the functions of the rows in all editions. The rows are of
// two; what their callers saw holds in all (spec 1.2 to 1.4). Each function is
// called twice with each argument: the second time a slot may be boosted.
func TestExecSteps(t *testing.T) {
	groups := append(readExec(t, "k61", "exec_asm"), readExec(t, "k61", "exec_c")...)
	codes, at := oracleCodes(t, "k61", "hand")
	for _, way := range steppings() {
		t.Run(way.name, func(t *testing.T) {
			boosted, emulated, stepped := 0, 0, 0
			b := newBench(t, way.s, codes, func(b *bench, x *smp.Ctx) {
				for _, g := range groups {
					if notExecuted[g.function] == "" && g.errno == 0 && g.mode != "opt" && !g.ftrace {
						slot, ok := b.steps(t, x, at[g.function], g)
						switch {
						case !ok:
						case slot.boosted:
							boosted++
						case slot.at == 0:
							emulated++
						default:
							stepped++
						}
					}
				}
			})
			require.Equal(t, smp.Passed, b.run(new(sched.Default)), "%v", b.m.Refusal())
			require.Equal(t, way.s.Step == era.StepInt3, emulated > 0)
			require.Equal(t, !way.s.Kernel.Preemption && way.s.Boost != era.BoostNever, boosted > 0)
			require.Greater(t, stepped, 100)
		})
	}
}

// steps makes the calls of a group without its probe and with it, and returns
// what became of the slot.
func (b *bench) steps(t *testing.T, x *smp.Ctx, f arch.Addr, g *execGroup) (_ insnSlot, registered bool) {
	var pre, post, preOff, postOff int
	var preFlags, postFlags uint64
	back, to, gate := arch.Addr(0), uint64(0), arch.Addr(x.Regs().R[x86.RSP]&^15-8)
	k := &Kprobe{Addr: f + arch.Addr(g.offset), Pre: func(_ kapi.Context, _ *Kprobe, r *arch.Regs) int {
		if pre++; pre == 1 {
			preOff, preFlags = int(r.IP-f), r.Flags&execFlags
			to, _ = x.Memory().Load(gate, 8) // the trap that a stepped ret ends with lies over it
		}
		require.Less(t, pre, 100, "%s: it doesn't end", g.at())
		return 0
	}}
	if g.mode == "post" {
		k.Post = func(_ kapi.Context, _ *Kprobe, r *arch.Regs, flags uint64) {
			if post++; post == 1 {
				postOff, postFlags, back = int(r.IP-f), r.Flags&execFlags, r.IP
			}
			require.Zero(t, flags)
		}
	}
	unprobed := make([]uint64, len(g.rows))
	for i, r := range g.rows {
		unprobed[i] = callExec(x, f, r.arg, 0)
	}
	err := b.e.Register(x, k)
	if err == EILSEQ { // until 6.1 nothing can be probed behind an int3 of somebody else's
		var code [256]byte
		b.k.Text.Read(x, f, code[:g.offset])
		require.Contains(t, string(code[:g.offset]), "\xcc", g.at())
		require.Contains(t, []rules.Edition{rules.Edition415, rules.Edition514}, b.settings.Kernel.Edition)
		return insnSlot{}, false
	}
	require.NoError(t, err, g.at())
	for range 2 {
		for i, r := range g.rows {
			pre, post, preOff, postOff, preFlags, postFlags = 0, 0, -1, -1, 0, 0
			got := callExec(x, f, r.arg, 0)
			if g.function == "x_rip_self" { // it returns its first bytes
				got, unprobed[i] = got&^0xff, unprobed[i]&^0xff
			}
			require.Equal(t, unprobed[i], got, "%s %s, arg %d", g.at(), g.mode, r.arg)
			want := r.want
			if want.toCaller {
				require.Equal(t, arch.Addr(to), back, g.at())
				want.postOff = postOff
			}
			if kernelsLoops[g.at()] {
				want.pre--
				if want.post > 0 {
					want.post--
				}
				if want.post == 1 {
					want.postOff = g.offset + 2
				}
			}
			require.Equal(t, []int{want.pre, want.post, want.preOff, want.postOff}, []int{pre, post, preOff, postOff},
				"%s %s, arg %d", g.at(), g.mode, r.arg)
			require.Equal(t, []uint64{want.preFlags, want.postFlags}, []uint64{preFlags, postFlags}, "%s %s: flags", g.at(), g.mode)
			require.Nil(t, b.e.Hits.kcb.This(x).current, g.at())
			require.NotZero(t, x.Regs().Flags&x86.IF, g.at())
		}
	}
	s := k.aggr.slot.Peek()
	require.NoError(t, b.e.Unregister(x, k))
	return s, true
}

// TestMaskedStep: what follows mov to ss is stepped with it, for the trap comes
// one instruction late; 2.6, which alone takes such a probe, has copied that, too.
func TestMaskedStep(t *testing.T) {
	f := code{name: "stacked", at: textBase, bytes: []byte{
		0x8c, 0xd0, // mov %ss,%eax
		0x8e, 0xd0, // mov %eax,%ss
		0x48, 0x89, 0xf8, // mov %rdi,%rax
		0xc3, // ret
	}}
	for _, ed := range every {
		b := newBench(t, settingsOf(ed, true), []code{f}, func(b *bench, x *smp.Ctx) {
			var next []arch.Addr
			k := &Kprobe{Addr: f.at + 2, Post: func(_ kapi.Context, _ *Kprobe, r *arch.Regs, _ uint64) { next = append(next, r.IP-f.at) }}
			err := b.e.Register(x, k)
			if ed != rules.Edition26 {
				require.Equal(t, EINVAL, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, uint64(7), callWith(x, f.at, 7))
			require.Equal(t, []arch.Addr{7}, next)
			b.idle(t, x)
		})
		b.pass(t)
	}
}
