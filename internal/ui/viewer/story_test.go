package viewer_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/viewer"
	"kpsim/properties"
	"kpsim/smp/arch/x86"
	"kpsim/traces/view"
)

// phone is the smallest window in which the story is seen without scrolling.
var phone = window{wide: 400, high: 800}

// box is where an element is in the window.
type box struct{ Left, Top, Right, Bottom float64 }

func (p *tab) box(selector string) box {
	p.Helper()
	return js[box](p, `(b => ({ Left: b.left, Top: b.top, Right: b.right, Bottom: b.bottom }))(document.querySelector(%q).getBoundingClientRect())`, selector)
}

// What went wrong and each sentence of how it came about are in sight as soon as the page
// is open, beside the drawing or, on a phone, before it.
func TestStoryFirst(t *testing.T) {
	for _, name := range []string{"T2-second-instruction", "P3-back-off", "S1-cancel-rcu-pages", "T1-nmi-on-text",
		"S1-cancel-rcu-interrupted"}[:thorough.Of(2, 5)] {
		r := witness(t, name)
		file, _ := page(t, r)
		both, _ := page(t, pair(t, name)...)
		for _, w := range []window{{wide: 1280, high: 800}, phone} {
			for _, file := range []string{file, both} {
				p := open(t, file, w)
				what := fmt.Sprintf("%s, %d pixels", name, w.wide)
				require.Zero(t, js[float64](p, "window.scrollY"), what)
				require.Equal(t, len(r.Scene.Story), js[int](p, "document.querySelectorAll('#run0 .story li').length"),
					what)
				parts := []string{"#run0 .headline"}
				for i := range r.Scene.Story {
					parts = append(parts, fmt.Sprintf("#run0 .story li:nth-child(%d)", i+1))
				}
				was := 0.0
				for _, part := range parts {
					b := p.box(part)
					assert.GreaterOrEqual(t, b.Top, was, "%s: %s", what, part)
					assert.LessOrEqual(t, b.Bottom, float64(w.high), "%s: %s", what, part)
					assert.LessOrEqual(t, b.Right, float64(w.wide), "%s: %s", what, part)
					was = b.Top
				}
				story, lanes := p.box("#run0 .story"), p.box("#run0 .lanes")
				if w == phone || file == both {
					assert.LessOrEqual(t, story.Bottom, lanes.Top, what)
				} else {
					assert.LessOrEqual(t, story.Right, lanes.Left, what)
					assert.InDelta(t, story.Top, lanes.Top, 40, what)
				}
			}
		}
	}
}

// The story is there without the script, as text and in order.
func TestStoryWithoutScript(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	body, _, _ := strings.Cut(string(data), "<script")
	require.Contains(t, body, "cpu1 ran code from the middle of an instruction at victim&#43;0x1.")
	for i, s := range r.Scene.Story {
		_, after, found := strings.Cut(body,
			fmt.Sprintf(`<span class="n">%d</span> <span class="tell">%s `,
				i+1, strings.ReplaceAll(strings.ReplaceAll(s.Text, "+", "&#43;"), "'", "&#39;")))
		require.True(t, found, s.Text)
		body = after
	}
}

// n and p go along the story, from wherever the page is. The sentence that it is at is
// marked, counted and announced.
func TestAlong(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	list := r.Scene.Story
	require.Equal(t, list[2].Step, list[3].Step, "two tell of one event")
	at := func(i int) {
		t.Helper()
		p.shows(0, &r, list[i].Step)
		require.Equal(t, fmt.Sprint(i),
			js[string](p, "Array.from(document.querySelectorAll('.story [aria-current=true]')).map(b => b.dataset.told).join()"))
		require.Equal(t, fmt.Sprint(i),
			js[string](p, "Array.from(document.querySelectorAll('.story .at button')).map(b => b.dataset.told).join()"))
		require.Equal(t, fmt.Sprintf("Sentence %d of %d: %s", i+1, len(list), list[i].Text),
			p.text("[aria-live] .tells"))
		require.Equal(t, fmt.Sprintf("%d of %d", i+1, len(list)), p.text(".count"))
	}
	at(len(list) - 1)
	for i := range list {
		p.press("n")
		at(i)
	}
	p.press("n")
	at(0)
	p.press("p")
	at(len(list) - 1)
	for i := len(list) - 2; i >= 0; i-- {
		p.press("p")
		at(i)
	}
	p.press(kb.Home)
	require.Empty(t, js[string](p, "Array.from(document.querySelectorAll('.story [aria-current], .tells')).join()"))
	require.Equal(t, "6 sentences", p.text(".count"))
	p.press("n")
	at(0)
	p.press(kb.Home, "p")
	at(len(list) - 1)
	p.click("[data-go=next]")
	at(0)
	p.click("[data-told='3']")
	at(3)
	p.do(chromedp.Focus(chromedp.CSS("[data-told='1']")))
	p.press(kb.Enter)
	at(1)
	p.press("?")
	require.Contains(t, p.text("#keys"), "to the next, the previous sentence of the story")

	none := long(t, 300) // nothing is broken, nothing is told
	file, _ = page(t, none)
	p = open(t, file, desk)
	p.press("n", "p")
	p.shows(0, &none, 0)
}

// mark is what is drawn of a sentence, or of several that are close.
type mark struct {
	List       []int
	X, Y, Wide float64
}

const marks = `(v => { const b = v.canvas.getBoundingClientRect(); return v.marks.map(m => ({ List: m.list, X: b.left + m.x, Y: b.top + m.y, Wide: m.wide })); })(kpsim.viewers[0])`

// Each sentence has a mark in the lane of its event, where that is drawn; a click goes there.
func TestMarks(t *testing.T) {
	for _, name := range []string{"T2-second-instruction", "S1-cancel-rcu-pages", "P3-back-off"}[:thorough.Of(1, 3)] {
		r := witness(t, name)
		file, _ := page(t, r)
		for _, w := range []window{desk, phone} {
			p := open(t, file, w)
			for _, key := range []string{"", "t", "f"} {
				if key != "" {
					p.press(key)
				}
				p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.lanes').scrollIntoView()"))
				p.frames()
				var seen []int
				for _, m := range js[[]mark](p, marks) {
					for _, i := range m.List {
						p.do(chromedp.MouseClickXY(m.X+m.Wide/2, m.Y+7))
						seen = append(seen, js[int](p, "kpsim.viewers[0].told"))
						x := js[float64](p, "(v => v.canvas.getBoundingClientRect().left + v.x(%d))(kpsim.viewers[0])",
							r.Scene.Story[i].Step)
						require.True(t, x > m.X-16 && x < m.X+m.Wide+16, "%s: sentence %d at %v, its mark at %+v", name,
							i+1, x, m)
					}
				}
				want := []int{}
				for i := range r.Scene.Story {
					want = append(want, i)
				}
				require.ElementsMatch(t, want, seen, "%s, %d pixels, after %q", name, w.wide, key)
			}
		}
	}
}

// Stretches in which nothing of note happens are as narrow as a few events, and say how many
// they are; a click, a key or the list opens them.
func TestFolds(t *testing.T) {
	r := witness(t, "S1-cancel-rcu-pages")
	s := r.Scene
	file, _ := page(t, r)
	p := open(t, file, window{wide: 1280, high: 800})
	require.NotEmpty(t, s.Folds)
	hidden := 0
	for _, f := range s.Folds {
		hidden += f.To - f.From + 1
	}
	require.Greater(t, hidden, 2700)
	wide := func() float64 { return js[float64](p, "kpsim.viewers[0].ends()") }
	require.Less(t, wide(), float64(len(s.Steps)-hidden+5*len(s.Folds)))
	drawn := js[[]string](p, `(v => {
		const drawn = [], c = v.canvas.getContext("2d"), fill = c.fillText;
		c.fillText = text => drawn.push(text);
		v.draw();
		delete c.fillText;
		return drawn.filter(t => t.startsWith("…"));
	})(kpsim.viewers[0])`)
	require.Contains(t, drawn, "… 2,794 events")
	require.Len(t, drawn, len(s.Folds))
	button := fmt.Sprintf("unfold %d", len(s.Folds))
	require.Equal(t, button, p.text("[data-go=fold]"))

	// In the list the fold is a row; the cursor goes in, and sees what is there.
	last := s.Folds[len(s.Folds)-1]
	require.Contains(t, p.text(".steps .fold"),
		fmt.Sprintf("… %d events, %d to %d", last.To-last.From+1, s.Steps[last.From].Event.Seq,
			s.Steps[last.To].Event.Seq))
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("kpsim.viewers[0].go(%d)", last.From-1)))
	p.press(kb.ArrowRight)
	p.shows(0, &r, last.From)
	require.Contains(t, p.text(".now"), "In a fold of")
	require.Equal(t, 0, js[int](p, "document.querySelectorAll('.steps .at ~ .fold').length"),
		"its events are in the list")
	x := js[[]float64](p, "(v => [v.x(%d), v.x(%d), v.x(%d)])(kpsim.viewers[0])", last.From-1, last.From, last.To+1)
	require.True(t, x[0] < x[1] && x[1] < x[2], "the line of the event is in the fold")

	p.press("u")
	require.Equal(t, fmt.Sprintf("unfold %d", len(s.Folds)-1), p.text("[data-go=fold]"))
	require.NotContains(t, p.text(".now"), "In a fold of")
	p.shows(0, &r, last.From)
	p.press("f")
	require.Equal(t, button, p.text("[data-go=fold]"), "one was open: all are shut")
	p.press("v")
	p.click(".steps .fold button")
	require.Equal(t, fmt.Sprintf("unfold %d", len(s.Folds)-1), p.text("[data-go=fold]"))
	p.click("[data-go=fold]")
	p.click("[data-go=fold]")
	require.Equal(t, "fold", p.text("[data-go=fold]"))
	require.InDelta(t, len(s.Steps)-1, wide(), 0.1)
	p.click("[data-go=fold]")
	p.frames()
	at := js[[]float64](p, `(v => { const b = v.canvas.getBoundingClientRect(), f = v.edges(v.run.folds[0]); return [b.left + Math.max(v.gutter, f[0]) + 4, b.top + 60, (f[0] + f[1]) / 2]; })(kpsim.viewers[0])`)
	p.press("v")
	p.do(chromedp.MouseClickXY(at[0], at[1]))
	require.Equal(t, fmt.Sprintf("unfold %d", len(s.Folds)-1), p.text("[data-go=fold]"))
	p.shows(0, &r, s.Violation)
	p.press("f", "t")
	require.Empty(t, js[[]string](p, "[kpsim.viewers[0].foldOf(5)].filter(f => f)"), "by time nothing is folded")
}

// In the lane of a CPU that stands inside bytes that are written to lies a band. Of memory it says from when on that is
// free: here it is freed by the violation.
func TestInsideBand(t *testing.T) {
	const bytes = "stands inside the 5 bytes at victim+0x0"
	for name, says := range map[string][2]string{"T2-second-instruction": {bytes, bytes},
		"S1-cancel-rcu-pages": {"stands inside detour36, which will be freed", "stands inside freed detour36"}} {
		r := witness(t, name)
		file, _ := page(t, r)
		p := open(t, file, desk)
		band := js[[]string](p, `(v => {
			const drawn = [], c = v.canvas.getContext("2d"), fill = c.fillText;
			c.fillText = (text, x, y) => { if (text.startsWith("stands")) drawn.push(text + " in cpu" + v.lane.findIndex(l => y > l.task && y < l.wait)); };
			v.draw();
			delete c.fillText;
			return drawn;
		})(kpsim.viewers[0])`)
		require.Equal(t, []string{says[0] + " in cpu1"}, band)
		words := func() string {
			return js[string](p, "document.querySelector('.cpus tr:nth-child(2)').textContent")
		}
		require.Contains(t, words(), says[1])
		p.press(kb.ArrowLeft)
		require.Contains(t, words(), says[0])
	}
}

// A page of two runs colours what only one has, in the list and in the lanes, and fades what both
// have.
func TestDiffering(t *testing.T) {
	runs := pair(t, "T2-second-instruction")
	file, _ := page(t, runs...)
	p := open(t, file, window{wide: 1400, high: 900, hash: "#e89"})
	p.press("f")
	p.frames()
	require.Contains(t, js[string](p, "document.querySelector('#run0 .steps .at').className"), "differs")
	require.Contains(t, p.text("#run0 .steps .at"), "only in this run")
	require.Contains(t, p.text("#run0 .now"), "Only in this run.")
	require.Positive(t, js[int](p, "document.querySelectorAll('#run0 .steps .common').length"))
	require.NotEqual(t, js[string](p, "getComputedStyle(document.querySelector('#run0 .common .what')).color"),
		js[string](p, "getComputedStyle(document.querySelector('#run0 .differs .what')).color"))
	pixel := func(step int, y string) []int {
		return js[[]int](p, `(v => {
			const s = window.devicePixelRatio, c = document.createElement("canvas").getContext("2d");
			c.drawImage(v.canvas, -Math.round(v.x(%d) * s), -Math.round((%s) * s));
			return Array.from(c.getImageData(0, 0, 1, 1).data.slice(0, 3));
		})(kpsim.viewers[0])`, step, y)
	}
	strip := pixel(stepOf(runs[0].Scene, 84), "16")
	require.Equal(t, []int{0xb3, 0x47, 0x0a}, strip, "what differs is underlined")
	require.NotEqual(t, strip, pixel(stepOf(runs[0].Scene, 30), "16"))
	bar := "v.lane[0].task + 11"
	common, differs := pixel(stepOf(runs[0].Scene, 56), bar), pixel(stepOf(runs[0].Scene, 85), bar)
	require.Equal(t, []int{0xd5, 0xe4, 0xf2}, differs, "of a task")
	require.Greater(t, common[0], differs[0]+10, "faded")
}

// The lines of C of a kernel's engine stand beside the bytes; what is in them is text.
func TestSource(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	evil := "\tif (a < b) /* </script><b>&amp; */"
	frames := []view.Frame{
		{Func: "text_poke_bp_batch"},
		{Func: "kprobe_optimizer", File: "kernel/kprobes.c", Line: 628, From: 627,
			Text: []string{"\t/* wait */", evil, "}"}},
		{Func: "worker", File: "kernel/workqueue.c", Line: 7},
	}
	r.Scene.Calls = []view.Coded{
		{Step: stepOf(r.Scene, 80), CPU: 0, Task: "kprobe_optimizer", Says: "__text_poke()", Frames: frames},
		{Step: stepOf(r.Scene, 90), CPU: 0, Task: "kprobe_optimizer", Says: "synchronize_rcu()", Frames: frames[1:]},
	}
	file, _ := page(t, r)
	p := open(t, file, window{wide: 1280, high: 800, hash: "#e21"})
	require.Contains(t, p.text(".code"), "hasn't called anything yet")
	p.do(chromedp.Evaluate[chromedp.Void]("location.hash = '#e85'"))
	p.until("document.querySelector('.code').textContent.includes('__text_poke()')")
	require.Equal(t, []string{"627", "628", "629"},
		js[[]string](p, "Array.from(document.querySelectorAll('.lines th')).map(e => e.textContent)"))
	require.Equal(t, evil, js[string](p, "document.querySelector('.lines [aria-current=true] td').textContent"))
	require.Equal(t, []string{"in text_poke_bp_batch", "called by kprobe_optimizer, kernel/kprobes.c:628",
		"called by worker, kernel/workqueue.c:7"},
		js[[]string](p, "Array.from(document.querySelectorAll('.frame')).map(e => e.textContent)"))
	p.press("v")
	require.Contains(t, p.text(".code"), "Last: cpu0 kprobe_optimizer calls synchronize_rcu()")
	require.InDelta(t, p.box(".pane.source").Top, p.box(".pane.text").Top, 1, "beside the bytes")
	require.LessOrEqual(t, p.box(".lines").Bottom, 800.0)

	file, _ = page(t, witness(t, "T2-second-instruction"))
	p = open(t, file, desk)
	require.False(t, js[bool](p, "document.querySelector('.source') !== null"))
}

// Each property has words for a reader who doesn't know it.
func TestPlainWords(t *testing.T) {
	for _, q := range properties.All {
		in := view.Input{Arch: x86.AMD64, Property: q.ID + " " + q.Name, Message: "its message", AtEnd: true}
		r := view.Lay(in, nil)
		require.NotContains(t, r.Plain, "its message", "traces/view/plain.go has no words for %s", q.ID)
		require.NotContains(t, r.Plain, "%")
		require.True(t, strings.HasSuffix(r.Plain, "."), r.Plain)
	}
	r := view.Lay(view.Input{Arch: x86.AMD64, Property: "Z9 unheard-of", Message: "its message", AtEnd: true}, nil)
	require.Equal(t, "Z9 unheard-of: its message", r.Plain)
}

// A page of a thousand events is drawn before a reader waits. How fast that is is said, and
// no more: it is the computer's. BenchmarkWitness gives the same figures.
func TestDrawnSoon(t *testing.T) {
	for name, least := range map[string]int{"P3-back-off": 1000, "S1-cancel-rcu-pages": 2500} {
		r := witness(t, name)
		require.Greater(t, len(r.Scene.Steps), least)
		file, size := page(t, r)
		p := open(t, file, window{wide: 1280, high: 800})
		t.Logf("%s, %d events, %d KB: %v", name, len(r.Scene.Steps), size/1000, p.drawn())
	}
}

// A soon is when a page was ready, by the browser's clock, in milliseconds since it was
// asked for; and what of that the script took.
type soon struct{ Script, Drawn float64 }

func (s soon) String() string {
	return fmt.Sprintf("drawn %.0f ms after it was asked for, the script took %.0f", s.Drawn, s.Script)
}

func (p *tab) drawn() soon {
	p.Helper()
	p.until("performance.getEntriesByName('drawn').length > 0")
	return js[soon](p, `(() => {
		const at = name => performance.getEntriesByName(name)[0].startTime;
		return { Script: at("ready") - at("begun"), Drawn: at("drawn") };
	})()`)
}

// BenchmarkWitness measures how long it takes until a page of 1,000 events is drawn.
func BenchmarkWitness(b *testing.B) {
	var r viewer.Run
	for b.Loop() {
		r = witness(b, "P3-back-off")
	}
	file, size := page(b, r)
	var list []float64
	for range 15 {
		list = append(list, open(b, file, window{wide: 1280, high: 800}).drawn().Drawn)
	}
	b.ReportMetric(float64(size)/1e3, "page-KB")
	slices.Sort(list)
	b.ReportMetric(list[len(list)/2], "drawn-ms")
}
