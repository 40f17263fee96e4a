package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// lengths are instructions that can be boosted but for their length.
var (
	fits = code{name: "fits", at: textBase + 0x400, bytes: []byte{
		0x48, 0xb8, 10, 0, 0, 0, 0, 0, 0, 0, // movabs $10,%rax
		0xc3, // ret
	}}
	long = code{name: "long", at: textBase + 0x440, bytes: []byte{
		0xc7, 0x84, 0x24, 0, 0xff, 0xff, 0xff, 11, 0, 0, 0, // movl $11,-256(%rsp)
		0xb8, 11, 0, 0, 0, // mov $11,%eax
		0xc3, // ret
	}}
	fixed = code{name: "fixed", at: textBase + 0x480, bytes: []byte{
		0xf7, 0xd7, // not %edi
		0x89, 0xf8, // mov %edi,%eax
		0xc3, // ret
	}}
)

// trapped counts the traps of a hit.
type trapped struct{ breaks, debugs int }

// Event implements traces.Sink.
func (c *trapped) Event(e *traces.Event) *traces.Finding {
	switch e.A {
	case smpev.VecBP:
		c.breaks++
	case smpev.VecDB:
		c.debugs++
	}
	return nil
}

// unpreempted makes the settings those without preemption and jumps; mutants stay.
func (t *specT) unpreempted() {
	t.Settings.Kernel.Preemption, t.Settings.Kernel.Optprobes = false, false
}

// hits calls a function that is probed, and returns the traps of each call.
func (t *specT) hits(f arch.Addr, post bool, calls int, want uint64) (each []trapped) {
	c := new(trapped)
	b := t.bench([]code{victim, other, fits, long, fixed}, func(b *bench, x *smp.Ctx) {
		k := &Kprobe{Addr: f}
		posts := 0
		if post {
			k.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }
		}
		require.NoError(t, b.e.Register(x, k))
		for i := range calls {
			*c = trapped{}
			require.Equal(t, want, callWith(x, f, 7))
			each = append(each, *c)
			b.idle(t, x)
			if post {
				require.Equal(t, i+1, posts)
			}
		}
		require.NoError(t, b.e.Unregister(x, k))
		require.Equal(t, want, callWith(x, f, 7))
	})
	b.log.Subscribe(c, smpev.Trap)
	t.pass(b)
	return each
}

// steppedTraps and boostedTraps are those of a hit: in the edition's way, and with a boost.
func (t *specT) steppedTraps() trapped {
	if t.Edition <= rules.Edition415 {
		return trapped{breaks: 1, debugs: 1}
	}
	return trapped{breaks: 2}
}

var boostedTraps = trapped{breaks: 1}

// wants is how three hits of what can be boosted trap.
func (t *specT) wants() []trapped {
	s := t.steppedTraps()
	switch t.Edition {
	case rules.Edition26: // of x86-64 none; of i386 by the step
		return []trapped{s, by32(s, boostedTraps), by32(s, boostedTraps)}
	case rules.Edition415: // by the step
		return []trapped{s, boostedTraps, boostedTraps}
	}
	return []trapped{boostedTraps, boostedTraps, boostedTraps}
}

var boosts26 = specMutant{name: "boosts", do: func(s *Settings) {
	s.Boost = era.BoostPrepare
}, in: []rules.Edition{rules.Edition26}}

// specBoost is how a step is saved.
var specBoost = []specRule{
	{
		rule: "8.5", says: "a copy that a jump can follow isn't stepped",
		x86: ofBoosting,
		mutants: []specMutant{
			boosts26,
			{name: "boosts-never", do: func(s *Settings) { s.Boost = era.BoostNever }, in: since(rules.Edition415)},
		},
		holds: func(t *specT) {
			t.unpreempted()
			require.Equal(t, t.wants(), t.hits(victim.at, false, 3, 10))
			require.Equal(t, t.wants(), t.hits(fits.at, false, 3, 10), "a jump has room behind ten bytes")
		},
	},
	{
		rule: "8.5", says: "it is where the copy and the jump don't fit the slot, and where the copy can't be left alone",
		x86: ofBoosting,
		mutants: []specMutant{
			{name: "boost-any", row: "boost-any", in: since(rules.Edition415)},
			{name: "boost-any", row: "boost-any", do: func(s *Settings) {
				s.Boost = era.BoostPrepare
			}, in: []rules.Edition{rules.Edition26}},
		},
		holds: func(t *specT) {
			t.unpreempted()
			s := t.steppedTraps()
			require.Equal(t, []trapped{s, s}, t.hits(long.at, false, 2, 11))
			require.Equal(t, t.movesGroups(s), t.hits(fixed.at, false, 2, 0xfffffff8))
		},
	},
	{
		rule: "8.5", says: "never under CONFIG_PREEMPTION",
		x86: ofBoosting,
		mutants: []specMutant{
			{name: "boost-preempt", row: "boost-preempt", in: since(rules.Edition415)},
			{name: "boost-preempt", row: "boost-preempt", do: func(s *Settings) { s.Boost = era.BoostPrepare },
				in: []rules.Edition{rules.Edition26}},
		},
		holds: func(t *specT) {
			t.unpreempted()
			t.Settings.Kernel.Preemption = true
			s := t.steppedTraps()
			require.Equal(t, []trapped{s, s, s}, t.hits(victim.at, false, 3, 10))
		},
	},
	{
		rule: "8.5", says: "never with a post_handler, though it come later",
		x86: ofBoosting,
		mutants: []specMutant{
			{name: "boost-post", row: "boost-post", in: since(rules.Edition415)},
			{name: "boost-post", row: "boost-post", do: func(s *Settings) {
				s.Boost = era.BoostStepped
			}, in: []rules.Edition{rules.Edition26}},
		},
		holds: func(t *specT) {
			t.unpreempted()
			s := t.steppedTraps()
			require.Equal(t, []trapped{s, s, s}, t.hits(victim.at, true, 3, 10))
			t.joins()
		},
	},
}

// movesGroups is how two hits of a not trap: until 6.5 it isn't among what can be
// boosted.
func (t *specT) movesGroups(s trapped) []trapped {
	if t.Edition == rules.Edition69 {
		return []trapped{boostedTraps, boostedTraps}
	}
	return []trapped{s, s}
}

// joins has a probe with a post_handler join one that is boosted, and leave.
func (t *specT) joins() {
	for _, f := range []code{victim, other} { // other's first instruction is emulated where it isn't boosted
		want := uint64(10)
		if f.at == other.at {
			want = 2
		}
		b := t.bench([]code{victim, other}, func(b *bench, x *smp.Ctx) {
			pres, posts := 0, 0
			first := &Kprobe{Addr: f.at, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { pres++; return 0 }}
			second := &Kprobe{Addr: f.at, Post: func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }}
			call := func(pre, post int) {
				pres, posts = 0, 0
				for range 3 {
					require.Equal(t, want, callWith(x, f.at, 7))
					b.idle(t, x)
				}
				require.Equal(t, []int{pre, post}, []int{pres, posts})
			}
			for range 2 {
				require.NoError(t, b.e.Register(x, first))
				call(3, 0)
				require.NoError(t, b.e.Register(x, second))
				call(3, 3)
				require.NoError(t, b.e.Unregister(x, second))
				call(3, 0)
				require.NoError(t, b.e.Unregister(x, first))
				call(0, 0)
			}
		})
		t.pass(b)
	}
}

// TestSteppings: the boost is a setting of its own, for each way to step.
func TestSteppings(t *testing.T) {
	for _, step := range []era.Step{era.StepInt3, era.StepDebug} {
		for _, boost := range []era.Boost{era.BoostPrepare, era.BoostStepped, era.BoostNever} {
			for _, ed := range rules.AllEditions() {
				s := settingsOf(ed, false)
				s.Step, s.Boost, s.Kernel.Optprobes = step, boost, false
				st := &specT{TB: t, Edition: ed, Settings: s}
				st.hits(victim.at, false, 3, 10)
				st.hits(other.at, true, 3, 2)
				if ed != rules.Edition26 {
					st.joins()
				}
				require.Empty(t, st.broken)
			}
		}
	}
}
