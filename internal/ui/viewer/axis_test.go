package viewer_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/testkit/pagetest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/viewer"
	"kpsim/traces"
)

// busy is a scenario in which each of the CPUs calls a function while a probe comes and goes.
const busy = `
scenario("busy", says = "A probe comes and goes, while every other CPU is in its function.")
machine(cpus = %d, preempt = "full")
f = text("function_under_test", hex = "55 4889e5 53 b801000000 5b 5d c3")
k = kprobe("probe", at = f)
task("prober", cpu = 0, ops = [register(k), wait_optimized(), unregister(k)])
for cpu in range(1, %[1]d):
    task("caller%%d" %% cpu, cpu = cpu, ops = [call(f), schedule(), call(f)], background = True)
never()
`

// onCPUs is a run of busy.
func onCPUs(t testing.TB, cpus int) viewer.Run {
	t.Helper()
	sc, err := lang.Load("busy", fmt.Appendf(nil, busy, cpus), nil)
	require.NoError(t, err)
	r := filmed(t, "busy", &traces.File{Scenario: lang.Print(sc)})
	require.Equal(t, cpus, r.Scene.CPUs)
	return r
}

// axes are where the two strips are that have the axis, the box that they must be in, whether
// they lie on top, how many bytes of each aren't empty, and how many differ from the drawing's.
const axes = `(v => {
	const box = v.lanes.getBoundingClientRect(), b = e => e.getBoundingClientRect();
	return v.axes.map(({ canvas, high, top }) => {
		const s = window.devicePixelRatio;
		const data = (from, y) => {
			const copy = Object.assign(document.createElement("canvas"), { width: from.width, height: Math.round(high * s) });
			const c = copy.getContext("2d", { willReadFrequently: true });
			c.drawImage(from, 0, -Math.round(y * s));
			return c.getImageData(0, 0, copy.width, copy.height).data;
		};
		const a = data(canvas, 0), d = data(v.canvas, top);
		let differ = 0, drawn = 0;
		for (let i = 0; i < a.length; i++) { differ += a[i] !== d[i]; drawn += a[i] !== 0; }
		const hit = document.elementFromPoint(box.left + v.gutter + 20, (b(canvas).top + b(canvas).bottom) / 2);
		return { Top: b(canvas).top, Bottom: b(canvas).bottom, From: box.top, To: box.bottom, Differ: differ, Drawn: drawn, Hit: v.lanes.contains(hit) };
	});
})(kpsim.viewers[%d])`

type axis struct {
	Top, Bottom, From, To float64
	Differ, Drawn         int
	Hit                   bool
}

// The numbers of events and the deviations are in sight wherever the lanes are scrolled to, by
// however many CPUs, by one run and by two, and nothing of the page is cut.
func TestAxisInSight(t *testing.T) {
	for _, cpus := range thorough.Of([]int{2, 16}, []int{2, 3, 8, 16}) {
		r := onCPUs(t, cpus)
		for n, file := range [][]viewer.Run{{r}, {r, r}} {
			path, _ := page(t, file...)
			for _, size := range pagetest.Sizes {
				what := fmt.Sprintf("%d CPUs, %d runs, %d pixels", cpus, n+1, size[0])
				p := open(t, path, window{wide: int64(size[0]), high: int64(size[1])})
				p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.lanes').scrollIntoView({ block: 'center' })"))
				for _, at := range []string{"0", "1e6", "v.lanes.scrollHeight / 3"} {
					scrolled := js[bool](p,
						"(v => { v.lanes.scrollTop = %s; return v.lanes.scrollTop > 0; })(kpsim.viewers[0])", at)
					if cpus >= 8 && at != "0" {
						require.True(t, scrolled, what)
					}
					p.frames()
					strips := js[[]axis](p, axes, 0)
					require.Len(t, strips, 2, what)
					for i, a := range strips {
						require.GreaterOrEqual(t, a.Top, max(0, a.From), "%s: %v", what, a)
						require.LessOrEqual(t, a.Bottom, min(float64(size[1]), a.To), "%s: %v", what, a)
						require.True(t, a.Hit, "%s: %v is covered", what, a)
						require.Zero(t, a.Differ, what)
						if i == 1 {
							require.Positive(t, a.Drawn, "%s: the numbers of events", what)
						}
					}
				}
				require.Empty(t, js[[]string](p, pagetest.Cut), what)
			}
		}
	}
}

// A click on the scale is for an event that has its number there, not for what is scrolled
// below it; and a step is shown with its lane between the strips.
func TestAxisClicks(t *testing.T) {
	r := onCPUs(t, 16)
	file, _ := page(t, r)
	p := open(t, file, window{wide: 1280, high: 800})
	p.press("f")
	for _, step := range []int{40, 60, 90} {
		p.frames()
		at := js[[]float64](p, `(v => {
			v.lanes.scrollTop = 150;
			const box = v.lanes.getBoundingClientRect();
			return [v.canvas.getBoundingClientRect().left + v.x(%d), box.bottom - 6];
		})(kpsim.viewers[0])`, step)
		p.do(chromedp.MouseClickXY(at[0], at[1]))
		p.shows(0, &r, step)
	}
	for _, key := range []string{kb.Home, kb.PageDown, kb.PageDown, kb.PageDown, kb.End, kb.PageUp} {
		p.press(key)
		p.frames()
		in := js[[]float64](p, `(v => {
			const l = v.lane[v.run.cpu[v.step]];
			return l ? [l.task - v.lanes.scrollTop, v.lanes.clientHeight - (l.task + 26 - v.lanes.scrollTop)] : [18, 15];
		})(kpsim.viewers[0])`)
		require.GreaterOrEqual(t, in[0], 18.0, key)
		require.GreaterOrEqual(t, in[1], 15.0, key)
	}
}
