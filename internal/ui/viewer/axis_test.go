package viewer_test

import (
	"fmt"
	"slices"
	"strings"
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

// axes are where the two strips are that have the axis and the probes' states, the box that they must be in, whether
// they lie on top, how many bytes of each aren't empty, how many differ from the drawing's, and how many rows
// of states are in each.
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
		return { Top: b(canvas).top, Bottom: b(canvas).bottom, From: box.top, To: box.bottom, Differ: differ, Drawn: drawn, Hit: v.lanes.contains(hit), States: v.bands.filter(b => b.y >= top && b.y + b.high <= top + high).length };
	});
})(kpsim.viewers[%d])`

type axis struct {
	Top, Bottom, From, To float64
	Differ, Drawn         int
	Hit                   bool
	States                int
}

// edges are the edges of the drawing that say that there is more, as they are, and as they are to be.
const edges = `(v => {
	const l = v.lanes, box = l.getBoundingClientRect(), [up, down] = v.inside();
	const says = [...v.$(".more").children].filter(e => e.checkVisibility()).map(e => {
		const b = e.getBoundingClientRect();
		if (b.top < box.top || b.bottom > box.bottom || b.left < box.left || b.right > box.right) return e.className + " is outside of the drawing";
		if (getComputedStyle(e).backgroundImage === "none") return e.className + " has no shadow";
		return e.className + " " + e.textContent;
	});
	const above = [], below = [];
	v.lane.forEach((l, c) => { if (l.task + 4 < up) above.push(c); if (l.task + 22 > down) below.push(c); });
	const name = list => list.length === 0 ? "" : "cpu" + list[0] + (list.length > 1 ? "-" + list.at(-1) : "");
	return [says, [
		...l.scrollTop > 1 ? ["up ▲ " + name(above)] : [], ...l.scrollTop + l.clientHeight < l.scrollHeight - 1 ? ["down ▼ " + name(below)] : [],
		...v.from > 0 ? ["left ◀"] : [], ...v.to < v.ends() ? ["right ▶"] : [],
	]];
})(kpsim.viewers[%d])`

// sight scrolls the lanes of the first run to the top, the end and between, and returns what is wrong: strips that
// are out of sight, covered or not as the drawing, edges that don't say what is beyond them. scrolls
// reports whether the lanes are higher than their box.
func (p *tab) sight(high int) (wrong []string, scrolls bool) {
	p.Helper()
	add := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.lanes').scrollIntoView({ block: 'center' })"))
	for _, at := range []string{"0", "1e6", "v.lanes.scrollHeight / 3"} {
		scrolled := js[bool](p,
			"(v => { v.lanes.scrollTop = %s; return v.lanes.scrollTop > 0; })(kpsim.viewers[0])", at)
		scrolls = scrolls || scrolled
		p.frames()
		strips := js[[]axis](p, axes, 0)
		require.Len(p, strips, 2)
		for i, a := range strips {
			add(a.Top < max(0, a.From) || a.Bottom > min(float64(high), a.To), "strip %d is out of sight: %v", i, a)
			add(!a.Hit, "strip %d is covered: %v", i, a)
			add(a.Differ != 0, "strip %d isn't as the drawing: %v", i, a)
			add(i == 1 && a.Drawn == 0, "there are no numbers of events")
			add(i == 1 && a.States != 1, "the states of the probe are out of sight")
		}
		said := js[[2][]string](p, edges, 0)
		add(!slices.Equal(said[0], said[1]), "the edges say %q for %q at %s", said[0], said[1], at)
		up := slices.ContainsFunc(said[0], func(s string) bool { return strings.HasPrefix(s, "up") })
		add(up != scrolled, "the upper edge says %q at %s", said[0], at)
	}
	return wrong, scrolls
}

// The numbers of events, the deviations and the states of the probes are in sight wherever the lanes are
// scrolled to, by however many CPUs, by one run and by two; the edges say where there is more; and
// nothing of the page is cut, or without a name.
func TestAxisInSight(t *testing.T) {
	for _, cpus := range thorough.Of([]int{2, 5, 8, 16}, []int{2, 3, 4, 5, 6, 7, 8, 16}) {
		r := onCPUs(t, cpus)
		for n, file := range [][]viewer.Run{{r}, {r, r}} {
			path, _ := page(t, file...)
			for _, size := range pagetest.Sizes {
				what := fmt.Sprintf("%d CPUs, %d runs, %d pixels", cpus, n+1, size[0])
				p := open(t, path, window{wide: int64(size[0]), high: int64(size[1])})
				wrong, scrolls := p.sight(size[1])
				require.Empty(t, wrong, what)
				require.True(t, scrolls || cpus < 8, what)
				require.Empty(t, js[[]string](p, pagetest.Unnamed), what)
				require.Empty(t, js[[]string](p, pagetest.Cut), what)
			}
		}
	}
}

// The tests of what is in sight notice a stylesheet or a script that doesn't see to it.
func TestSightNotices(t *testing.T) {
	file, _ := page(t, onCPUs(t, 8))
	for _, spoil := range []struct{ css, js, want string }{
		{css: ".lanes .axis { position: static !important; }", want: "out of sight"},
		{css: ".lanes { overflow: hidden !important; } .axis { display: none !important; }", want: "out of sight"},
		{css: "h1 { position: fixed; inset: 0; z-index: 9; }", want: "is covered"},
		{css: ".more { display: none !important; }", want: `the edges say [] for`},
		{css: ".more > * { background: none !important; }", want: "has no shadow"},
		{css: ".more { position: static !important; }", want: "is outside of the drawing"},
		{js: "v.fitAxes = () => {}; v.axes[1].high = 15; v.axes[1].top = v.high - 15",
			want: "the states of the probe are out of sight"},
		{js: "v.drawAxes = () => {}; v.zoom(0.5); v.draw()", want: "isn't as the drawing"},
		{js: "v.lanes.scrollTop = 0; v.hints(); v.hints = () => {}", want: "the edges say"},
	} {
		p := open(t, file, window{wide: 400, high: 800})
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(v => {
			document.head.append(Object.assign(document.createElement("style"), { textContent: %q }));
			%s;
		})(kpsim.viewers[0])`, spoil.css, spoil.js)))
		p.frames()
		wrong, _ := p.sight(800)
		require.Contains(t, strings.Join(wrong, "\n"), spoil.want, "%s %s", spoil.css, spoil.js)
	}
}

// What is drawn of a run that is zoomed into says at the sides that there is more, and next to the number of the
// event which events are drawn.
func TestSidesSayMore(t *testing.T) {
	file, _ := page(t, onCPUs(t, 3))
	p := open(t, file, window{wide: 1280, high: 800})
	for _, at := range []struct {
		keys []string
		want string
	}{
		{nil, ""}, {[]string{kb.Home, "+"}, "right ▶"}, {[]string{">", ">"}, "left ◀"}, {[]string{"<"}, "left ◀, right ▶"},
		{[]string{"<", "<"}, "right ▶"}, {[]string{kb.End}, "left ◀"},
		{[]string{kb.PageUp, kb.PageUp, "+"}, "left ◀, right ▶"}, {[]string{"0"}, ""},
	} {
		p.press(at.keys...)
		p.frames()
		said := js[[2][]string](p, edges, 0)
		require.Equal(t, said[1], said[0])
		require.Equal(t, at.want, strings.Join(said[0], ", "), at.keys)
		require.Equal(t, at.want != "", strings.HasSuffix(p.text(".range"), " drawn"), p.text(".range"))
	}
}

// busier has as many probes as a small window can't show all of: the last ones stay in sight.
func TestManyStates(t *testing.T) {
	r := onCPUs(t, 4)
	one := r.Scene.Bands
	for i := range 14 {
		for _, b := range one {
			b.Place = fmt.Sprintf("another_function+%#x", i)
			r.Scene.Bands = append(r.Scene.Bands, b)
		}
	}
	file, _ := page(t, r)
	p := open(t, file, window{wide: 400, high: 800})
	strips := js[[]axis](p, axes, 0)
	require.Greater(t, strips[1].States, 3)
	require.Less(t, strips[1].States, 15)
	require.Less(t, strips[1].Bottom-strips[1].Top, 0.6*(strips[1].To-strips[1].From), "lanes have room")
	require.Equal(t, 15, js[int](p, "kpsim.viewers[0].bands.length"))
}

// A click on the scale is for an event that has its number there, not for what is scrolled
// below it; and a step is shown with its lane between the strips.
func TestAxisClicks(t *testing.T) {
	r := onCPUs(t, 16)
	file, _ := page(t, r)
	p := open(t, file, window{wide: 1280, high: 800})
	p.press("f")
	for i, step := range []int{40, 60, 90, 50} {
		p.frames()
		at := js[[]float64](p, `(v => {
			v.lanes.scrollTop = 150;
			const box = v.lanes.getBoundingClientRect();
			return [v.canvas.getBoundingClientRect().left + v.x(%d), box.bottom - %[2]d];
		})(kpsim.viewers[0])`, step, 6+i%2*20) // the numbers, or the states
		p.do(chromedp.MouseClickXY(at[0], at[1]))
		p.shows(0, &r, step)
	}
	for _, key := range []string{kb.Home, kb.PageDown, kb.PageDown, kb.PageDown, kb.End, kb.PageUp} {
		p.press(key)
		p.frames()
		in := js[[]float64](p, `(v => {
			const l = v.lane[v.run.cpu[v.step]];
			return l ? [l.task - v.lanes.scrollTop, v.lanes.clientHeight - (l.task + 26 - v.lanes.scrollTop)] : [18, 34];
		})(kpsim.viewers[0])`)
		require.GreaterOrEqual(t, in[0], 18.0, key)
		require.GreaterOrEqual(t, in[1], 34.0, key)
	}
}
