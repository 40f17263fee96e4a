package viewer_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/viewer"
)

// Figures are of a page, in milliseconds, by the browser's own clock.
type figures struct {
	Load      float64 // from the navigation until the script has shown the first step
	Step      float64 // the median of some steps: texts, lists, layout and drawing
	StepWorst float64
	Draw      float64 // the median of drawings of the whole run and of parts of it, by step and by time
	DrawWorst float64
	Frame     float64 // the median from frame to frame while one goes on, a step a frame: the browser's painting, too
}

func (f figures) String() string {
	return fmt.Sprintf("load %.0f ms, step %.1f ms (at worst %.1f), redraw %.1f ms (at worst %.1f), a frame %.1f ms",
		f.Load, f.Step, f.StepWorst, f.Draw, f.DrawWorst, f.Frame)
}

// measure goes to so many steps, and then on by so many frames.
const measure = `(async (goes, moves) => {
	const v = kpsim.viewers[0], n = v.run.n, steps = [], draws = [], frames = [];
	const median = list => list.toSorted((a, b) => a - b)[list.length >> 1];
	const timed = (list, f) => {
		const began = performance.now();
		f();
		list.push(performance.now() - began);
	};
	for (let i = 0; i < goes; i++) {
		timed(steps, () => {
			v.go(Math.floor(i * 7919 %% n));
			document.body.offsetHeight;
			v.draw();
		});
	}
	for (let i = 0; i < 2; i++) {
		for (let k = 0; k < 12; k++) {
			timed(draws, () => v.draw());
			v.zoom(0.5);
		}
		v.axis();
	}
	let was = 0;
	for (let i = 0; i < moves; i++) {
		const now = await new Promise(requestAnimationFrame);
		if (was) frames.push(now - was);
		was = now;
		v.go((n >> 1) + i);
	}
	return {
		Load: performance.getEntriesByName("ready")[0].startTime,
		Step: median(steps), StepWorst: Math.max(...steps), Draw: median(draws), DrawWorst: Math.max(...draws), Frame: median(frames),
	};
})(%d, %d)`

// smooth does each thing that a reader does some times, and returns for each how long its longest task took each
// time, in milliseconds, in order: until the page is laid out, or from the beginning of the frame until it
// is painted.
const smooth = `(async times => {
	const v = kpsim.viewers[0], took = {}, l = v.lanes;
	const key = (key, shiftKey = false) => () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
	const wheel = init => () => v.canvas.dispatchEvent(new WheelEvent("wheel", { cancelable: true, ...init }));
	const painted = () => new Promise(done => requestAnimationFrame(() => {
		const began = performance.now(), { port1, port2 } = new MessageChannel();
		port1.onmessage = () => done(performance.now() - began);
		port2.postMessage(0);
	}));
	const acts = {
		"Home, End": (() => { let at = 0; return () => key(at++ & 1 ? "Home" : "End")(); })(), "→": key("ArrowRight"), "Page Down": key("PageDown"), "Shift →": key("ArrowRight", true), w: key("w"), "←": key("ArrowLeft"),
		"Page Up": key("PageUp"), "+": key("+"), "wheel →": wheel({ deltaX: 40 }), "wheel +": wheel({ ctrlKey: true, deltaY: -50 }), "-": key("-"), "0": key("0"), t: key("t"),
		"scroll": () => { l.scrollTop = l.scrollTop > 0 ? 0 : 1e6; },
	};
	for (const [name, act] of Object.entries(acts)) {
		took[name] = [];
		for (let i = 0; i < times; i++) {
			const began = performance.now();
			act();
			document.body.offsetHeight;
			const did = performance.now() - began;
			took[name].push(Math.max(did, await painted()));
		}
		took[name].sort((a, b) => a - b);
	}
	return took;
})(%d)`

// smoothMost is how long in milliseconds a page of 10,000 events may be busy with one key or one turn of the wheel:
// a reader takes as much for at once.
const smoothMost = 100

// A page of 10,000 events answers each key and the wheel at once, and takes not much longer than one of
// 500. The slowest quarter isn't counted: the computer has much else to do.
func TestSmooth(t *testing.T) {
	slow := func(events int) (most float64) {
		file, _ := page(t, long(t, events))
		p := open(t, file, desk)
		took := js[map[string][]float64](p, smooth, thorough.Of(8, 32))
		for _, name := range slices.Sorted(maps.Keys(took)) {
			n := len(took[name])
			t.Logf("%d events, %s: %.1f ms, at worst %.1f", events, name, took[name][n/2], took[name][n-1])
			most = max(most, took[name][n*3/4-1])
		}
		return most
	}
	few, many := slow(500), slow(10_000)
	require.Less(t, many, float64(smoothMost))
	require.Less(t, many, 6*max(few, 10))
}

// sizeMax is how many bytes a page of 10,000 events has at most.
const sizeMax = 2_000_000

// Pages of long runs are opened and gone through. How fast that is is said, and no more: it
// is the computer's. BenchmarkPage takes more of each.
func TestLong(t *testing.T) {
	for _, events := range []int{10_000, 100_000} {
		if events > 10_000 {
			thorough.Only(t, "4 s of a browser")
		}
		r := long(t, events)
		file, size := page(t, r)
		n := len(r.Scene.Steps)
		if events == 10_000 {
			require.Less(t, size*events/n, sizeMax)
		}
		p := open(t, file, desk)
		p.shows(0, &r, 0)
		f := js[figures](p, measure, 10, 5)
		t.Logf("%d events, %d KB: %v", n, size/1000, f)
		p.press("t", "0", "w")
		require.Equal(t, "store", r.Scene.Steps[p.step(0)].Class)
	}
}

// BenchmarkPage gives the same figures as benchmarks are given.
func BenchmarkPage(b *testing.B) {
	for _, events := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(events), func(b *testing.B) {
			var r viewer.Run
			for b.Loop() {
				r = long(b, events)
			}
			file, size := page(b, r)
			f := js[figures](open(b, file, desk), measure, 100, 60)
			b.ReportMetric(float64(size)/1e3, "page-KB")
			b.ReportMetric(f.Load, "load-ms")
			b.ReportMetric(f.Step, "step-ms")
			b.ReportMetric(f.Draw, "redraw-ms")
			b.ReportMetric(f.Frame, "frame-ms")
		})
	}
}
