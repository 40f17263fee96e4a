package viewer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// What differs between two versions, put over the first, is the second.
func TestDifference(t *testing.T) {
	for _, test := range []struct {
		a, b string
		off  int
		want string
	}{
		{"55 48 89", "cc 48 89", 0, "cc"},
		{"55 48 89", "55 48 cc", 2, "cc"},
		{"55 48 89", "cc 48 cc", 0, "cc 48 cc"},
		{"55 48 89", "55 48 89", 3, ""},
		{"55", "55 48", -1, "55 48"},
		{"", "", 0, ""},
		{"55 48", "", -1, ""},
		{"?? ??", "?? cc", 1, "cc"},
	} {
		off, got := difference(test.a, test.b)
		require.Equal(t, test.off, off, "%+v", test)
		require.Equal(t, test.want, got, "%+v", test)
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"55", "cc", "??"}), 0, 8)
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		off, text := difference(strings.Join(a, " "), strings.Join(b, " "))
		if off < 0 {
			require.NotEqual(t, len(a), len(b))
			require.Equal(t, strings.Join(b, " "), text)
			return
		}
		require.Len(t, b, len(a))
		copy(a[off:], strings.Fields(text))
		require.Equal(t, b, a)
	})
}

// encoded is what a page's script is given.
type encoded struct {
	Strings                             []string
	Cpus, Violation                     int
	Cpu, Task, Kind, Class, Says, Depth []int
	Seq, Time, Clock                    []int64
	Spans, Arrows, Stands, Bands        [][]int
	Folds, Calls, Chains                [][]int
	Frames, Symbols                     [][]any
	Name, About, Banner, Headline       string
	Turns                               []struct {
		Step        int
		Line, Words string
	}
	Story []struct {
		Step int
		Text string
	}
	Texts []struct {
		Name, At string
		Site     bool
		Versions [][]any
		Sights   [][]int
	}
}

func encodedOf(t testing.TB, r *Run) *encoded {
	t.Helper()
	b, err := json.Marshal(encode(r))
	require.NoError(t, err)
	e := new(encoded)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(e))
	return e
}

// Columns hold what the scene does: texts once, what goes up as differences.
func TestEncode(t *testing.T) {
	step := func(seq uint32, cpu, task uint8, kind traces.Kind, says string, clock, time uint64) view.Step {
		return view.Step{Event: traces.Event{Seq: seq, CPU: cpu, Task: task, Kind: kind}, Says: says, Clock: clock,
			Time: time, Depth: int(seq) % 2}
	}
	s := &view.Scene{
		Headline: "T1 torn", CPUs: 2, Violation: 2,
		Steps: []view.Step{
			step(6, 0, 1, smpev.Exec, "  f+0x0: push", 90, 90), step(7, 1, 0, kpev.Arm, "arm f", 40, 91),
			step(11, view.Machine, traces.NoTask, smpev.Exec, "f+0x0: push", 0, 92),
		},
		Spans: []view.Span{{Kind: view.SpanTask, CPU: 1, Task: "prober", Says: "prober", From: 0, To: 2},
			{Kind: view.SpanTrap, CPU: 1, Task: "prober", Says: "#BP", From: 1, To: 2, Depth: 3}},
		Arrows: []view.Arrow{{Kind: "ipi", From: 0, To: 2}},
		Texts: []view.Patch{
			{Name: "f+0x0", At: 0x1000, Len: 2, Site: true,
				Versions: []view.Version{{Step: -1, Bytes: "55 90", Listing: "push"},
					{Step: 1, Bytes: "cc 90", Listing: "int3"}},
				Sights: []view.Sight{{Step: -1, CPU: 1, Bytes: "55 90"}}},
			{Name: "slot", At: 0x2000, Len: 2, Versions: []view.Version{{Step: 0, Bytes: "?? ??", Listing: "(unknown)"},
				{Step: 1, Bytes: "55 ??", Listing: "push"}, {Step: 3, Bytes: "55 cc", Listing: "push; int3"},
				{Step: 4, Bytes: "cc cc", Gone: true}}},
		},
		Stands: []view.Stand{{Step: 1, Task: 1, CPU: -1,
			At: []view.Place{{Patch: 0, Off: 1, Ran: "90", Insn: "nop"}, {Patch: 1, Off: 0, Trap: "NMI"}}},
			{Step: 2, Task: 0, CPU: 1}},
		Symbols: []view.Symbol{{Name: "f", At: 0xfffffffffffff000, Len: 3}},
		Bands:   []view.Band{{At: 0x1000, Place: "f+0x0", State: "armed", From: 1, To: 2}},
		Deviations: []view.Turn{{Deviation: traces.Deviation{Mover: "cpu1", Name: "idle", Occ: 1, Alt: "cpu0"},
			Step: 1}},
		Story: []view.Told{{Step: 2, Text: "It came so."}},
	}
	e := encodedOf(t, &Run{Name: "a", About: "b", Banner: "c", Scene: s, Task: func(id uint64) string {
		return []string{"idle/0", "prober"}[id]
	}})
	text := func(list []int) (texts []string) {
		for _, i := range list {
			texts = append(texts, e.Strings[i])
		}
		return texts
	}
	require.Equal(t, []string{"a", "b", "c", "T1 torn"}, []string{e.Name, e.About, e.Banner, e.Headline})
	require.Equal(t, []int{2, 2}, []int{e.Cpus, e.Violation})
	require.Equal(t, []int{0, 1, view.Machine}, e.Cpu)
	require.Equal(t, []string{"prober", "idle/0", ""}, text(e.Task))
	require.Equal(t, []string{"Exec", "Arm", "Exec"}, text(e.Kind))
	require.Equal(t, []string{"f+0x0: push", "arm f", "f+0x0: push"}, text(e.Says))
	require.Equal(t, e.Says[0], e.Says[2], "the same text once")
	require.Equal(t, []int64{6, 1, 4}, e.Seq)
	require.Equal(t, []int64{90, 1, 1}, e.Time)
	require.Equal(t, []int64{0, 51, 92}, e.Clock, "how far it is behind the run's time")
	require.Equal(t, []int{0, 1, 1}, e.Depth)
	require.Equal(t, []int{1, 2, 3}, e.Spans[1][4:])
	require.Equal(t, []string{"trap", "prober", "#BP"}, text([]int{e.Spans[1][0], e.Spans[1][2], e.Spans[1][3]}))
	require.Equal(t, 1, e.Spans[1][1])
	require.Equal(t, []int{0, 2}, e.Arrows[0][1:])
	require.Equal(t, [][]int{{1, e.Stands[0][1], -1, 0, 1, e.Stands[0][5], e.Stands[0][6], e.Stands[0][7], 1, 0,
		e.Stands[0][10], e.Stands[0][11], e.Stands[0][12]}, {2, e.Stands[1][1], 1}}, e.Stands)
	require.Equal(t, []string{"prober", "90", "nop", "", "", "", "NMI", "idle/0"},
		text([]int{e.Stands[0][1], e.Stands[0][5], e.Stands[0][6], e.Stands[0][7], e.Stands[0][10],
			e.Stands[0][11], e.Stands[0][12], e.Stands[1][1]}))
	require.Equal(t, [][]any{{"f", "0xfffffffffffff000", 3.0}}, e.Symbols)
	require.Equal(t, []string{"f+0x0", "armed"}, text(e.Bands[0][:2]))
	require.Equal(t, []int{1, 2}, e.Bands[0][2:])
	require.Equal(t, "cpu0 goes on while cpu1 stands in idle", e.Turns[0].Words)
	require.Equal(t, s.Deviations[0].String(), e.Turns[0].Line)
	require.Equal(t, "It came so.", e.Story[0].Text)

	listings := func(i int) (list []string) {
		for _, v := range e.Texts[i].Versions {
			list = append(list, e.Strings[int(v[3].(float64))])
		}
		return list
	}
	require.Equal(t, "0x1000", e.Texts[0].At)
	require.Equal(t, []any{1.0, 0.0, "cc"}, e.Texts[0].Versions[1][:3])
	require.Equal(t, []string{"push", "int3"}, listings(0))
	require.Equal(t, [][]int{{-1, 1, e.Texts[0].Sights[0][2]}}, e.Texts[0].Sights)
	require.Equal(t, "55 90", e.Strings[e.Texts[0].Sights[0][2]])
	require.Equal(t, []string{"", "push", "push; int3", ""}, listings(1), "none while it is being filled")
	require.Equal(t, 1.0, e.Texts[1].Versions[3][4])
	require.Equal(t, 0.0, e.Texts[1].Versions[2][4])
}

// Whatever names there are, they are text, and the policy names the script that is there.
func TestWrite(t *testing.T) {
	evil := "</script><script>alert(1)</script><!-- \u2028 & \" ' {{.}}"
	s := &view.Scene{CPUs: 1, Violation: -1, Headline: evil, Steps: []view.Step{{Says: evil}},
		Story: []view.Told{{Text: evil}}}
	p := &Page{Title: evil, Command: evil,
		Runs: []Run{{Name: evil, About: evil, Banner: evil, Scene: s, Task: func(uint64) string {
			return evil
		}}}}
	var b, again bytes.Buffer
	require.NoError(t, Write(&b, p))
	require.NoError(t, Write(&again, p))
	require.Equal(t, b.String(), again.String())
	text := b.String()
	require.Equal(t, 2, strings.Count(text, "<script"))
	require.Equal(t, 2, strings.Count(text, "</script>"))
	require.NotContains(t, text, "<!--")
	require.Contains(t, text, script())
	require.Regexp(t, `script-src &#39;sha256-[A-Za-z0-9+/=&#;]+&#39;`, text)
	require.NotRegexp(t, `https?://|@import|\bsrc=|<link [^>]*href="[^d]`, text)
	require.NotContains(t, text, "ZgotmplZ")

	full := errorWriter{}
	require.Error(t, Write(full, p))
}

type errorWriter struct{}

func (errorWriter) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }
