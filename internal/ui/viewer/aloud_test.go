package viewer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// A heard is what a screen reader gets of an element.
type heard struct{ role, name, value string }

// aloud returns what a screen reader gets of the page, in its order.
func (p *tab) aloud() (list []heard) {
	p.Helper()
	tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(p, err)
	text := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		return strings.Trim(string(v.Value), `"`)
	}
	nodes := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range tree.Nodes {
		nodes[n.NodeID] = n
	}
	var walk func(n *accessibility.Node)
	walk = func(n *accessibility.Node) {
		if n == nil {
			return
		}
		if !n.Ignored {
			list = append(list, heard{text(n.Role), text(n.Name), text(n.Value)})
		}
		for _, id := range n.ChildIDs {
			walk(nodes[id])
		}
	}
	walk(tree.Nodes[0])
	return list
}

// A screen reader gets a page with headings in their order, controls that have names of their own, the story
// before the controls, and no drawing without words.
func TestAloud(t *testing.T) {
	r := witness(t, "T2-second-instruction")
	one, _ := page(t, r)
	two, _ := page(t, pair(t, "T2-second-instruction")...)
	controls := []string{"button", "slider", "link", "spinbutton", "checkbox", "table", "region"}
	for _, file := range []string{one, two} {
		p := open(t, file, desk)
		list := p.aloud()
		first := func(is func(heard) bool) int { return slices.IndexFunc(list, is) }
		seen := map[heard]bool{}
		for _, h := range list {
			if slices.Contains(controls, h.role) {
				require.NotEmpty(t, h.name, "%v", h)
			}
			require.NotContains(t, []string{"Canvas", "image"}, h.role)
			if h.role == "slider" {
				require.False(t, seen[h], "%v is there twice", h)
				seen[h] = true
			}
		}
		slider := list[first(func(h heard) bool { return h.role == "slider" })]
		require.True(t, strings.HasPrefix(slider.name, "Event"), slider)
		require.Equal(t, "115", slider.value)
		heading := first(func(h heard) bool { return h.role == "heading" && h.name == "How it came about" })
		story := first(func(h heard) bool {
			return h.role == "button" && strings.HasPrefix(h.name, "1 "+r.Scene.Story[0].Text)
		})
		require.Positive(t, heading)
		require.Less(t, heading, story)
		require.Less(t, story, first(func(h heard) bool { return h.role == "slider" }))
		require.Positive(t, first(func(h heard) bool { return h.role == "status" }))
	}

	// A screen reader hears the event once: from the slider that has the focus, or else from the live text of one run.
	p := open(t, two, desk)
	live := func() []string {
		return js[[]string](p, "Array.from(document.querySelectorAll('.now')).map(e => e.getAttribute('aria-live'))")
	}
	require.Equal(t, []string{"polite", "off"}, live())
	p.click("#run1 [data-go=first]")
	require.Equal(t, []string{"off", "polite"}, live())
	p.do(chromedp.Focus(chromedp.CSS("#run0 .lanes")))
	require.Equal(t, []string{"off", "off"}, live())
	p.press(kb.Tab)
	p.until("document.querySelector('.now').getAttribute('aria-live') === 'polite'")
}
