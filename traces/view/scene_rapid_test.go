package view_test

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// drawn is a log of events, in any order, that no machine may ever emit: of two CPUs
// and the machine, few tasks, and arguments that make sense for most kinds.
func drawn(t *rapid.T) *tracetest.Trace {
	tr := begin()
	word := rapid.SampledFrom([]uint64{
		0, 1, 2, 3, 4, 5, 6, 7, f, f + 1, f + 4, f + 5, slots, slots + 1, detour, kernel,
		smpev.VecCall, smpev.VecResch, smpev.VecTimer, 0x90cc, 1<<56 | 0x90, 5 << 56, 0x80, 20,
	})
	kinds := rapid.OneOf(
		rapid.SampledFrom([]traces.Kind{smpev.Trap, smpev.Return, smpev.Switch, smpev.Exec, smpev.SendIPI,
			smpev.Serialise, smpev.Lock, smpev.Unlock, smpev.TextStore, smpev.Image, smpev.Alloc, smpev.Free}),
		rapid.Map(rapid.IntRange(int(smpev.Load), int(smpev.Due)), func(n int) traces.Kind { return traces.Kind(n) }),
		rapid.Map(rapid.IntRange(int(kpev.ApiEnter), int(kpev.Returner)), func(n int) traces.Kind {
			return traces.Kind(n)
		}),
	)
	task := rapid.SampledFrom([]uint8{0, 1, prober, caller, optimizer, traces.NoTask})
	for range rapid.IntRange(0, 60).Draw(t, "events") {
		k, a, b, c := kinds.Draw(t, "kind"), word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		switch k {
		case smpev.TextStore:
			c = 1 + c%8
		case smpev.Load, smpev.Image, smpev.Exec:
			c = c<<8>>8 | (1+c%15)<<56
		case smpev.Alloc, smpev.Free:
			a, b = []uint64{slots, slots + 1, detour}[a%3], b%32
		case smpev.Fire:
			a = 0x80 + a%3
		case smpev.Return:
			c %= 4
		}
		cpu := rapid.SampledFrom([]uint8{0, 1, view.Machine}).Draw(t, "cpu")
		if cpu == view.Machine && (k == smpev.Switch || k == smpev.Exec || k == smpev.Trap || k == smpev.Return) {
			cpu = 0
		}
		tr.On(cpu, task.Draw(t, "task")).Emit(k, a, b, c)
	}
	return tr
}

// For any events, a scene is consistent: its references are valid, in order, and spans
// of one lane don't overlap.
func TestSceneOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawn(t)
		s := lay(tr)
		n := len(s.Steps)
		last := uint64(0)
		for i := range s.Steps {
			require.GreaterOrEqual(t, s.Steps[i].Time, last)
			last = s.Steps[i].Time + 1
		}
		step := func(i int) {
			require.GreaterOrEqual(t, i, 0)
			require.Less(t, i, n)
		}
		on := make(map[int]int) // where the task span of each CPU ends
		for _, p := range s.Spans {
			step(p.From)
			step(p.To)
			require.LessOrEqual(t, p.From, p.To)
			if p.Kind == view.SpanTask {
				require.GreaterOrEqual(t, p.From, on[p.CPU])
				on[p.CPU] = p.To
			}
		}
		require.True(t, slices.IsSortedFunc(s.Spans, func(a, b view.Span) int { return a.From - b.From }))
		require.True(t, slices.IsSortedFunc(s.Arrows, func(a, b view.Arrow) int { return a.From - b.From }))
		for _, a := range s.Arrows {
			step(a.From)
			step(a.To)
			require.Less(t, a.From, a.To)
		}
		for i := range s.Texts {
			p := &s.Texts[i]
			require.NotEmpty(t, p.Versions)
			for k, v := range p.Versions {
				require.Less(t, v.Step, n)
				require.True(t, k == 0 || p.Versions[k-1].Step < v.Step)
			}
		}
		for i, b := range s.Bands {
			step(b.From)
			step(b.To)
			if i > 0 && s.Bands[i-1].At == b.At {
				require.Equal(t, s.Bands[i-1].To, b.From)
			}
		}
		require.True(t, slices.IsSortedFunc(s.Bands, func(a, b view.Band) int { return cmp.Compare(a.At, b.At) }))
		for _, v := range s.Stands {
			step(v.Step)
			require.Less(t, v.CPU, s.CPUs)
			for _, at := range v.At {
				list := s.Texts[at.Patch].Versions
				now := sort.Search(len(list), func(i int) bool { return list[i].Step > v.Step }) - 1
				require.Less(t, at.Off, len(strings.Fields(list[now].Bytes)))
			}
		}
	})
}

// Traps that return in their order nest within each other and in their task's span,
// whatever task switches come between.
func TestSceneNests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := begin()
		type cpu struct{ task uint8 }
		on := [2]cpu{{prober}, {1}}
		depth := map[uint8]int{}
		idle := []uint8{caller, optimizer}
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			c := rapid.IntRange(0, 1).Draw(t, "cpu")
			h := tr.On(uint8(c), on[c].task)
			switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
			case what == 0 && depth[on[c].task] < 4:
				h.Trap(smpev.VecTimer, f)
				depth[on[c].task]++
			case what == 1 && depth[on[c].task] > 0:
				h.Return(smpev.VecTimer, f)
				depth[on[c].task]--
			case what == 2:
				i := rapid.IntRange(0, len(idle)-1).Draw(t, "next")
				h.Emit(smpev.Switch, uint64(on[c].task), uint64(idle[i]), 0)
				on[c].task, idle[i] = idle[i], on[c].task
			default:
				h.Exec(f, 0x55)
			}
		}
		tr.On(view.Machine, traces.NoTask).Emit(smpev.MightSleep, 0, 0, 0) // behind all that begins
		s := lay(tr)
		for cpu := range s.CPUs {
			var open []view.Span
			for _, p := range s.Spans {
				if p.CPU != cpu {
					continue
				}
				for len(open) > 0 && open[len(open)-1].To <= p.From {
					open = open[:len(open)-1]
				}
				if p.Kind == view.SpanTask {
					require.Empty(t, open)
				} else {
					require.Len(t, open, p.Depth+1, "%+v", p)
					require.LessOrEqual(t, p.To, open[len(open)-1].To)
					require.Equal(t, open[0].Task, p.Task)
				}
				open = append(open, p)
			}
		}
	})
}
