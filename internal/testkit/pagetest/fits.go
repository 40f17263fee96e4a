package pagetest

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
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
//   - a table that scrolls and whose first column doesn't stay, or leaves too little room
//     for the others, or whose last column isn't in sight at the end;
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
		if (!/auto|scroll/.test(of(e).overflowX) || e.scrollWidth <= e.clientWidth + 1 || !e.checkVisibility()) continue;
		if (e.tabIndex < 0 && !e.querySelector("a, button, input, [tabindex='0']")) bad.add(named(e) + " scrolls, and no key reaches it");
		const table = e.querySelector("table");
		if (!table) continue;
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

var policies = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// fitsScript has a page in a frame tell the page around it what is Cut, and which of its tables
// scroll.
const fitsScript = `<script>(() => {
	const cut = ` + Cut + `;
	const scroll = [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => (e.querySelector("caption") ?? e).innerText);
	for (const list of [cut, scroll]) {
		const pre = parent.document.createElement("pre");
		pre.className = frameElement.id;
		pre.textContent = list.join("\n");
		parent.document.body.append(pre);
	}
})()</script></body>`

// Fits opens a page without a script of its own in each of Sizes, and requires that nothing on
// it is Cut. It returns the captions of the tables that scroll, for each size. Without
// Chromium it skips the test.
//
// One browser has all sizes: each is a frame. Frames of srcdoc may change the page around them.
func Fits(t testing.TB, file string) (scroll [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	asked := html.EscapeString(strings.Replace(policies.ReplaceAllString(string(text), ""), "</body>", fitsScript, 1))
	frames := `<!DOCTYPE html><html><head><meta charset="utf-8"></head><body>`
	for i, s := range Sizes {
		frames += fmt.Sprintf(`<iframe id="size%d" style="border:0" width="%d" height="%d" srcdoc="%s"></iframe>`, i,
			s[0], s[1], asked)
	}
	framed := filepath.Join(t.TempDir(), "fits.html")
	require.NoError(t, os.WriteFile(framed, []byte(frames+"</body></html>"), 0o600))
	dom := Open(t, framed, Sizes[0][0], Sizes[0][1]).DOM
	for i, s := range Sizes {
		m := regexp.MustCompile(fmt.Sprintf(`(?s)<pre class="size%d">(.*?)</pre><pre class="size%[1]d">(.*?)</pre>`,
			i)).FindStringSubmatch(dom)
		require.NotNil(t, m, "the script in the page says nothing")
		require.Empty(t, m[1], "%s at %d by %d", filepath.Base(file), s[0], s[1])
		scroll = append(scroll, strings.FieldsFunc(m[2], func(r rune) bool { return r == '\n' }))
	}
	return scroll
}
