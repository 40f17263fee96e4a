package viewer_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/viewer"
	"kpsim/traces/view"
)

// The script makes of its data what the scene is.
func TestRestored(t *testing.T) {
	for _, r := range []viewer.Run{witness(t, "T1-no-sync-1"), witness(t, "S1-cancel-rcu-pages"),
		long(t, thorough.Of(500, 2000))} {
		file, _ := page(t, r)
		p := open(t, file, desk)
		s := r.Scene
		type restored struct {
			Seq         []uint32
			Time, Clock []uint64
			Says        []string
			Bytes       [][]string
			Since       [][][]int
		}
		got := js[restored](p, `(r => ({
			Seq: r.seq, Time: r.time, Clock: r.clock, Says: r.says.map(i => r.text(i)),
			Bytes: r.texts.map(t => t.bytes.map(b => b.join(" "))), Since: r.texts.map(t => t.since),
		}))(kpsim.viewers[0].run)`)
		want := restored{}
		for i := range s.Steps {
			q := &s.Steps[i]
			want.Seq, want.Time, want.Clock, want.Says = append(want.Seq, q.Event.Seq), append(want.Time, q.Time),
				append(want.Clock, q.Clock), append(want.Says, strings.TrimSpace(q.Says))
		}
		for i := range s.Texts {
			var list []string
			for _, v := range s.Texts[i].Versions {
				list = append(list, v.Bytes)
			}
			want.Bytes = append(want.Bytes, list)
		}
		since := got.Since
		got.Since = nil
		require.Equal(t, want, got)
		for i := range s.Texts {
			for v, list := range since[i] { // the version that brought a byte is the last that changed it
				now := strings.Fields(s.Texts[i].Versions[v].Bytes)
				for k, from := range list {
					for w := from; w <= v; w++ {
						require.Equal(t, now[k], strings.Fields(s.Texts[i].Versions[w].Bytes)[k])
					}
					if from > 0 {
						was := strings.Fields(s.Texts[i].Versions[from-1].Bytes)
						require.True(t, k >= len(was) || was[k] != now[k])
					}
				}
			}
		}
	}
}

// Beside memory stands what each CPU may still fetch, if that is something else, and where
// it is.
func TestText(t *testing.T) {
	stale, ran, marked := 0, 0, 0
	for _, name := range []string{"T1-no-sync-1", "T2-second-instruction", "S1-boost-preempt"}[:thorough.Of(1, 3)] {
		r := witness(t, name)
		s := r.Scene
		file, _ := page(t, r)
		p := open(t, file, desk)
		site := 0
		for !s.Texts[site].Site {
			site++
		}
		for step := range s.Steps {
			p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("kpsim.viewers[0].go(%d)", step)))
			version, sees, stand := "", map[int]string{}, map[uint8]view.Stand{}
			for _, v := range s.Texts[site].Versions {
				if v.Step <= step {
					version = v.Bytes
				}
			}
			for _, v := range s.Texts[site].Sights {
				if v.Step <= step {
					sees[v.CPU] = v.Bytes
				}
			}
			for _, v := range s.Stands {
				if v.Step <= step {
					stand[v.Task] = v
				}
			}
			list := js[[][2]string](p,
				`Array.from(document.querySelectorAll(".patch table")).filter(t => t.caption.textContent === %q).flatMap(t => Array.from(t.rows))
				.map(r => [r.cells[0].textContent, Array.from(r.cells).slice(1).map(c => c.textContent || "-").join(" ")])`, "bytes of "+s.Texts[site].Name)
			rows := map[string]string{}
			for _, r := range list {
				rows[r[0]] = r[1]
			}
			require.Equal(t, version, rows["memory"], "step %d", step)
			for cpu := range s.CPUs {
				row, there := rows[fmt.Sprintf("cpu%d may still fetch", cpu)]
				if !there {
					row, there = rows["cpu0-1 may still fetch"]
				}
				if there {
					require.Equal(t, sees[cpu], row, "step %d", step)
					stale++
				}
				require.Equal(t, sees[cpu] != version, there, "step %d, cpu%d", step, cpu)
			}
			want := map[[2]string]int{}
			for _, v := range stand {
				for _, at := range v.At {
					if at.Patch != site {
						continue
					}
					cells := strings.Fields(strings.Repeat("- ", s.Texts[site].Len))
					does := "is at"
					marked++
					cells[at.Off] = "▲"
					switch {
					case at.Trap == "#BP":
						does = "in #BP, saved ip"
					case at.Trap != "":
						does = "comes back to"
					case at.Ran != "":
						does = "runs"
						ran++
						copy(cells[at.Off:], strings.Fields(at.Ran))
					}
					want[[2]string{fmt.Sprintf("cpu%d %s", v.CPU, does), strings.Join(cells, " ")}]++
				}
			}
			got := map[[2]string]int{}
			for _, r := range list {
				if !strings.HasSuffix(r[0], " fetch") && r[0] != "memory" && r[0] != "linked" {
					got[r]++
				}
			}
			require.Equal(t, want, got, "step %d", step)
		}
	}
	require.Positive(t, marked)
	require.Positive(t, ran)
	require.Positive(t, stale, "some CPU may fetch old bytes")
}

// What a CPU runs is disassembled from the bytes that it runs, beside what memory holds.
func TestRunsOtherBytes(t *testing.T) {
	r := witness(t, "T1-no-sync-1")
	file, _ := page(t, r)
	p := open(t, file, desk)
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("kpsim.viewers[0].go(%d)", r.Scene.Violation)))
	s := &r.Scene.Steps[r.Scene.Violation]
	insn := regexp.MustCompile(`: (?:[0-9a-f]{2} )+ *(.*)`).FindStringSubmatch(s.Says)
	require.NotNil(t, insn, s.Says)
	text := p.text(".patches")
	require.Contains(t, text, "memory: ")
	require.Contains(t, text, fmt.Sprintf("cpu%d runs: %s", s.Event.CPU, insn[1]))
}

// A task that was switched out in a slot stands there all the same.
func TestSwitchedOut(t *testing.T) {
	r := witness(t, "S1-boost-preempt")
	file, _ := page(t, r)
	p := open(t, file, desk)
	i := slices.IndexFunc(r.Scene.Stands, func(v view.Stand) bool { return v.CPU < 0 && len(v.At) > 0 })
	v := r.Scene.Stands[i]
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("kpsim.viewers[0].go(%d)", v.Step)))
	require.Contains(t, p.text(".patches"), r.Task(uint64(v.Task))+", switched out, comes back to")
	p.press("v") // it has a CPU again, and its slot is gone
	require.Contains(t, p.text(".patches .mark"),
		fmt.Sprintf("cpu1 comes back to %s+0x%x", r.Scene.Texts[v.At[0].Patch].Name, v.At[0].Off))
}

// Everything that lasts has a place in a row of its own CPU, in which nothing else lies.
func TestRows(t *testing.T) {
	for _, r := range []viewer.Run{witness(t, "S1-cancel-rcu-pages"), witness(t, "P3-back-off"),
		long(t, thorough.Of(500, 2000))} {
		file, _ := page(t, r)
		p := open(t, file, desk)
		type row struct {
			Y, High float64
			Items   []struct {
				From, To   int
				Kind, Says string
			}
		}
		rows := js[[]row](p,
			"[...kpsim.viewers[0].spans, ...kpsim.viewers[0].bands].map(r => ({ Y: r.y, High: r.high, Items: r.items }))")
		lanes := js[[]float64](p, "kpsim.viewers[0].lane.map(l => l.end)")
		var got, want []string
		for i, w := range rows {
			for _, o := range rows[:i] {
				require.True(t, w.Y >= o.Y+o.High || o.Y >= w.Y+w.High, "rows at %v and %v", w.Y, o.Y)
			}
			lane := 0
			for lane < len(lanes) && w.Y > lanes[lane] {
				lane++
			}
			end := 0
			for _, item := range w.Items {
				require.GreaterOrEqual(t, item.From, end, "%+v", item)
				end = item.To
				if lane < len(lanes) {
					got = append(got, fmt.Sprintf("cpu%d %s %d-%d", lane, item.Says, item.From, item.To))
				} else {
					got = append(got, fmt.Sprintf("band %s %d-%d", item.Says, item.From, item.To))
				}
			}
		}
		for _, s := range r.Scene.Spans {
			want = append(want, fmt.Sprintf("cpu%d %s %d-%d", s.CPU, s.Says, s.From, s.To))
		}
		for _, b := range r.Scene.Bands {
			want = append(want, fmt.Sprintf("band %s %d-%d", b.State, b.From, b.To))
		}
		require.ElementsMatch(t, want, got)
	}
}

// In each pixel in which something lies something is drawn, and not everything.
func TestSeen(t *testing.T) {
	file, _ := page(t, long(t, 5000))
	p := open(t, file, desk)
	for range 5 {
		p.frames()
		n := js[[]int](p, `(v => {
			const pixels = list => [...new Set(list.map(s => Math.floor(v.x(s))))].filter(x => x >= v.gutter && x < v.wide - 8).join(" ");
			let all = 0, drawn = 0;
			for (const list of [...v.run.ticks, ...v.run.stores]) {
				const seen = [...v.seen(list, list, i => list[i])], there = list.filter(s => v.pos(s) >= v.from && v.pos(s) <= v.to);
				if (pixels(seen) !== pixels(there)) throw new Error(pixels(there) + " but " + pixels(seen));
				all += there.length;
				drawn += seen.length;
			}
			return [all, drawn];
		})(kpsim.viewers[0])`)
		t.Logf("%d of %d steps are drawn", n[1], n[0])
		require.Positive(t, n[1])
		require.LessOrEqual(t, n[1], 4*2*1400)
		p.press("+")
	}
}
