package page

import (
	"flag"
	"fmt"
	"image"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/pagetest"
	"kpsim/internal/ui/page/plot"
)

var write = flag.String("write", "", "write the page of the tests to this file, to be looked at")

// testDocument has one of everything.
func testDocument(t *testing.T) *Document {
	t.Helper()
	lines := plot.New("CPUs", "hits per second")
	for i := range plot.Series {
		require.NoError(t, lines.AddLine(i, plot.XYs{{X: 1, Y: 1}, {X: 64, Y: float64(2 + i)}}, i%2 == 0))
	}
	plot.DoublingAxis(&lines.X, 64)
	plot.LogAxis(&lines.Y)
	bars := plot.New("µs a hit", "")
	pieces := make([][]float64, plot.Pieces)
	for i := range pieces {
		pieces[i] = []float64{1, float64(i)}
	}
	require.NoError(t, bars.AddBars([]string{"k", "<o>"}, pieces))
	ranges := plot.New("schedules", "")
	require.NoError(t, ranges.AddRanges([]string{"first", "second"},
		[]plot.Range{{Low: 1, Middle: 2, High: 5, Farthest: 40}, {Low: 10, Middle: 10, High: 10, Farthest: 10}}))
	plot.LogAxis(&ranges.X)
	return &Document{
		Title: "A <page>", Lead: []Text{"What `x<y` is & isn't."}, Command: "kpsim page --html 'a b.html'",
		Foot: "The end.",
		Sections: []Section{
			{ID: "one", Title: "One & only", Blocks: []Block{
				Text("Prose."), List{"an item", "one with `code`"}, Steps{"the first", "then `this`"},
				&Table{Caption: "Numbers.", Head: []string{"probe", "by", "µs"}, Text: 2, Groups: []Group{
					{Name: "Pentium M",
						Rows: [][]Cell{Row("k", "us", "0.57"),
							{{Text: "j"}, {Text: "us"}, {Text: "1.20", Mark: "far off"}}}},
					{Rows: [][]Cell{Row("o", "us", "-0.05")}},
				}},
				&Table{Caption: "Verdicts.", Over: []Over{{"", 1}, {"<none>", 2}},
					Head: []string{"row", "stale", "mixing"},
					Text: 3, Groups: []Group{{Rows: [][]Cell{
						{{Text: "a/b-c", Code: true, ID: "row-a"}, {Text: "Never", Is: Good},
							{Text: "T1/2", Is: Bad, To: "more"}},
						{{Text: "d", To: "row-a"}, {Text: "blind", Is: Neither}, {Text: "?", ID: "last"}},
					}}}},
			}},
			{ID: "two", Title: "Two", Blocks: []Block{
				&Figure{Caption: "Lines and bars.",
					Legend: []Key{{Name: "first", Of: 1}, {Name: "locks", Of: 4, Piece: true}},
					Plots: []Plot{{Title: "lines & lines", Says: "Eight go up.", Plot: lines},
						{Title: "bars", Says: "Two <bars>.", Plot: bars, Height: plot.BarsHeight(2)},
						{Title: "ranges", Says: "Two ranges.", Plot: ranges, Height: plot.RangesHeight(2)}}},
				&Details{ID: "more", Summary: "More",
					Blocks: []Block{Text("Hidden."),
						&Table{Caption: "Two.", Head: []string{"n"}, Groups: []Group{{Rows: [][]Cell{Row("1")}}}}}},
			}},
		},
	}
}

func render(t *testing.T, d *Document) string {
	t.Helper()
	b, err := d.Render()
	require.NoError(t, err)
	return string(b)
}

func TestRender(t *testing.T) {
	d := testDocument(t)
	text := render(t, d)
	if *write != "" {
		require.NoError(t, os.WriteFile(*write, []byte(text), 0o644))
	}
	require.Equal(t, text, render(t, d), "again, of the same document")
	require.Equal(t, text, render(t, testDocument(t)))
	pagetest.Check(t, text)
	for _, want := range []string{
		"<title>A &lt;page&gt;</title>", "<h1>A &lt;page&gt;</h1>",
		"<p>What <code>x&lt;y</code> is &amp; isn&#39;t.</p>",
		"<code>kpsim page --html &#39;a b.html&#39;</code>",
		`<a href="#one">One &amp; only</a>`,
		`<section id="two" aria-labelledby="two-title">`, "<li>one with <code>code</code></li>",
		`<th scope="col">by</th><th scope="col" class="n">µs</th>`, `<th scope="rowgroup" colspan="3">Pentium M</th>`,
		`<th scope="row">k</th><td>us</td><td class="n">0.57</td>`,
		`<td class="n"><strong class="mark"><span aria-hidden="true">! </span>1.20<span class="unseen">, far off</span></strong></td>`,
		`<tr><th scope="row" class="n">1</th></tr>`,
		"<details id=\"more\">\n<summary>More</summary>", "<b>Figure 1.</b> Lines and bars.", "<b>Table 3.</b> Two.",
		`<tr class="over"><td colspan="1"></td><th scope="colgroup" colspan="2">&lt;none&gt;</th></tr>`,
		`<colgroup span="2"></colgroup>`,
		`<th scope="row" id="row-a"><code>a/<wbr>b-<wbr>c</code></th><td><span class="good"><span aria-hidden="true">✓ </span>Never</span></td>`,
		`<td><span class="bad"><span aria-hidden="true">✗ </span><a href="#more">T1/<wbr>2</a></span></td>`,
		`<th scope="row"><a href="#row-a">d</a></th><td><span class="neither"><span aria-hidden="true">◦ </span>blind</span></td><td id="last">?</td>`,
		`<title id="plot-1-title">lines &amp; lines</title>`, `<desc id="plot-2-says">Two &lt;bars&gt;.</desc>`,
		`stroke:var(--s7)`, `fill:url(#hatch-5)`, `class="s1" d="M0,6H34" stroke-dasharray="8 2"`,
		`fill="url(#hatch-4)"`, "<p>The end.</p>",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "<page>")
	require.Contains(t, text, ">&lt;o&gt;</text>")
}

func TestRenderFaults(t *testing.T) {
	for want, change := range map[string]func(d *Document){
		`section "Two": the ID "one" is there already`: func(d *Document) { d.Sections[1].ID = "one" },
		`a cell links to "more", which there isn't`: func(d *Document) {
			d.Sections[1].Blocks[1].(*Details).ID = ""
		},
		`page: d: the ID "row-a" is there already`: func(d *Document) { verdicts(d)[1][0].ID = "row-a" },
		`page: More: the ID "last" is there already`: func(d *Document) {
			d.Sections[1].Blocks[1].(*Details).ID = "last"
		},
		`page: ?: the ID "a b" is there already, or is none`: func(d *Document) { verdicts(d)[1][2].ID = "a b" },
		`page: n: the ID "two" is there already`: func(d *Document) {
			d.Sections[1].Blocks[1].(*Details).Blocks[1].(*Table).Groups[0].Rows[0][0] = Cell{Text: "n", ID: "two"}
		},
		`the ID "main" is there already`:            func(d *Document) { d.Sections[0].ID = "main" },
		`the ID "A b" is there already, or is none`: func(d *Document) { d.Sections[0].ID = "A b" },
		`nothing says what the plot "bars" shows`: func(d *Document) {
			d.Sections[1].Blocks[0].(*Figure).Plots[1].Says = ""
		},
	} {
		d := testDocument(t)
		change(d)
		_, err := d.Render()
		require.ErrorContains(t, err, want)
	}
}

// verdicts are the rows of the table that has some.
func verdicts(d *Document) [][]Cell { return d.Sections[0].Blocks[4].(*Table).Groups[0].Rows }

func TestBroken(t *testing.T) {
	for text, want := range map[string]string{"": "", "a/b-c": "a/|b-|c", "T2/3@0-2,7": "T2/|3@|0-|2,|7",
		"kpsim x --to-do a_b": "kpsim x --to-|do a_b", "-1": "-1", "/a/": "/a/|", "lea 0x1(%rdi)": "lea 0x1(%rdi)",
		"__ftrace_hash_rec_update, stop_machine/x": "__ftrace_|hash_|rec_|update, stop_machine/|x"} {
		require.Equal(t, want, strings.Join(broken(text, true), "|"))
	}
	require.Equal(t, "a/b-c arch_|prepare_|kretprobe", strings.Join(broken("a/b-c arch_prepare_kretprobe", false), "|"),
		"which isn't code")
}

// A browser has nothing to say against it, has all that is in it, and paints it.
func TestInChromium(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte(render(t, testDocument(t))), 0o644))
	o := pagetest.Open(t, file, 400, 800)
	require.Empty(t, o.Console)
	require.Equal(t, 2, strings.Count(o.DOM, "<section "))
	require.Equal(t, image.Rect(0, 0, 400, 800), o.Picture.Bounds())
	pagetest.Fits(t, file)

	// The opposite case: a script isn't run, and is reported.
	bad := strings.Replace(render(t, testDocument(t)), "</main>", "<script>document.title = 'run'</script></main>", 1)
	require.NoError(t, os.WriteFile(file, []byte(bad), 0o644))
	o = pagetest.Open(t, file, 400, 800)
	require.NotEmpty(t, o.Console)
	require.NotContains(t, o.DOM, "<title>run</title>")
}

// wide is a page with a table that is wider and longer than any window, and one that is folded.
func wide(t *testing.T) string {
	t.Helper()
	table := &Table{Caption: "Much.", Text: 2}
	for i := range 9 {
		table.Head = append(table.Head, fmt.Sprintf("heading %d", i))
	}
	for i := range 60 {
		row := Row(fmt.Sprintf("ftrace_update_direct_callers_%d_of_many", i),
			"text_poke, arch_prepare_optimized_kprobe")
		row[0].Code = true
		for k := range 7 {
			row = append(row, Cell{Text: strings.Repeat("9", 4+k)})
		}
		table.Add(row...)
	}
	d := &Document{Title: "Wide", Command: "kpsim page " + strings.Repeat("a", 150), Sections: []Section{{ID: "wide",
		Title: "Wide", Blocks: []Block{table, &Details{Summary: "More", Blocks: []Block{Text("What is folded.")}}}}}}
	return render(t, d)
}

// Fits notices each thing that it is for, when the stylesheet doesn't have it.
func TestFitsNotices(t *testing.T) {
	text := wide(t)
	spoils := []struct{ from, to, want string }{
		{"<title>", "<title>", ""},
		{"overflow: auto; position: relative;", "overflow: hidden; position: relative;", "is cut by div.scroll"},
		{"overflow: auto; position: relative;", "position: relative;", "is outside of the window"},
		{"tr > :first-child { position: sticky; left: 0;", "tr > :first-child {",
			`"ftrace_update_direct_callers_0" doesn't stay`},
		{"thead { position: sticky; top: 0;", "thead {", "the headings of div.scroll have gone"},
		{" local,", " scroll,", "nothing says that div.scroll scrolls"},
		{`role="region" tabindex="0"`, `role="region"`, "no key reaches it"},
		{"white-space: pre-wrap; overflow-wrap: anywhere;", "", "scrolls, and no key reaches it"},
		{"	.scroll { overflow: visible; max-height: none;", "	.scroll {",
			"703 by 1000: div.scroll has more than is printed"},
		{"thead { position: static;", "thead {", "703 by 1000: thead sticks"},
		{"nav, .skip { display: none; }", "", "703 by 1000: nav#contents is for the screen"},
		{"content-visibility: visible;", "", "what details folds isn't printed"},
		{`<section id="wide" aria-labelledby="wide-title">`, `<section id="wide">`, ""}, // the heading names it
		{"<summary>More</summary>", "<summary></summary>", "summary has no name"},
		{"<wbr>", "", `"ftrace_update_direct_callers_0" takes`},
		{"</main>", "<button>?</button></main>", `"?" has no tooltip`},
		{"</main>", `<button aria-label="Begin again">From the start</button></main>`, `and is called "Begin again"`},
	}
	var spoilt []string
	for _, s := range spoils {
		require.Contains(t, text, s.from)
		spoilt = append(spoilt, strings.ReplaceAll(text, s.from, s.to))
	}
	for i, found := range pagetest.Look(t, spoilt...) {
		if spoils[i].want == "" {
			require.Empty(t, found.Faults)
			require.Equal(t, []string{"Table 1. Much."}, found.Scroll[1], "at 400 pixels")
			continue
		}
		require.Contains(t, strings.Join(found.Faults, "\n"), spoils[i].want, "without %s", spoils[i].from)
	}
}

// Texts stand out from their background by 4.5 to 1, lines and bars by 3 to 1
// (WCAG 2.2, 1.4.3 and 1.4.11), by light and in the dark.
func TestContrast(t *testing.T) {
	schemes := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(string(Stylesheet), -1)
	require.Len(t, schemes, 2)
	for _, scheme := range schemes {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--(\w+): #(\w{6});`).FindAllStringSubmatch(scheme[1], -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		require.Len(t, colours, 10+plot.Series)
		for name := range colours {
			least := 4.5
			switch {
			case name == "bg" || name == "band" || name == "line":
				continue
			case name[0] == 's' && name != "soft":
				least = 3
			}
			for _, behind := range []string{"bg", "band"} {
				if least == 3 && behind == "band" {
					continue // no plot is there
				}
				high, low := max(colours[name], colours[behind]), min(colours[name], colours[behind])
				require.GreaterOrEqual(t, (high+0.05)/(low+0.05), least, "%s on %s", name, behind)
			}
		}
	}
}

// luminance is that of WCAG.
func luminance(t *testing.T, hex string) (sum float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// Every series has dashes of its own, and the stylesheet a colour for each and each piece.
func TestStyles(t *testing.T) {
	seen := map[string]bool{}
	for i := range plot.Series {
		require.False(t, seen[plot.Dashes(i)])
		seen[plot.Dashes(i)] = true
		require.Contains(t, Stylesheet, ".s"+strconv.Itoa(i)+" {")
	}
	text := render(t, testDocument(t))
	for i := range plot.Pieces {
		require.Contains(t, Stylesheet, ".f"+strconv.Itoa(i)+" {")
		require.Contains(t, text, `<pattern id="hatch-`+strconv.Itoa(i)+`"`)
	}
}

// overlaps has a browser say, in the page's title, how many texts of plots there are, and
// which of them run into a bar or into another text.
const overlaps = `<style>svg text { font-family: "DejaVu Sans Mono", monospace !important; font-weight: bold !important; }</style><script>
const bad = [], texts = [...document.querySelectorAll("svg[role=group] > text")];
const meets = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 4 && b.top < a.bottom - 4;
texts.forEach((t, i) => {
	const box = t.getBoundingClientRect(), svg = t.ownerSVGElement;
	svg.querySelectorAll("path").forEach(p => { if (p.getAttribute("style").includes("url(#hatch") && meets(box, p.getBoundingClientRect())) bad.push(t.textContent + " runs into a bar"); });
	texts.slice(i + 1).forEach(u => { if (u.ownerSVGElement == svg && meets(box, u.getBoundingClientRect())) bad.push(t.textContent + " runs into " + u.textContent); });
	const all = svg.getBoundingClientRect();
	if (box.left < all.left - 1 || box.right > all.right + 1) bad.push(t.textContent + " stands out");
});
document.title = texts.length + " texts; " + bad.join("; ");
</script>`

// Labels don't run into bars or each other where the browser has another, wider font.
func TestLabelsInAnotherFont(t *testing.T) {
	p := plot.New("% of a hit's cycles", "")
	names := []string{"kprobe (k)", "optimized kprobe (o)", "optimized return probe (ro)"}
	require.NoError(t, p.AddBars(names, [][]float64{{10, 20, 30}, {40, 10, 70}}))
	d := &Document{Title: "Bars", Sections: []Section{{ID: "bars", Title: "Bars", Blocks: []Block{
		&Figure{Caption: "Bars.", Plots: []Plot{{Title: "Bars", Says: "Bars.", Plot: p, Height: plot.BarsHeight(3)}}},
	}}}}
	b, err := d.Render()
	require.NoError(t, err)
	text := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(string(b), "")
	path := filepath.Join(t.TempDir(), "bars.html")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(text, "</body>", overlaps+"</body>", 1)), 0o644))
	o := pagetest.Open(t, path, 1000, 1000)
	title := regexp.MustCompile(`<title>(\d+) texts; (.*)</title>`).FindStringSubmatch(o.DOM)
	require.NotNil(t, title)
	require.Regexp(t, `^([6-9]|\d\d)`, title[1], "texts")
	require.Empty(t, title[2])
}

// focus has a browser put the focus on each mark in turn, and say in the page's title what it shows.
const focus = `<script>
const shown = [];
for (const mark of document.querySelectorAll("svg[role=group] [tabindex='0']")) {
	mark.focus();
	shown.push([...document.querySelectorAll(".tip text")].filter(t => getComputedStyle(t).visibility == "visible").map(t => t.textContent).join("+"));
}
document.title = "shown: " + shown.join("; ");
</script>`

// A keyboard reaches each mark of a plot, which then alone shows its value; and a link leads past them.
func TestValuesAtFocus(t *testing.T) {
	p := plot.New("µs", "")
	require.NoError(t, p.AddBars([]string{"a", "b"}, [][]float64{{1, 2}, {3, 0}}))
	d := &Document{Title: "Bars", Sections: []Section{{ID: "bars", Title: "Bars", Blocks: []Block{
		&Figure{Caption: "Bars.", Plots: []Plot{{Title: "Bars", Says: "Bars.", Plot: p, Height: plot.BarsHeight(2)}},
			Legend: []Key{{Name: "here", Piece: true}, {Name: "there", Of: 1, Piece: true}}},
	}}}}
	text := render(t, d)
	require.Contains(t, text, `<a class="skip" href="#figure-1-end">`)
	require.Contains(t, text, `href="data:text/csv;charset=utf-8,plot,series,row,x:%20%C2%B5s,y,low,high%0ABars,here,a,1,,,%0A`)
	text = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(text, "")
	path := filepath.Join(t.TempDir(), "bars.html")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(text, "</body>", focus+"</body>", 1)), 0o644))
	dom := pagetest.Open(t, path, 1000, 1000).DOM
	for range 3 { // a browser whose window hasn't got the focus yet shows no focus
		if !strings.Contains(dom, "<title>shown: ; ; </title>") {
			break
		}
		dom = pagetest.Open(t, path, 1000, 1000).DOM
	}
	require.Contains(t, dom, "<title>shown: a: here: 1 µs; b: here: 2 µs; a: there: 3 µs</title>")
}
