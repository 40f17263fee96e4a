package pagetest

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sizes are the windows in pixels in which every page must fit: a small laptop's and a phone's.
var Sizes = [][2]int{{1280, 800}, {400, 800}}

// Cut is a JavaScript expression. Its value is a list of what a reader can't reach in the
// window as it is now, with everything unfolded:
//
//   - a text or a picture beyond the right or left edge of the window, or of an element that
//     clips it and doesn't scroll;
//   - a table that scrolls and whose first column or headings don't stay, or leave too little
//     room for the others, or whose last column isn't in sight at the end;
//   - a table that scrolls without a shadow that says so;
//   - an element that scrolls and that a key can't reach.
const Cut = `(() => {
	const bad = new Set(), slack = 1.5;
	document.querySelectorAll("details").forEach(d => { d.open = true; });
	const named = e => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (e.classList.length ? "." + [...e.classList].join(".") : "");
	const style = new Map(), of = e => style.get(e) ?? style.set(e, getComputedStyle(e)).get(e);
	// Texts for screen readers alone, and the link that only shows with the focus.
	const unseen = e => e.closest(".unseen, .skip, .hatchings") || of(e).clipPath !== "none";
	// reach follows a box out to the window. An element that scrolls stands for what it contains.
	const reach = (what, box, from) => {
		for (let e = from; e && e !== document.body && e !== document.documentElement; e = e.parentElement) {
			const x = of(e).overflowX;
			if (x === "visible") continue;
			const edge = e.getBoundingClientRect(), left = edge.left + e.clientLeft;
			if (box.left < left - e.scrollLeft - slack) bad.add(what + " begins before " + named(e));
			if (x === "auto" || x === "scroll") {
				if (box.right > left - e.scrollLeft + e.scrollWidth + slack) bad.add(what + " ends beyond what " + named(e) + " scrolls");
				box = edge;
			} else if (box.right > left + e.clientWidth + slack) bad.add(what + " is cut by " + named(e));
		}
		if (box.left < -slack || box.right > innerWidth + slack) bad.add(what + " is outside of the window: " + Math.round(box.left) + " to " + Math.round(box.right));
	};
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
	for (let n = texts.nextNode(); n; n = texts.nextNode()) {
		const e = n.parentElement;
		if (n.data.trim() === "" || /^(SCRIPT|STYLE|NOSCRIPT|TITLE|DESC)$/i.test(e.tagName) || !e.checkVisibility() || unseen(e)) continue;
		range.selectNodeContents(n);
		const boxes = e instanceof SVGElement ? [e.getBoundingClientRect()] : range.getClientRects(); // a text of SVG has its own width
		for (const box of boxes) if (box.width > 0) reach("the text \"" + n.data.trim().slice(0, 40) + "\"", box, e);
	}
	for (const e of document.querySelectorAll("svg, canvas, img, input, button, progress, table, pre")) {
		if (e.checkVisibility() && !unseen(e)) reach("a " + named(e), e.getBoundingClientRect(), e.parentElement);
	}
	for (const e of document.body.querySelectorAll("*")) {
		const head = e.querySelector(":scope > table > thead");
		if (head && /auto|scroll/.test(of(e).overflowY) && e.scrollHeight > e.clientHeight + 1 && e.checkVisibility()) {
			e.scrollTop = e.scrollHeight;
			if (head.getBoundingClientRect().top < e.getBoundingClientRect().top - slack) bad.add("the headings of " + named(e) + " have gone at its end");
			if (head.offsetHeight > 0.5 * e.clientHeight) bad.add("the headings of " + named(e) + " take " + head.offsetHeight + " of " + e.clientHeight + " pixels");
			e.scrollTop = 0;
		}
		if (/auto|scroll/.test(of(e).overflowY) && e.scrollHeight > e.clientHeight + 1 && e.checkVisibility() && !unseen(e)) {
			if (e.tabIndex < 0 && !e.querySelector("a, button, input, [tabindex='0']")) bad.add(named(e) + " scrolls, and no key reaches it");
			if (!/local.*scroll/.test(of(e).backgroundAttachment) && !e.querySelector(":scope > .more")) bad.add("nothing says that " + named(e) + " scrolls");
		}
		if (!/auto|scroll/.test(of(e).overflowX) || e.scrollWidth <= e.clientWidth + 1 || !e.checkVisibility()) continue;
		if (e.tabIndex < 0 && !e.querySelector("a, button, input, [tabindex='0']")) bad.add(named(e) + " scrolls, and no key reaches it");
		const table = e.querySelector("table");
		if (!table) continue;
		if (!/local.*scroll/.test(of(e).backgroundAttachment)) bad.add("nothing says that " + named(e) + " scrolls");
		for (const row of table.rows) {
			const first = row.cells[0], last = row.cells[row.cells.length - 1];
			if (!first || first === last) continue;
			const at = "in a table that scrolls, \"" + first.innerText.slice(0, 30) + "\" ";
			if (of(first).position !== "sticky") bad.add(at + "doesn't stay");
			e.scrollLeft = e.scrollWidth;
			const edge = e.getBoundingClientRect(), a = first.getBoundingClientRect(), b = last.getBoundingClientRect();
			if (Math.abs(a.left - edge.left - e.clientLeft) > slack) bad.add(at + "has gone at the end");
			if (b.right > edge.left + e.clientLeft + e.clientWidth + slack) bad.add(at + "has no last column in sight at the end");
			if (a.width > 0.55 * e.clientWidth) bad.add(at + "takes " + Math.round(a.width) + " of " + e.clientWidth + " pixels");
			e.scrollLeft = 0;
		}
	}
	if (document.documentElement.scrollWidth > innerWidth) bad.add("the page is wider than the window: " + document.documentElement.scrollWidth);
	return [...bad].slice(0, 12);
})()`

// Paper is a JavaScript expression. Its value is a list of what is lost on paper, in a window
// that is as wide as what A4 has between the margins and that has the styles of print:
//
//   - what the reader would have to unfold or to scroll;
//   - controls, which paper has no use for, and what sticks to the edge of a window;
//   - what is Cut.
const Paper = `(() => {
	const bad = new Set(), seen = e => e.checkVisibility() && e.getClientRects().length > 0;
	const named = e => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (e.classList.length ? "." + [...e.classList].join(".") : "");
	for (const d of document.querySelectorAll("details:not([open])")) {
		const inside = [...d.children].find(e => e.tagName !== "SUMMARY");
		if (inside && seen(d) && !seen(inside)) bad.add("what " + named(d) + " folds isn't printed: " + d.innerText.slice(0, 30));
	}
	for (const e of document.body.querySelectorAll("*")) {
		const style = getComputedStyle(e);
		if (!seen(e) || e.closest(".unseen") || style.clipPath !== "none") continue;
		if (/sticky|fixed/.test(style.position)) bad.add(named(e) + " sticks to the window");
		if (/auto|scroll|hidden|clip/.test(style.overflowX + style.overflowY) && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1) && style.display !== "inline") bad.add(named(e) + " has more than is printed");
		if (e.matches(".controls, input, [data-go], nav")) bad.add(named(e) + " is for the screen");
	}
	return [...bad, ...` + Cut + `].slice(0, 12);
})()`

// A4 is what a sheet has between margins of 12 mm, in pixels of 1/96 inch: that is what
// the stylesheets ask for.
var A4 = [2]int{703, 1000}

var (
	policies = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)
	printed  = regexp.MustCompile(`@media print\b`)
	screens  = regexp.MustCompile(`@media (?:screen|\(pointer)`)
)

// asked is a page that says in the page around it, in an element of its frame's name, what an
// expression finds, and which of its tables scroll.
func asked(text, expression string) string {
	script := `<script>(() => {
	const bad = ` + expression + `;
	const scroll = [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => (e.querySelector("caption") ?? e).innerText);
	for (const list of [bad, scroll]) {
		const pre = parent.document.createElement("pre");
		pre.className = frameElement.id;
		pre.textContent = list.join("\n");
		parent.document.body.append(pre);
	}
})()</script></body>`
	return html.EscapeString(strings.Replace(policies.ReplaceAllString(text, ""), "</body>", script, 1))
}

// onPaper gives a page the styles of print.
func onPaper(text string) string {
	return screens.ReplaceAllStringFunc(printed.ReplaceAllString(text, "@media all"), func(m string) string {
		return strings.Replace(m, "@media ", "@media print and ", 1)
	})
}

// Fits opens a page without a script of its own in each of Sizes, and requires that nothing on
// it is Cut or Unnamed, and on paper that nothing is lost. It returns the captions of the tables that scroll,
// for each size. Without Chromium it skips the test.
func Fits(t testing.TB, file string) (scroll [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	found := Look(t, string(text))[0]
	require.Empty(t, found.Faults, filepath.Base(file))
	return found.Scroll
}

// A Found is what a browser finds on a page.
type Found struct {
	Faults []string   // what Fits requires a page not to have: a line for each fault and size
	Scroll [][]string // the captions of the tables that scroll, for each of Sizes
}

// Look returns what is found on each of some pages without a script of their own. Without Chromium
// it skips the test.
//
// One browser has all pages in all sizes: each is a frame. Frames of srcdoc may change the page around them.
func Look(t testing.TB, pages ...string) (list []Found) {
	t.Helper()
	var frames strings.Builder
	sizes := append(slices.Clone(Sizes), A4)
	for n, text := range pages {
		for i, s := range sizes {
			page := asked(text, "[..."+Unnamed+", ..."+Cut+"]")
			if i == len(Sizes) {
				page = asked(onPaper(text), Paper)
			}
			fmt.Fprintf(&frames, `<iframe id="page%d-%d" style="border:0" width="%d" height="%d" srcdoc="%s"></iframe>`,
				n, i, s[0], s[1], page)
		}
	}
	framed := filepath.Join(t.TempDir(), "fits.html")
	require.NoError(t, os.WriteFile(framed, []byte(`<!DOCTYPE html><html><head><meta charset="utf-8"></head><body>`+
		frames.String()+"</body></html>"), 0o600))
	dom := Open(t, framed, Sizes[0][0], Sizes[0][1]).DOM
	for n := range pages {
		var f Found
		for i, s := range sizes {
			m := regexp.MustCompile(fmt.Sprintf(`(?s)<pre class="page%d-%d">(.*?)</pre><pre class="page%[1]d-%[2]d">(.*?)</pre>`,
				n, i)).FindStringSubmatch(dom)
			require.NotNil(t, m, "the script in the page says nothing")
			for _, line := range strings.FieldsFunc(html.UnescapeString(m[1]), func(r rune) bool { return r == '\n' }) {
				f.Faults = append(f.Faults, fmt.Sprintf("at %d by %d: %s", s[0], s[1], line))
			}
			if i < len(Sizes) {
				f.Scroll = append(f.Scroll, strings.FieldsFunc(m[2], func(r rune) bool { return r == '\n' }))
			}
		}
		list = append(list, f)
	}
	return list
}
