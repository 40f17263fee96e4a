package viewer_test

import (
	"slices"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"kpsim/internal/ui/viewer"
	"kpsim/traces/view"
)

// Where the drawing is clicked the page goes to the step that is drawn there, and draws a
// line there: by steps and by time, in the whole run and in a part of it.
func TestDrawing(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	p.press("f")
	for _, before := range []string{"", "t", "+", "+", "0", "t"} {
		if before != "" {
			p.press(before)
		}
		for _, step := range []int{70, 72, 71, 78, 80} {
			p.frames()
			at := js[[]float64](p, `(() => {
				const v = kpsim.viewers[0], box = v.canvas.getBoundingClientRect(), lane = v.lane[v.run.cpu[%d]];
				return [box.left + v.x(%[1]d), box.top + lane.task + 5];
			})()`, step)
			p.do(chromedp.MouseClickXY(at[0], at[1]))
			p.shows(0, &r, step)
			p.frames()
			red := js[[]int](p, `(() => {
				const v = kpsim.viewers[0], c = document.createElement("canvas").getContext("2d");
				c.drawImage(v.canvas, -Math.floor(v.x(%d)), -1);
				return Array.from(c.getImageData(0, 0, 1, 1).data);
			})()`, step)
			require.Greater(t, red[0], 150, "%v", red)
			require.Less(t, red[2], 150, "%v", red)
		}
	}
	wide := func() float64 { return js[float64](p, "kpsim.viewers[0].to - kpsim.viewers[0].from") }
	all := wide()
	require.InDelta(t, len(r.Scene.Steps)-1, all, 0.1)
	p.press("+")
	require.InDelta(t, all/2, wide(), 0.1)
	p.press("-")
	require.InDelta(t, all, wide(), 0.1)
	for range 20 {
		p.press("+")
	}
	require.InDelta(t, 8, wide(), 0.1)
	p.press(kb.Home)
	p.until("kpsim.viewers[0].from <= 0")
	p.click("[data-go=all]")
	require.InDelta(t, all, wide(), 0.1)
	p.click("[data-go=axis]")
	require.InDelta(t, float64(r.Scene.Steps[len(r.Scene.Steps)-1].Time-r.Scene.Steps[0].Time), wide(), 1)
	require.Equal(t, "by event", p.text("[data-go=axis]"))
}

// A lane is of a CPU: a click in it is for a step of that one, if one is near.
// Dragging goes through the steps; the wheel draws fewer of them, or others.
func TestMouse(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	p.press("f")
	p.frames()
	at := func(step, cpu int) (x, y float64) {
		v := js[[]float64](p, `(() => {
			const v = kpsim.viewers[0], box = v.canvas.getBoundingClientRect();
			return [box.left + v.x(%d), box.top + v.lane[%d].task + 5];
		})()`, step, cpu)
		return v[0], v[1]
	}
	s := r.Scene
	near := 0
	for i := 1; i+1 < len(s.Steps); i++ {
		a, b := s.Steps[i-1].Event.CPU, s.Steps[i].Event.CPU
		if a > 1 || b > 1 || a == b || near >= 4 {
			continue
		}
		near++
		x, y := at(i, int(a))
		p.do(chromedp.MouseClickXY(x, y))
		p.until("Number(document.getElementById('run0').dataset.step) === %d", i-1)
		p.shows(0, &r, i-1)
		x, y = at(i-1, int(b))
		p.do(chromedp.MouseClickXY(x, y))
		require.Equal(t, b, s.Steps[p.step(0)].Event.CPU, "near step %d", i-1)
	}
	require.Equal(t, 4, near)
	far := find(s, 0, 1, func(q *view.Step) bool { // far from all of cpu1 the nearest of any is meant
		i := int(q.Event.Seq - s.Steps[0].Event.Seq)
		return i > 4 && i+4 < len(s.Steps) && !slices.ContainsFunc(s.Steps[i-4:i+5], func(o view.Step) bool {
			return o.Event.CPU == 1
		})
	})
	x, y := at(far, 1)
	p.do(chromedp.MouseClickXY(x, y))
	p.shows(0, &r, far)

	mouse := func(e input.DispatchMouseEventParams) {
		e.X, e.Y = x, y
		_, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, e)
		require.NoError(t, err)
		p.frames()
	}
	mouse(input.DispatchMouseEventParams{Type: chromedp.MousePressed, Button: "left", Buttons: 1, ClickCount: 1})
	for step := 59; step > 50; step-- {
		x, y = at(step, min(1, int(s.Steps[step].Event.CPU)))
		mouse(input.DispatchMouseEventParams{Type: chromedp.MouseMoved, Button: "left", Buttons: 1})
		p.shows(0, &r, step)
	}
	mouse(input.DispatchMouseEventParams{Type: chromedp.MouseReleased, Button: "left", ClickCount: 1})
	x, y = at(70, 0)
	mouse(input.DispatchMouseEventParams{Type: chromedp.MouseMoved})
	p.shows(0, &r, 51)

	wheel := func(init string) (from, to float64) {
		v := js[[]float64](p, `(v => {
			if (v.canvas.dispatchEvent(new WheelEvent("wheel", { cancelable: true, %s }))) throw new Error("the page scrolls, too");
			return [v.from, v.to];
		})(kpsim.viewers[0])`, init)
		return v[0], v[1]
	}
	all := float64(len(s.Steps) - 1)
	from, to := wheel("ctrlKey: true, deltaY: -100")
	require.InDelta(t, 0.8*all, to-from, 0.1)
	from2, to2 := wheel("deltaX: 300")
	require.Greater(t, from2, from)
	require.InDelta(t, to-from, to2-from2, 0.1)
	from, to = wheel("shiftKey: true, deltaY: 5000")
	require.InDelta(t, all, to, 0.1, "no further than to the end")
	require.InDelta(t, 0.8*all, to-from, 0.1)
	from, to = wheel("ctrlKey: true, deltaY: 200")
	require.InDelta(t, 0, from, 0.1)
	require.InDelta(t, all, to, 0.1)
	require.True(t, js[bool](p,
		`kpsim.viewers[0].canvas.dispatchEvent(new WheelEvent("wheel", { cancelable: true, deltaY: 100 }))`),
		"a wheel alone scrolls the page")
}

// Whatever is drawn lies between the first step and the last, and the step that is shown is
// in it.
func TestZoomStays(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	p.press("f")
	for _, keys := range []string{kb.Home + "+++---", kb.End + "+++---", kb.Home + "++" + kb.End + "--",
		"t" + kb.Home + "++++-----", kb.End + "++++++------"} {
		for _, k := range keys {
			p.press(string(k))
			v := js[[]float64](p, "(v => [v.from, v.to, v.pos(v.step), v.ends()])(kpsim.viewers[0])")
			require.GreaterOrEqual(t, v[0], 0.0, "%v", v)
			require.LessOrEqual(t, v[1], v[3]+1e-6, "%v", v)
			require.LessOrEqual(t, v[0], v[2]+1e-6, "%v", v)
			require.GreaterOrEqual(t, v[1], v[2]-1e-6, "%v", v)
		}
		v := js[[]float64](p, "(v => [v.from, v.to, v.ends()])(kpsim.viewers[0])")
		require.InDelta(t, 0, v[0], 1e-6)
		require.InDelta(t, v[2], v[1], 1e-6)
	}
}

// Names that are too long are cut so that they can be told apart, and leave room for the
// drawing.
func TestNames(t *testing.T) {
	file, _ := page(t, long(t, 500))
	for wide, most := range map[int64]float64{1400: 170, 400: 100} {
		p := open(t, file, window{wide: wide, high: 900})
		names := js[[]string](p, `(v => {
			const drawn = [], c = v.canvas.getContext("2d"), fill = c.fillText;
			c.fillText = (text, x, y) => { if (x < v.gutter - 4 && y < v.high - 15) drawn.push(text); };
			v.draw();
			c.fillText = fill;
			return drawn;
		})(kpsim.viewers[0])`)
		require.Len(t, names, 4+3, "%v", names)
		require.Equal(t, "cpu0", names[0])
		for i, tail := range []string{"…+0x0", "…+0x1", "…+0x9"} {
			require.Contains(t, names[4+i], tail)
			require.Contains(t, names[4+i], "bus")
		}
		gutter := js[float64](p, "kpsim.viewers[0].gutter")
		require.LessOrEqual(t, gutter, most)
		require.Greater(t, gutter, most/2)
	}
}

// Texts that are drawn have room: names within what they name, numbers of events below the
// events that have them, and none over another.
func TestDrawnTexts(t *testing.T) {
	for _, r := range []viewer.Run{witness(t, "T2-second-instruction"), witness(t, "P1-one-worker"),
		witness(t, "P3-back-off")} {
		file, _ := page(t, r)
		for _, wide := range []int64{1400, 400} {
			p := open(t, file, window{wide: wide, high: 900})
			for _, key := range []string{"", "+", "+", "t", "0"} {
				if key != "" {
					p.press(key)
				}
				p.frames()
				n := js[[]int](p, `(v => {
					const c = v.canvas.getContext("2d"), fill = c.fillText, scale = [], rows = [...v.spans, ...v.bands];
					let names = 0;
					c.fillText = (text, x, y) => {
						const wide = c.measureText(text).width;
						if (x < v.gutter - 4 && c.textAlign !== "center") return; // of the lanes
						if (y > v.high - 15) {
							scale.push([x - wide / 2, x + wide / 2]);
							const at = v.byTime ? v.x(0) + (Number(text.replace(/\D/g, "")) - v.run.time[0] - v.pos(0)) / (v.to - v.from) * (v.wide - v.gutter - 8) : v.x(v.run.seq.indexOf(Number(text)));
							if (Math.abs(at - x) > 0.5) throw new Error(text + " at " + x + " for " + at);
							return;
						}
						if (y < 14 || c.font.startsWith("bold")) return; // deviations, folds, and the marks of the story
						const row = rows.find(o => y >= o.y && y < o.y + o.high);
						const starts = row.items.filter(o => Math.max(Math.round(v.x(o.from)), v.gutter) + 3 === x); // some of them narrow
						if (v.spans.concat(v.bands).every(o => o.y > y || y >= o.y + o.high)) throw new Error(text + " is in no row");
						if (!starts.some(o => (o.says.startsWith(text.split("…")[0]) || /^(IPI|resched|timer|stop)$/.test(text)) && x + wide <= Math.round(v.x(o.to)))) throw new Error(text + " is cut, or no name");
						names++;
					};
					v.draw();
					delete c.fillText;
					scale.sort((a, b) => a[0] - b[0]).forEach(([from, to], i) => { if (from < v.gutter - 4 || to > v.wide || i > 0 && from < scale[i - 1][1] + 4) throw new Error("numbers over one another"); });
					return [names, scale.length];
				})(kpsim.viewers[0])`)
				require.Positive(t, n[0], "%s %d %s", r.Name, wide, key)
				require.Positive(t, n[1], "%s %d %s", r.Name, wide, key)
				require.Less(t, n[1], int(wide/40))
			}
		}
	}
}
