package viewer_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/viewer"
	"kpsim/traces/view"
)

// The bytes of each run and the CPUs that are in them, the events around this
// one, the deviations and how it came about begin above the fold, with one run
// and with two.
func TestFold(t *testing.T) {
	for _, name := range []string{"T2-second-instruction", "S1-cancel-rcu-pages", "P1-one-worker"}[:thorough.Of(1, 3)] {
		one, two := []viewer.Run{witness(t, name)}, pair(t, name)
		for _, runs := range [][]viewer.Run{one, two} {
			file, _ := page(t, runs...)
			for _, size := range []window{{wide: 1280, high: 800}, {wide: 1440, high: 900}} {
				p := open(t, file, size)
				what := fmt.Sprintf("%s, %d of them, %d pixels", name, len(runs), size.wide)
				parts := []string{".now", ".patch:first-child table, .patch:first-child .mark"}
				if len(runs) == 1 {
					parts = append(parts, ".steps .at", ".deviations li", ".story li")
				}
				for run := range runs {
					for _, part := range parts {
						bottom := js[float64](p, "document.querySelector(%q).getBoundingClientRect().bottom",
							strings.ReplaceAll(fmt.Sprintf("#run%d "+part, run), ", ", fmt.Sprintf(", #run%d ", run)))
						assert.LessOrEqual(t, bottom, float64(size.high), "%s: %s", what, part)
						assert.Positive(t, bottom, "%s: %s", what, part)
					}
				}
			}
		}
	}
}

// The lanes of two CPUs are in sight whole, beside another run, too: a reader doesn't have to scroll to the band that
// says where a CPU stands.
func TestFewWhole(t *testing.T) {
	for _, runs := range [][]viewer.Run{{witness(t, "T2-second-instruction")}, pair(t, "T2-second-instruction")} {
		file, _ := page(t, runs...)
		for _, size := range []window{{wide: 1024, high: 768}, {wide: 1280, high: 800}} {
			p := open(t, file, size)
			p.frames()
			cut := js[[]float64](p, "kpsim.viewers.map(v => v.lanes.scrollHeight - v.lanes.clientHeight)")
			for _, rows := range cut {
				assert.LessOrEqual(t, rows, 0.0, "%d runs at %d pixels", len(runs), size.wide)
			}
			require.Len(t, cut, len(runs))
		}
	}
}

// While one goes on the events stay where they are, or go down once.
func TestKeepsRoom(t *testing.T) {
	file, _ := page(t, pair(t, "T2-second-instruction")...)
	p := open(t, file, window{wide: 1280, high: 800, hash: "#e0"})
	top := func(run int) float64 {
		return js[float64](p, "document.querySelector('#run%d .steps').getBoundingClientRect().top + window.scrollY",
			run)
	}
	was := top(0)
	for range 5 {
		p.press(kb.PageDown)
		require.GreaterOrEqual(t, top(0), was-0.5)
		was = top(0)
		require.InDelta(t, was, top(1), 0.5, "the same stands beside the same")
	}
	p.press(kb.Home)
	require.InDelta(t, was, top(0), 0.5)
	p.do(chromedp.EmulateViewport(1400, 900))
	p.until("Math.abs(document.querySelector('.steps').getBoundingClientRect().top - %f) > 1", was)
}

// The lane of the event that is shown is in sight, if not all of them are.
func TestLanesScroll(t *testing.T) {
	r := long(t, 500)
	file, _ := page(t, r)
	of := func(cpu uint8) int {
		return find(r.Scene, -1, 1, func(s *view.Step) bool { return s.Event.CPU == cpu })
	}
	p := open(t, file, window{wide: 1280, high: 400, hash: fmt.Sprintf("#step=%d", of(3))})
	for _, cpu := range []uint8{3, 0, 2} {
		if cpu != 3 { // which it was opened with
			p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("kpsim.viewers[0].go(%d)", of(cpu))))
		}
		p.frames()
		v := js[[]float64](p,
			"(v => [v.lane[%d].task - v.lanes.scrollTop, v.lanes.clientHeight, v.lanes.scrollHeight])(kpsim.viewers[0])", cpu)
		require.Less(t, v[1], v[2])
		require.GreaterOrEqual(t, v[0], 0.0, "cpu%d", cpu)
		require.LessOrEqual(t, v[0]+26, v[1]+1, "cpu%d", cpu)
	}
}

// What the lanes show at an event is said in words.
func TestCPUs(t *testing.T) {
	for _, name := range []string{"T2-second-instruction", "P1-one-worker", "T1-nmi-on-text"} {
		r := witness(t, name)
		file, _ := page(t, r)
		p := open(t, file, desk)
		s := r.Scene
		verbs := map[string]string{view.SpanTrap: "in", view.SpanCall: "in", view.SpanLock: "holds",
			view.SpanGrace: "waits:",
			view.SpanSync:  "waits:", view.SpanStop: "stopped by"}
		for step := 0; step < len(s.Steps); step += 7 {
			p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("kpsim.viewers[0].go(%d)", step)))
			rows := js[[][]string](p,
				"Array.from(document.querySelectorAll('.cpus tr')).map(r => Array.from(r.cells).map(c => c.textContent))")
			require.Len(t, rows, s.CPUs)
			for cpu, row := range rows {
				require.Equal(t, fmt.Sprintf("cpu%d", cpu), row[0])
				task, said, want := "", []string{}, []string{}
				for _, o := range s.Spans {
					switch {
					case o.CPU != cpu || step < o.From || step >= o.To && o.To < len(s.Steps)-1:
					case o.Kind == view.SpanInside:
						want = append(want, o.Says)
					case o.Kind == view.SpanTask:
						task = o.Says // of two that meet at the end of the run the later one
					default:
						want = append(want, verbs[o.Kind]+" "+o.Says)
					}
				}
				for _, m := range inWords.FindAllStringSubmatch(row[2], -1) {
					for _, what := range strings.Split(m[2], ", ") {
						said = append(said, m[1]+" "+what)
					}
				}
				require.Equal(t, task, row[1], "%s, step %d", name, step)
				require.ElementsMatch(t, want, said, "%s, step %d: %q", name, step, row)
			}
		}
	}
}

// inWords is what a CPU or a task of it does, holds or waits for.
var inWords = regexp.MustCompile(`(?:^|; )(?:\w+ )?(in|holds|waits:|stopped by|stands) ([^;]+)`)

// Where the mouse rests it is said what is drawn there.
func TestHint(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	p.press("f")
	p.frames()
	hint := func(x, y string) string {
		at := js[[]float64](p,
			"(v => { const box = v.canvas.getBoundingClientRect(); return [box.left + %s, box.top + %s]; })(kpsim.viewers[0])",
			x, y)
		_, err := chromedp.Call(p.ctx, input.DispatchMouseEvent,
			input.DispatchMouseEventParams{Type: chromedp.MouseMoved, X: at[0], Y: at[1]})
		require.NoError(t, err)
		return js[string](p, "kpsim.viewers[0].canvas.title")
	}
	seq := func(step int) uint32 { return r.Scene.Steps[step].Event.Seq }
	for _, zoom := range []string{"", "t"} {
		if zoom != "" {
			p.press(zoom)
			p.frames()
		}
		for _, o := range r.Scene.Spans {
			if o.Kind == view.SpanTrap && o.Says == "#BP" && o.To-o.From > 10 {
				middle := fmt.Sprintf("(v.x(%d) + v.x(%d)) / 2", o.From, o.To)
				require.Equal(t, fmt.Sprintf("#BP: event %d to %d", seq(o.From), seq(o.To)),
					hint(middle, fmt.Sprintf("v.lane[%d].task - 5", o.CPU)))
			}
		}
		d := r.Scene.Deviations[1]
		require.Equal(t, fmt.Sprintf("Deviation 2, before event %d: %s", seq(d.Step), view.Choice(d.Deviation)),
			hint(fmt.Sprintf("v.x(%d)", d.Step), "6"))
		require.Equal(t, fmt.Sprintf("optimized: event 104 to %d", seq(r.Scene.Violation)),
			hint(fmt.Sprintf("(v.x(%d) + v.x(%d)) / 2", stepOf(r.Scene, 104), r.Scene.Violation), "v.high - 24"))
		require.Equal(t, "", hint("v.gutter + 3", "6"))
	}
}

// On paper it is light, and nothing is cut off.
func TestPrint(t *testing.T) {
	file, _ := page(t, witness(t, "S1-cancel-rcu-pages"))
	light := js[string](open(t, file, desk), "kpsim.viewers[0].colour('task')")
	p := open(t, file, window{wide: 1400, high: 900, dark: true})
	colour := func() string { return js[string](p, "kpsim.viewers[0].colour('task')") }
	require.NotEqual(t, light, colour())
	p.do(chromedp.Evaluate[chromedp.Void]("window.dispatchEvent(new Event('beforeprint'))"))
	require.Equal(t, light, colour())
	p.do(chromedp.Evaluate[chromedp.Void]("window.dispatchEvent(new Event('afterprint'))"))
	require.NotEqual(t, light, colour())
	rules := js[string](p,
		"Array.from(document.styleSheets[0].cssRules).filter(r => r.media?.mediaText === 'print').map(r => "+
			"r.cssText).join('')")
	require.Contains(t, rules, "max-height: none")
}
