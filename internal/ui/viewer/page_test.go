package viewer_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/pagetest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/viewer"
	"kpsim/traces/view"
)

var desk = window{wide: 1400, high: 900}

// shows says which step of a run the page shows, in each place that has it.
func (p *tab) shows(run int, r *viewer.Run, step int) {
	p.Helper()
	require.Equal(p, step, p.step(run))
	s := &r.Scene.Steps[step]
	words := strings.TrimSpace(s.Says)
	at := fmt.Sprintf("#run%d ", run)
	event := fmt.Sprint(s.Event.Seq) // as replay and explain number it
	says := p.text(at + ".now .says")
	assert.True(p, strings.HasPrefix(says, "event "+event+", "), says)
	assert.True(p, strings.HasSuffix(says, words), "%q: %q", words, says)
	assert.Equal(p, event, p.attribute(at+"[role=slider]", "aria-valuenow"))
	assert.Equal(p, says, p.attribute(at+"[role=slider]", "aria-valuetext"))
	assert.Equal(p, event, js[string](p, "document.querySelector(%q).value", at+".number"))
	assert.Equal(p, event, p.text(at+".steps .at .no"))
	assert.Equal(p, words, p.text(at+".steps .at .what"))
	assert.Equal(p, 1, js[int](p, "document.querySelectorAll(%q).length", at+"[aria-current=step]"))
}

func (p *tab) attribute(selector, name string) string {
	p.Helper()
	return js[string](p, "document.querySelector(%q).getAttribute(%q)", selector, name)
}

// frames waits until what was asked for is drawn.
func (p *tab) frames() {
	p.Helper()
	p.do(chromedp.Evaluate[chromedp.Void]("new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))",
		chromedp.EvalAwaitPromise))
}

func (p *tab) click(selector string) {
	p.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// find returns the nearest step to one that is as wanted, in a direction.
func find(s *view.Scene, from, by int, wanted func(*view.Step) bool) int {
	for i := from + by; i >= 0 && i < len(s.Steps); i += by {
		if wanted(&s.Steps[i]) {
			return i
		}
	}
	return from
}

func TestKeys(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	s := r.Scene
	end := len(s.Steps) - 1
	require.Equal(t, r.Name, js[string](p, "document.title"))
	p.shows(0, &r, s.Violation)
	require.Contains(t, p.text(".now .mark"), "This is the violation: T2 no-start-inside")
	require.Equal(t, "cpu1 ran code from the middle of an instruction at victim+0x1.", p.text(".headline"))
	require.Equal(t, "Violation: "+s.Headline, p.text(".exactly"))

	for _, k := range []struct {
		key  string
		step func(now int) int
	}{
		{kb.Home, func(int) int { return 0 }},
		{kb.ArrowLeft, func(int) int { return 0 }},
		{kb.ArrowRight, func(n int) int { return n + 1 }},
		{kb.PageDown, func(n int) int { return n + 20 }},
		{kb.PageDown, func(n int) int { return n + 20 }},
		{kb.ArrowLeft, func(n int) int { return n - 1 }},
		{kb.PageUp, func(n int) int { return n - 20 }},
		{kb.End, func(int) int { return end }},
		{kb.ArrowRight, func(int) int { return end }},
		{"w", func(int) int { return end }},
		{"W", func(n int) int { return find(s, n, -1, func(p *view.Step) bool { return p.Class == "store" }) }},
		{"W", func(n int) int { return find(s, n, -1, func(p *view.Step) bool { return p.Class == "store" }) }},
		{"w", func(n int) int { return find(s, n, 1, func(p *view.Step) bool { return p.Class == "store" }) }},
		{"D", func(int) int { return s.Deviations[1].Step }},
		{"D", func(int) int { return s.Deviations[0].Step }},
		{"D", func(int) int { return s.Deviations[0].Step }},
		{"d", func(int) int { return s.Deviations[1].Step }},
		{"v", func(int) int { return s.Violation }},
	} {
		now := p.step(0)
		if k.key == "D" && now > s.Deviations[2].Step { // from wherever the stores are
			p.press(kb.Home, kb.PageDown, kb.PageDown)
		}
		p.press(k.key)
		p.shows(0, &r, k.step(now))
	}
	for by, key := range map[int]string{-1: kb.ArrowLeft, 1: kb.ArrowRight} {
		from := 40 // the first after it that has another CPU's step beside it
		for s.Steps[from+by].Event.CPU == s.Steps[from].Event.CPU {
			from++
		}
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = '#step=%d'", from)))
		p.until("document.getElementById('run0').dataset.step === '%d'", from)
		p.shift(key)
		p.shows(0, &r, find(s, from, by, func(q *view.Step) bool { return q.Event.CPU == s.Steps[from].Event.CPU }))
	}

	require.True(t, js[bool](p, "document.getElementById('keys').hidden"))
	p.press("?")
	require.False(t, js[bool](p, "document.getElementById('keys').hidden"))
	require.Equal(t, "true", p.attribute("#keys-button", "aria-expanded"))
	p.press("?")
	require.True(t, js[bool](p, "document.getElementById('keys').hidden"))

	// Where numbers are typed keys are digits.
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.number').select()"))
	p.press(kb.Home, kb.End, "w")
	p.shows(0, &r, p.step(0))
	require.NotContains(t, []int{0, end}, p.step(0))
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.number').select()"))
	p.press("9", "1", kb.Enter)
	p.shows(0, &r, stepOf(s, 91))
}

// stepOf returns the step that an event is.
func stepOf(s *view.Scene, event uint32) int {
	return slices.IndexFunc(s.Steps, func(p view.Step) bool { return p.Event.Seq == event })
}

// A reader who has the number of an event, from replay or explain, types it
// after g, and goes on with the arrow keys. A number that isn't on the page stands
// for the next one that is; one that the run doesn't have goes nowhere, and the page says so.
func TestGoToEvent(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	s := r.Scene
	last := len(s.Steps) - 1
	require.Equal(t, fmt.Sprintf("of %d to %d", s.Steps[0].Event.Seq, s.Steps[last].Event.Seq), p.text(".range"))
	for _, test := range []struct {
		keys string
		step int
	}{
		{"91", stepOf(s, 91)}, {"115", stepOf(s, 115)}, {"0", 0}, {"9", stepOf(s, 21)},
	} {
		p.press("g")
		require.Equal(t, "number", js[string](p, "document.activeElement.className"), test.keys)
		for _, k := range test.keys {
			p.press(string(k))
		}
		p.press(kb.Enter)
		p.shows(0, &r, test.step)
		p.until("document.activeElement.getAttribute('role') === 'slider'")
		p.press(kb.ArrowRight)
		p.shows(0, &r, min(last, test.step+1))
	}
	p.press("g", kb.Backspace, kb.Enter)
	now := p.step(0)
	for _, none := range []string{"9999", "116", "-3", "1e9"} {
		p.until("document.activeElement.getAttribute('role') === 'slider'")
		p.press("g")
		p.press(strings.Split(none, "")...)
		p.press(kb.Enter)
		p.until("document.querySelector('.copied').textContent === 'there is no event %s; events are 0 to 115'", none)
		p.shows(0, &r, now)
	}
	p.press("g", "9", kb.Escape)
	p.until("document.activeElement.getAttribute('role') === 'slider'")
}

func TestButtons(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	for _, b := range []struct {
		name string
		step int
	}{{"first", 0}, {"on", 1}, {"on", 2}, {"back", 1}, {"last", len(r.Scene.Steps) - 1}, {"first", 0},
		{"violation", r.Scene.Violation}} {
		p.click("[data-go=" + b.name + "]")
		p.shows(0, &r, b.step)
	}
	for i, d := range r.Scene.Deviations {
		p.click(fmt.Sprintf(".deviations li:nth-child(%d) button", i+1))
		p.shows(0, &r, d.Step)
		require.Contains(t, p.text(".now .mark"),
			fmt.Sprintf("Deviation %d comes before it: %s", i+1, view.Choice(d.Deviation)))
		require.Equal(t, fmt.Sprintf("before event %d: %s", r.Scene.Steps[d.Step].Event.Seq, view.Choice(d.Deviation)),
			p.text(".deviations .at"))
	}
	for i, told := range r.Scene.Story {
		p.click(fmt.Sprintf(".story li:nth-child(%d) button", i+1))
		p.shows(0, &r, told.Step)
		require.Equal(t, fmt.Sprintf("%d %s event %d", i+1, told.Text, r.Scene.Steps[told.Step].Event.Seq),
			p.text(fmt.Sprintf(".story li:nth-child(%d)", i+1)))
	}
	second := p.text(".steps li:nth-child(2) .no")
	p.click(".steps li:nth-child(2) button")
	require.Equal(t, second, fmt.Sprint(r.Scene.Steps[p.step(0)].Event.Seq))

	// A byte leads to the store that wrote it.
	p.press("v")
	p.click(".patch .bytes button")
	require.Equal(t, "store", r.Scene.Steps[p.step(0)].Class)
	require.Positive(t, js[int](p, "document.querySelectorAll('.bytes td.new').length"))
}

// An address names a step, and follows it.
func TestLink(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, window{wide: 1400, high: 900, hash: "#step=41"})
	p.shows(0, &r, 41)
	p.press(kb.ArrowRight)
	p.until("location.hash === '#e%d'", r.Scene.Steps[42].Event.Seq)
	p.do(chromedp.Evaluate[chromedp.Void]("location.hash = '#e91'"))
	p.until("document.getElementById('run0').dataset.step === '%d'", stepOf(r.Scene, 91))
	p.shows(0, &r, stepOf(r.Scene, 91))
	p.do(chromedp.Evaluate[chromedp.Void]("location.hash = '#94'")) // as people write it
	p.until("document.getElementById('run0').dataset.step === '%d'", stepOf(r.Scene, 94))
	p.do(chromedp.Evaluate[chromedp.Void]("location.hash = '#step=7'"))
	p.until("document.getElementById('run0').dataset.step === '7'")
	p.shows(0, &r, 7)
	// whatever is mailed
	for _, hash := range []string{"#step=x", "#other=1", "#step=", "#", "#step=1e99", "#step=-5", "#event=x", "#event=",
		"#event=1e99", "#event=-5", "#right=3", "#e", "#ex", "#e-1", "#e9,", "#,", "#e99999999999999999999",
		"#e1,e2,e3"} {
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = %q", hash)))
	}
	p.press(kb.Home)
	p.shows(0, &r, 0)

	for hash, says := range map[string]string{"#e9999": "9999", "#ebla": "bla", "#e-1": "-1", "#e116": "116"} {
		none := fmt.Sprintf("there is no event %s; events are 0 to 115", says)
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = %q", hash)))
		p.until("document.querySelector('#missing').textContent === %q", none)
		p.shows(0, &r, 0)
		p.do(chromedp.Evaluate[chromedp.Void]("new Promise(f => setTimeout(f, 200))", chromedp.EvalAwaitPromise))
		require.Equal(t, hash, js[string](p, "location.hash"), "the address stays")
		fresh := open(t, file, window{wide: 1400, high: 900, hash: hash})
		require.Equal(t, none, fresh.text("#missing[role=alert]"))
		fresh.shows(0, &r, r.Scene.Violation)
		fresh.do(chromedp.Evaluate[chromedp.Void]("new Promise(f => setTimeout(f, 200))", chromedp.EvalAwaitPromise))
		require.Equal(t, hash, js[string](fresh, "location.hash"), "the address stays")
		fresh.press(kb.Home)
		fresh.until("location.hash === '#e0' && document.querySelector('#missing').hidden")
		p = fresh
	}

	// One of a page whose runs have gone far apart, too.
	runs := pair(t, "T2-second-instruction")
	both, _ := page(t, runs...)
	p = open(t, both, window{wide: 1400, high: 900, hash: "#step=72&right=30"})
	p.shows(0, &runs[0], 72)
	p.shows(1, &runs[1], 30)
	p = open(t, both, window{wide: 1400, high: 900, hash: "#e91,e60"})
	p.shows(0, &runs[0], stepOf(runs[0].Scene, 91))
	p.shows(1, &runs[1], stepOf(runs[1].Scene, 60))
	p.click("#run1 [data-go=on]") // and both move on
	p.until("/^#e\\d+,e61$/.test(location.hash)")
}

// After a sentence, g, v, d and n the browser's "back" returns to the event before; arrow keys leave no such places.
func TestHistory(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	p.until("location.hash === '#e115'")
	p.do(chromedp.Evaluate[chromedp.Void](`window.pushed = 0;
		history.pushState = function(...of) { pushed++; return History.prototype.pushState.apply(this, of); }`))
	want := []string{}
	for _, move := range []func(){
		func() { p.click(".story li:nth-child(2) button") }, func() { p.press("g", "4", "1", kb.Enter) },
		func() { p.press("n") }, func() { p.press("v") }, func() { p.press("D") },
	} {
		want = append(want, js[string](p, "location.hash"))
		move()
		p.until("location.hash !== %q", want[len(want)-1])
		require.Equal(t, len(want), js[int](p, "pushed"))
		p.until("!document.activeElement.matches('.number')") // Enter has the lanes get the focus
	}
	p.press(kb.ArrowRight, kb.ArrowRight)
	p.until("location.hash === '#e%d'", r.Scene.Steps[p.step(0)].Event.Seq)
	require.Equal(t, len(want), js[int](p, "pushed"))
	for _, hash := range slices.Backward(want) {
		p.do(chromedp.Evaluate[chromedp.Void]("history.back()"))
		p.until("location.hash === %q && '#e' + document.querySelector('#run0 .at .no').textContent === %[1]q", hash)
	}
}

// All events are searched, folded ones too: texts, functions and addresses. Hits are counted and gone through.
func TestSearch(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	ask := func(query string) {
		p.press("/")
		require.Equal(t, "query", js[string](p, "document.activeElement.id"))
		p.do(chromedp.Evaluate[chromedp.Void]("kpsim.query.value = ''")) // chromedp types the key there, too
		p.press(strings.Split(query, "")...)
	}
	ask("cpu1 #bp")
	var want []int
	for i := range r.Scene.Steps {
		s := &r.Scene.Steps[i]
		if s.Event.CPU == 1 && strings.Contains(strings.ToLower(s.Says+s.Event.Kind.String()), "#bp") {
			want = append(want, i)
		}
	}
	hits := js[[]int](p, "kpsim.viewers[0].hits('cpu1 #bp')")
	require.NotEmpty(t, want)
	require.Subset(t, hits, want)
	for i := range hits {
		p.press(kb.Enter)
		p.shows(0, &r, hits[i])
		require.Equal(t, fmt.Sprintf("%d of %d", i+1, len(hits)), p.text("#find .found"))
	}
	p.press(kb.Enter)
	p.shows(0, &r, hits[0])
	p.click("[data-find='-1']")
	p.shows(0, &r, hits[len(hits)-1])
	p.press("v")
	ask("victim+0x1")
	require.Regexp(t, `^\d+ of \d+$`, p.text("#find .found"), "the violation has the address")
	// An address is found by its name and by its number alike, and each store is.
	site := js[string](p, "kpsim.viewers[0].run.texts[0].name")
	number := js[string](p, "kpsim.viewers[0].run.texts[0].at")
	require.Regexp(t, `^victim\+0x0 0xf{8}8[0-9a-f]{7}$`, site+" "+number)
	named := js[[]int](p, "kpsim.viewers[0].hits(%q)", site)
	require.Equal(t, named, js[[]int](p, "kpsim.viewers[0].hits(%q)", number))
	stores := 0
	for i := range r.Scene.Steps {
		if strings.HasPrefix(r.Scene.Steps[i].Says, "store "+site) {
			require.Contains(t, named, i)
			stores++
		}
	}
	require.Positive(t, stores)
	for _, at := range r.Scene.Symbols {
		require.Equal(t, js[[]int](p, "kpsim.viewers[0].hits('%s+0x1')", at.Name),
			js[[]int](p, "kpsim.viewers[0].hits('%#x')", at.At+1), at.Name)
	}
	ask("nothing like it")
	require.Equal(t, "no event", p.text("#find .found"))
	require.True(t, js[bool](p, "document.querySelector('[data-find]').disabled"))
	p.press(kb.Escape)
	p.until("document.activeElement.getAttribute('role') === 'slider'")
}

// A page opens at the event that its maker named, unless its address names one.
func TestOpensAt(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := pageAt(t, "91", r)
	open(t, file, desk).shows(0, &r, stepOf(r.Scene, 91))
	open(t, file, window{wide: 1400, high: 900, hash: "#e40"}).shows(0, &r, stepOf(r.Scene, 40))
}

// Each event of the list has a link, and so has what is shown: c copies it. A link of the second run takes the
// first along.
func TestLinks(t *testing.T) {
	runs := pair(t, "T2-second-instruction")
	file, _ := page(t, runs...)
	p := open(t, file, desk)
	links := js[[]string](p, `Array.from(document.querySelectorAll("#run0 a.no")).map(a =>
		a.textContent + " " + a.getAttribute("href") + " " + a.title)`)
	require.Len(t, links, js[int](p, "document.querySelectorAll('#run0 .steps li:not(.fold)').length"))
	for _, l := range links {
		require.Regexp(t, `^(\d+) #e\d+ link to event \d+$`, l)
		f := strings.Fields(l)
		require.Equal(t, "#e"+f[0], f[1])
		require.Equal(t, f[0], f[5])
	}
	p.click("#run0 .steps li:nth-child(2) a")
	p.until("document.querySelector('#run0 .at .no').textContent === %q", strings.Fields(links[1])[0])
	// The address that follows what was shown comes between a link and its event.
	p.do(chromedp.Evaluate[chromedp.Void]("location.hash = '#e91'; history.replaceState(null, '', '#e115')"))
	p.until("document.querySelector('#run0 .at .no').textContent === '91'")
	p.do(chromedp.Evaluate[chromedp.Void](
		"location.hash = document.querySelector('#run1 .steps li:nth-child(3) a').hash"))
	p.until("document.querySelector('#run1 .at .no').textContent === location.hash.match(/e(\\d+)$/)[1]")
	event := p.text("#run0 .at .no")
	p.do(chromedp.Evaluate[chromedp.Void](
		"navigator.clipboard.writeText = async text => { window.copied = text; }"))
	p.press("c")
	p.until("Array.from(document.querySelectorAll('.copied')).some(e => e.textContent !== '')")
	copied := js[string](p, "window.copied")
	require.Equal(t, p.url+"#e"+event+",e"+p.text("#run1 .at .no"), copied)
	require.Equal(t, "copied: #e"+event+",e"+p.text("#run1 .at .no"), p.text("#run0 .copied")+p.text("#run1 .copied"))
	require.Equal(t, "status", p.attribute(".copied", "role"), "it is read out")
	require.Equal(t, []string{"", ""}, js[[]string](p, `(() => {
		const later = [], { setTimeout, clearTimeout } = window;
		window.setTimeout = f => later.push(f) - 1;
		window.clearTimeout = i => { delete later[i]; };
		for (const v of kpsim.viewers) kpsim.say(v, "said");
		Object.assign(window, { setTimeout, clearTimeout });
		later.forEach(f => f());
		return Array.from(document.querySelectorAll(".copied")).map(e => e.textContent);
	})()`), "each run's line goes")

	one, _ := page(t, runs[0])
	p = open(t, one, desk)
	p.press("v")
	p.do(chromedp.Evaluate[chromedp.Void](`navigator.clipboard.writeText = async () => { throw new Error("no"); };
		document.addEventListener("copy", () => { window.copied = document.activeElement.value; })`))
	p.click("[data-go=link]")
	p.until("document.querySelector('.copied').textContent === 'copied: #e115'")
	require.Equal(t, p.url+"#e115", js[string](p, "window.copied"))
	require.Equal(t, "link", js[string](p, "document.activeElement.dataset.go"), "the focus stays")
}

// What only one of two runs has comes before its story, and is gone through by x, in whichever run it is.
func TestApart(t *testing.T) {
	runs := pair(t, "T2-second-instruction")
	file, _ := page(t, runs...)
	p := open(t, file, window{wide: 1280, high: 800})
	type start struct {
		run, step int
		time      uint64
	}
	var starts []start
	for i := range runs {
		at := fmt.Sprintf("#run%d ", i)
		only := js[[]int](p, "(r => [...r.only.keys()].filter(s => r.only[s]))(kpsim.viewers[%d].run)", i)
		require.NotEmpty(t, only)
		require.Contains(t, p.text(at+".apart"), fmt.Sprintf("Only in this run: %d of %d events", len(only),
			len(runs[i].Scene.Steps)))
		require.Less(t, p.box(at+".apart").Bottom, p.box(at+".tale").Top, "before the story")
		require.Less(t, p.box(at+".apart").Bottom, 200.0, "at the top")
		require.Contains(t, p.attribute(at+".apart button", "title"), "Go to event")
		p.click(at + ".apart button:last-of-type")
		require.Equal(t, 1, js[int](p, "(v => v.run.only[v.step])(kpsim.viewers[%d])", i))
		for k, s := range only {
			if k == 0 || only[k-1] != s-1 {
				starts = append(starts, start{i, s, runs[i].Scene.Steps[s].Time})
			}
		}
	}
	slices.SortStableFunc(starts, func(a, b start) int { return cmp.Compare(a.time, b.time) })
	starts = slices.CompactFunc(starts, func(a, b start) bool { return a.time == b.time })
	p.press(kb.Home)
	for _, s := range starts {
		p.press("x")
		require.Equal(t, s.step, p.step(s.run), "%+v of %+v", s, starts)
	}
	p.press("X")
	before := starts[len(starts)-2]
	require.Equal(t, before.step, p.step(before.run))
	same, _ := page(t, runs[0], runs[0])
	require.Zero(t, js[int](open(t, same, desk), "document.querySelectorAll('.apart').length"))
}

// Two runs go together as far as they are the same, and then by time.
func TestPair(t *testing.T) {
	runs := pair(t, "T2-second-instruction")
	file, _ := page(t, runs...)
	p := open(t, file, desk)
	a, b := runs[0].Scene, runs[1].Scene
	parted := 0
	for a.Steps[parted].Event.CPU == b.Steps[parted].Event.CPU && a.Steps[parted].Says == b.Steps[parted].Says {
		parted++
	}
	require.Contains(t, p.text(".parted"), fmt.Sprintf("They part at event %d.", a.Steps[parted].Event.Seq))
	p.click(".parted button")
	p.shows(0, &runs[0], parted)
	p.shows(1, &runs[1], parted)
	for i := range 3 {
		p.press(kb.ArrowLeft)
		p.shows(0, &runs[0], parted-1-i)
		p.shows(1, &runs[1], parted-1-i)
	}
	// later returns the last step of a run that isn't later than one of the other.
	later := func(of, than *view.Scene, step int) int {
		at := parted
		for i := range of.Steps {
			if of.Steps[i].Time <= than.Steps[step].Time {
				at = max(at, i)
			}
		}
		return at
	}
	for _, step := range []int{parted + 1, 60, 72, a.Violation} {
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = '#step=%d'", step)))
		p.until("document.getElementById('run0').dataset.step === '%d'", step)
		p.shows(1, &runs[1], later(b, a, step))
	}

	// The one that was touched last is the one that keys move; and it takes the other along.
	p.click("#run1 [data-go=first]")
	p.press(kb.PageDown)
	p.shows(1, &runs[1], 20)
	p.shows(0, &runs[0], 20)
	p.press(kb.End)
	p.shows(1, &runs[1], len(b.Steps)-1)
	p.shows(0, &runs[0], later(a, b, len(b.Steps)-1))

	p.click("#run1 .now")
	p.press(kb.End)
	p.shows(1, &runs[1], len(b.Steps)-1)

	p.click(".parted input")
	p.press(kb.Home)
	p.click("#run1 [data-go=first]")
	p.shows(1, &runs[1], 0)
	p.shows(0, &runs[0], later(a, b, len(b.Steps)-1))
	p.do(chromedp.Focus(chromedp.CSS("#run0 [role=slider]")))
	p.press(kb.Home, kb.ArrowRight)
	p.shows(0, &runs[0], 1)
	p.shows(1, &runs[1], 0)

	same, _ := page(t, runs[0], runs[0])
	p = open(t, same, desk)
	require.Contains(t, p.text(".parted"), "The same, event by event.")
	require.Equal(t, a.Violation, p.step(1))
}

// Everything can be reached and done without a mouse, and is announced to
// screen readers.
func TestKeyboardAlone(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	file, _ := page(t, r)
	p := open(t, file, desk)
	var order []string
	for range 40 {
		p.press(kb.Tab)
		name := js[string](p, `(() => {
			const e = document.activeElement;
			if (e === document.body) return "";
			return e.id || e.dataset.go || e.getAttribute("role") || e.className || e.closest("ol, .patch, details")?.className || e.tagName;
		})()`)
		if name == "" {
			break
		}
		if len(order) == 0 || order[len(order)-1] != name {
			order = append(order, name)
		}
		require.NotEqual(t, "none", js[string](p, "getComputedStyle(document.activeElement).outlineStyle"),
			"%s shows that it has the focus", name)
		require.True(t, js[bool](p,
			`(e => !e.closest("header, .controls") || e.offsetHeight >= 24 && e.offsetWidth >= 24)(document.activeElement)`), "%s is large enough to be hit (WCAG 2.2, 2.5.8)", name)
		require.NotEmpty(t, js[string](p,
			`(e => e.getAttribute("aria-label") || e.textContent || e.labels?.[0]?.textContent)(document.activeElement)`), "%s has a name", name)
	}
	require.Equal(t, []string{"query", "keys-button", "story", "previous", "next", "slider", "first", "back", "on",
		"last", "violation", "number", "link", "fold", "closer", "wider", "all", "axis", "patch site", "patch", "SUMMARY",
		"deviations"},
		order)

	require.Equal(t, "polite", p.attribute(".now", "aria-live"))
	slider := "[role=slider]"
	require.Equal(t, "0", p.attribute(slider, "aria-valuemin"))
	require.Equal(t, "115", p.attribute(slider, "aria-valuemax"))
	require.NotEmpty(t, p.attribute(slider, "aria-label"))
	p.do(chromedp.Focus(chromedp.CSS(slider)))
	p.press(kb.Home, kb.ArrowRight)
	p.shows(0, &r, 1)
	p.do(chromedp.EmulateViewport(1400, 400), chromedp.Evaluate[chromedp.Void]("window.scrollTo(0, 100)"))
	p.press(kb.PageDown, kb.End, kb.Home, kb.ArrowRight)
	p.frames()
	require.Equal(t, 100.0, js[float64](p, "window.scrollY"), "the keys are the steps'")
	p.do(chromedp.EmulateViewport(1400, 900))
	p.do(chromedp.Focus(chromedp.CSS(".deviations li:nth-child(2) button")))
	p.press(kb.Enter)
	p.shows(0, &r, r.Scene.Deviations[1].Step)
	p.do(chromedp.Focus(chromedp.CSS("[data-go=back]")))
	p.press(" ")
	p.shows(0, &r, r.Scene.Deviations[1].Step-1)
	require.Equal(t, "back", js[string](p, "document.activeElement.dataset.go"), "the focus stays")
}

// Nothing sticks out of a window or is cut, with one run or two.
func TestNarrow(t *testing.T) {
	one, _ := page(t, witness(t, "S1-cancel-rcu-pages"))
	two, _ := page(t, pair(t, "T2-second-instruction")...)
	names, _ := page(t, long(t, 500)) // which are long
	for _, file := range []string{one, two, names} {
		for _, wide := range thorough.Of([]int64{400, 1280}, []int64{400, 700, 1000, 1280}) {
			p := open(t, file, window{wide: wide, high: 800})
			require.Empty(t, js[[]string](p, pagetest.Unnamed), "%d pixels", wide)
			require.Empty(t, js[[]string](p, pagetest.Cut), "%d pixels", wide)
			for _, key := range []string{kb.Home, kb.PageDown, "d", "d", "v", "?"} {
				p.press(key)
				require.LessOrEqual(t, js[int64](p, "document.documentElement.scrollWidth"), wide, "%d pixels, %s",
					wide, key)
			}
			require.Empty(t, js[[]string](p, pagetest.Cut), "%d pixels, with the list of keys", wide)
		}
	}
}

// Texts stand out from their background by 4.5:1 (WCAG 2.2, 1.4.3), also those that are drawn;
// edges of what is drawn, of buttons and of what has the focus by 3:1 (1.4.11). The page
// follows a reader who switches to dark mode.
func TestContrast(t *testing.T) {
	file, _ := page(t, witness(t, "T2-second-instruction"))
	const ratio = `(() => {
		const style = getComputedStyle(document.documentElement);
		const light = name => {
			const c = style.getPropertyValue("--" + name).trim().slice(1).match(/../g).map(h => parseInt(h, 16) / 255)
				.map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
		};
		const low = [], kinds = ["task", "idle", "trap", "call", "wait", "stop", "lock"];
		const differ = (fore, backs, by) => {
			for (const back of backs) {
				const [a, b] = [light(fore), light(back)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
				if (!(ratio >= by)) low.push(fore + " on " + back + " " + ratio);
			}
		};
		differ("fg", ["bg", "band", "stale", "new", ...kinds], 4.5);
		for (const text of ["soft", "mark", "link"]) differ(text, ["bg", "band"], 4.5);
		for (const kind of kinds) differ(kind + "-edge", ["bg"], 3);
		differ("inside-fg", ["inside"], 4.5);
		differ("told-fg", ["told"], 4.5);
		differ("told-fg", ["cursor"], 3); // a large bold number
		differ("differ", ["bg", "band"], 4.5);
		differ("inside-edge", ["bg"], 3);
		differ("edge", ["bg", "band"], 3);
		differ("cursor", ["bg", "band"], 3);
		for (const mark of ["link", "mark"]) differ(mark, ["bg", ...kinds], 3);
		return low;
	})()`
	for _, dark := range []bool{false, true} {
		p := open(t, file, window{wide: 1400, high: 900, dark: dark})
		require.Empty(t, js[[]string](p, ratio))
		bright := func() int {
			return js[int](p, "Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
		}
		require.Equal(t, dark, bright() < 128)
		was := js[string](p, "kpsim.viewers[0].colour('task')")
		p.frames()
		drawings := js[int](p, "kpsim.draws.length")
		scheme := map[bool]string{false: "dark", true: "light"}[dark]
		_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		require.NoError(t, err)
		p.until("kpsim.viewers[0].colour('task') !== %q", was)
		require.Equal(t, dark, bright() >= 128)
		p.until("kpsim.draws.length > %d", drawings)
	}
}

// Without colour kinds of spans differ by their lines, and the legend has the same kinds.
func TestHatchings(t *testing.T) {
	file, _ := page(t, witness(t, "T2-second-instruction"))
	p := open(t, file, desk)
	tiles := js[map[string]string](p, `(v => Object.fromEntries(["trap", "wait", "stop", "lock", "call",
		"held"].map(kind => {
		const data = v.hatching(kind).getContext("2d").getImageData(0, 0, 8, 8).data;
		return [kind, Array.from({ length: 64 }, (_, i) => data[4 * i + 3] > 50 ? "#" : ".").join("")];
	})))(kpsim.viewers[0])`)
	seen := map[string]string{strings.Repeat(".", 64): "task"}
	for _, kind := range slices.Sorted(maps.Keys(tiles)) {
		require.Empty(t, seen[tiles[kind]], "%s is like %s", kind, seen[tiles[kind]])
		seen[tiles[kind]] = kind
		if kind == "held" { // no store of this run is
			continue
		}
		require.Contains(t, js[string](p, "getComputedStyle(document.querySelector('.key.%s'), '::before')"+
			".backgroundImage", kind), "gradient")
	}
}

// Up to four lanes are in sight together in a small window, and so is the band of what stands inside, with its name.
func TestAllLanes(t *testing.T) {
	for name, runs := range map[string][]viewer.Run{"two": {witness(t, "T2-second-instruction")},
		"pair": pair(t, "T2-second-instruction"), "four": {onCPUs(t, 4)}} {
		file, _ := page(t, runs...)
		p := open(t, file, window{wide: 683, high: 512})
		p.frames()
		for i := range runs {
			hidden := js[int](p, `(v => {
				const [top, bottom] = v.inside();
				return v.lane.filter(l => l.top < top || l.wait > bottom).length;
			})(kpsim.viewers[%d])`, i)
			require.Zero(t, hidden, name)
		}
	}
	file, _ := page(t, witness(t, "T2-second-instruction"))
	p := open(t, file, window{wide: 1024, high: 768})
	drawn := js[[]string](p, `(v => {
		const drawn = [], c = v.canvas.getContext("2d"), fill = c.fillText;
		c.fillText = text => { drawn.push(text); };
		v.draw();
		c.fillText = fill;
		return drawn;
	})(kpsim.viewers[0])`)
	require.Contains(t, drawn, "stands inside the 5 bytes at victim+0x0")
}

// On a phone what is touched is high enough, keys aren't hinted at, and a link to an event shows it.
func TestPhone(t *testing.T) {
	file, _ := page(t, witness(t, "T2-second-instruction"))
	p := open(t, file, window{wide: 360, high: 740, hash: "#e41"})
	box := p.box(".now")
	require.GreaterOrEqual(t, box.Top, 0.0)
	require.LessOrEqual(t, box.Bottom, 740.5)
	require.Empty(t, js[[]string](p, `Array.from(document.querySelectorAll("button, input, summary, a.no")).filter(e =>
		e.checkVisibility() && e.getBoundingClientRect().height < 39.5).map(e => e.outerHTML.slice(0, 90))`))
	require.Zero(t, js[int](p, `Array.from(document.querySelectorAll("kbd, #keys-button")).filter(e =>
		e.checkVisibility()).length`))
	require.Empty(t, js[[]string](p, pagetest.Cut))
}

// A page says that it isn't what its file says.
func TestBanner(t *testing.T) {
	r := witness(t, "K1-lock-in-nmi")
	r.Banner = "the digest is <1>; the file says 2"
	file, _ := page(t, r)
	p := open(t, file, desk)
	require.Equal(t, "Not what the file says. the digest is <1>; the file says 2", p.text(".banner[role=alert]"))
}

// What only the end of a run shows is there, too; and a run that breaks nothing begins at its
// beginning.
func TestEnds(t *testing.T) {
	r := witness(t, "P3-back-off")
	file, _ := page(t, r)
	p := open(t, file, desk)
	p.shows(0, &r, len(r.Scene.Steps)-1)
	require.Contains(t, p.text(".now .mark"), "This is the violation: P3 returns")
	passes := pair(t, "T2-second-instruction")[1]
	file, _ = page(t, passes)
	p = open(t, file, desk)
	p.shows(0, &passes, 0)
	require.True(t, js[bool](p, "document.querySelector('[data-go=violation]').disabled"))
	p.press("v")
	p.shows(0, &passes, 0)
}
