package pagetest

import (
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	ids     = regexp.MustCompile(`\bid="([^"]*)"`)
	refs    = regexp.MustCompile(`aria-labelledby="([^"]*)"|href="#([^"]*)"|url\(#([^)]*)\)`)
	loads   = regexp.MustCompile(`(?i)https?://|//[a-z0-9]|@import|@font-face|<script|<link [^>]*href="[^d]|\bsrc=|\bon[a-z]+=|url\([^#]`)
	svgs    = regexp.MustCompile(`(?s)<svg.*?</svg>`)
	plots   = regexp.MustCompile(`^<svg id="plot-\d+" viewBox="[\d. ]+" role="group" aria-labelledby="plot-\d+-title plot-\d+-says"><title id="plot-\d+-title">[^<]+</title><desc id="plot-\d+-says">[^<]+</desc>`)
	tables  = regexp.MustCompile(`(?s)<table[ >].*?</table>`)
	caption = regexp.MustCompile(`^<table(?: class="dense")?>\s*<caption[^>]*>Table \d+\. [^<]`)
	headers = regexp.MustCompile(`<th(?: [^>]*)?>`)
)

// landmarks are there once in every page.
var landmarks = []string{
	`<html lang="en">`, `<meta name="viewport"`, "Content-Security-Policy", "prefers-color-scheme: dark",
	"@page { size: A4;",
	`<a class="skip" href="#main">`, "<header>", "<nav ", `<main id="main"`, "<h1>",
}

// Check holds what is to hold of every page.
func Check(t testing.TB, text string) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range ids.FindAllStringSubmatch(text, -1) {
		require.False(t, seen[m[1]], "the ID %s is there twice", m[1])
		seen[m[1]] = true
	}
	for _, m := range refs.FindAllStringSubmatch(text, -1) {
		for _, id := range strings.Fields(m[1] + " " + m[2] + " " + m[3]) {
			require.True(t, seen[id], "nothing has the ID %s", id)
		}
	}
	for _, l := range landmarks {
		require.Equal(t, 1, strings.Count(text, l), l)
	}
	require.Empty(t, loads.FindAllString(text, -1), "a page loads nothing")
	for _, s := range svgs.FindAllString(text, -1) {
		wellFormed(t, s)
		if strings.Contains(s, `aria-hidden="true"`) {
			continue // it says nothing that isn't said beside it
		}
		require.Regexp(t, plots, s)
		require.NotRegexp(t, `#[0-9A-Fa-f]{6}|font-family|NaN|Inf`, s, "colours and fonts are the stylesheet's")
	}
	for _, s := range tables.FindAllString(text, -1) {
		require.Regexp(t, caption, s)
		for _, h := range headers.FindAllString(s, -1) {
			require.Contains(t, h, `scope="`)
		}
	}
}

func wellFormed(t testing.TB, s string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		require.NoError(t, err, s)
	}
}
