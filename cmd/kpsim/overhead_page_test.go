package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/pagetest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
)

// overheadHTML runs kpsim overhead --html with flags besides: the file, and what is in it.
func overheadHTML(t *testing.T, flags ...string) (path, text string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "page.html")
	var out, errs bytes.Buffer
	status := run(append([]string{"overhead", "--html", path}, flags...), &out, &errs)
	require.Equal(t, cli.OK, status, errs.String())
	require.Empty(t, errs.String())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%d kB", (len(b)+999)/1000), regexp.MustCompile(`\d+ kB`).FindString(out.String()))
	require.True(t, strings.HasPrefix(out.String(), path+": "), out.String())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left there")
	return path, string(b)
}

// The page has all figures, plots and costs, is small, and a browser shows it.
func TestOverheadPage(t *testing.T) {
	thorough.Only(t, "30 s: it measures everything; TestOverheadPageIsSeeded has a part of it")
	path, text := overheadHTML(t)
	pagetest.Check(t, text)
	require.Less(t, len(text), 1_200_000, "a third of it is what figures draw, as CSV")
	for _, id := range []string{"figures", "attribution", "noise", "scaling", "pauses", "assumptions",
		"provenance", "limits"} {
		require.Contains(t, text, `<section id="`+id+`"`)
		require.Contains(t, text, `<a href="#`+id+`">`)
	}
	require.Contains(t, text, "<code>kpsim overhead --html page.html</code>", "no folder of this computer is in it")
	section := func(id string) string {
		_, s, _ := strings.Cut(text, `<section id="`+id+`"`)
		s, _, _ = strings.Cut(s, "</section>")
		return s
	}
	require.Contains(t, section("figures"), `<div class="scroll whole"`)
	require.Contains(t, text, "Documentation/kprobes.txt</code> of 2005")
	require.Contains(t, text, "neither the spread of measurements nor the worst case")
	require.Contains(t, text, `<p class="paper">Not printed, but on the page: Hits with noise; `)
	require.Equal(t, 5, strings.Count(text, `" class="screen" aria-labelledby="`), "what paper hasn't")
	require.Equal(t, 27, strings.Count(section("figures"), `<th scope="row">`))
	require.Contains(t, section("figures"), `<td class="n">0.06</td><td class="n">0.060</td><td class="n">0.0</td>`)
	require.Contains(t, section("figures"), `</span>-8.0<span class="unseen">, more than 5 % off</span></strong>`)
	require.Contains(t, section("figures"), `</span>-7.2<span class="unseen">, more than 5 % off</span></strong>`)
	require.Equal(t, 6+2+26+23, strings.Count(section("figures"), "more than 5 % off</span>"),
		"mechanistic; calibrated and left out; a machine out; an architecture out")
	for id, ticks := range map[string][]string{ // in their units
		"attribution": {"100", "0.8", "jprobe and return probe (jr)"}, "noise": {"0.1", "99.99 %"},
		"scaling": {"64", "100k"}, "pauses": {"99 %"},
	} {
		for _, tick := range ticks {
			require.Contains(t, section(id), ">"+tick+"</text>", id)
		}
	}
	require.NotRegexp(t, `>\d{3,}</text>`, section("pauses"), "cycles aren't microseconds")
	require.Regexp(t, `<th scope="row">2\.6</th><td class="n">[01]\.[1-9]`, section("scaling"),
		"a hit takes some microseconds at most, and a tenth of one at least")
	require.Regexp(t, `<th scope="row" class="n">16</th><td class="n">\d\d\.\d</td>`, section("scaling"),
		"of 16 calls at a time one is followed")
	for _, series := range []string{"attribution", "noise", "scaling", "pauses"} {
		require.Contains(t, section(series), "A bar ", "what bars are of")
	}
	for id, plots := range map[string]int{"figures": 2, "attribution": 10, "noise": 5, "scaling": 5, "pauses": 4,
		"assumptions": 2} {
		drawn := strings.Split(section(id), `<svg id="plot-`)[1:]
		require.Len(t, drawn, plots, id)
		for _, svg := range drawn {
			require.Regexp(t, `<g class="v" tabindex="0" role="img"><title>[^<]*\d`, svg, "values can be asked for")
			if id != "assumptions" { // a swing has two ends
				require.Regexp(t, `\(-?[\d.,]+( %)? to `, svg, "an interval")
			}
		}
		csvs := regexp.MustCompile(`<a download="figure-\d+\.csv" href="data:text/csv;charset=utf-8,([^"]*)">`).
			FindAllStringSubmatch(section(id), -1)
		require.Len(t, csvs, strings.Count(section(id), "<figure"), id)
		for _, m := range csvs {
			b, err := url.PathUnescape(m[1])
			require.NoError(t, err)
			rows, err := csv.NewReader(strings.NewReader(b)).ReadAll()
			require.NoError(t, err)
			require.Greater(t, len(rows), 20, id)
		}
	}
	require.Equal(t, 27*3+27*3, strings.Count(section("figures"), `<g class="v"`),
		"each figure, three times in each plot")
	require.Equal(t, 27, strings.Count(section("noise"), `<th scope="row">`))
	for _, source := range []string{"fitted", "typical", "counted", "assumed"} {
		require.Contains(t, section("provenance"), "<td>"+source+"</td>")
	}
	require.Contains(t, section("provenance"), "Sums of figures in whose hits the same happens:")
	tables := regexp.MustCompile(`<b>Table (\d+)\.</b>`).FindAllStringSubmatch(text, -1)
	require.Greater(t, len(tables), 10)
	said := regexp.MustCompile(`table (\d+)`).FindAllStringSubmatch(text, -1)
	require.GreaterOrEqual(t, len(said), 10)
	for _, m := range said {
		require.Contains(t, text, `<b>Table `+m[1]+`.</b>`, "a table that is referred to is there")
	}
	require.NotContains(t, text, "table below")
	for _, id := range []string{"attribution", "noise", "scaling", "pauses", "assumptions"} { // next to each figure
		require.Equal(t, strings.Count(section(id), "<figure"),
			strings.Count(section(id), "<table")+strings.Count(section(id), "</figure>\n<figure"), id)
	}
	require.NotContains(t, section("figures"), `<th scope="row">k<`)
	require.Contains(t, section("figures"), `<th scope="row">optimized return probe (ro)</th>`)
	require.NotRegexp(t, `20[0-9][0-9]-[01][0-9]-[0-3][0-9]`, text, "no date")

	o := pagetest.Open(t, path, 1280, 2000)
	require.Empty(t, o.Console)
	require.Equal(t, 8, strings.Count(o.DOM, "<section "))
	require.Equal(t, 28, strings.Count(o.DOM, `<svg id="plot-`))
	require.Contains(t, o.DOM, "</footer>", "it has been read to the end")
	require.Equal(t, 1280, o.Picture.Bounds().Dx())
	pagetest.Fits(t, path)
	require.LessOrEqual(t, pagetest.Sheets(t, path), 4)
}

// The page of a price has its tables, figures with intervals, and nothing that a browser complains of or cuts.
func TestPricePage(t *testing.T) {
	for _, of := range []struct {
		scenario, patch string
		cpus            string
	}{
		{"hook-unsynced", "by hand", "1,2,4"},
		{"return-pair-hashed", "unregister(b)", "2,4"},
	} {
		path := filepath.Join(t.TempDir(), "page.html")
		var out, errs bytes.Buffer
		status := run([]string{"overhead", "price", of.scenario, "--cpus", of.cpus, "--html", path}, &out, &errs)
		require.Equal(t, cli.OK, status, errs.String())
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		text := string(b)
		pagetest.Check(t, text)
		require.Contains(t, text,
			"<code>kpsim overhead price "+of.scenario+" --cpus "+of.cpus+" --html page.html</code>")
		for _, head := range []string{"patch", "drawn 95 %", "waiting", "most cycles", "each"} {
			require.Regexp(t, `<th[^>]*>`+head+`</th>`, text)
		}
		require.Contains(t, text, `<th scope="row">`+of.patch+`</th>`)
		require.Contains(t, text, "A bar is drawn 95 %")
		require.Equal(t, 2, strings.Count(text, `<svg id="plot-`), "of patches, and of calls")

		for _, size := range pagetest.Sizes {
			o := pagetest.Open(t, path, size[0], size[1])
			require.Empty(t, o.Console, "%s at %d", of.scenario, size[0])
			require.Contains(t, o.DOM, "</footer>", "it has been read to the end")
		}
		pagetest.Fits(t, path)
		require.LessOrEqual(t, pagetest.Sheets(t, path), 3)
	}
}

// The same command gives the same bytes, on however many processors.
func TestOverheadPageIsSeeded(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	_, one := overheadHTML(t, "--machine", "xeon-e5410/x86_64", "--probe", "b", "--tier", "mechanistic")
	if thorough.Set() { // some seconds more
		runtime.GOMAXPROCS(4)
		_, four := overheadHTML(t, "--machine", "xeon-e5410/x86_64", "--probe", "b", "--tier", "mechanistic")
		require.True(t, one == four)
	}
	pagetest.Check(t, one)
	require.Contains(t, one, "<code>kpsim overhead --machine xeon-e5410/x86_64 --probe b --tier mechanistic --html page.html</code>")
	require.NotContains(t, one, "Pentium M, i386")
	require.NotContains(t, one, ">calibrated µs<")
	require.Contains(t, one, ">mechanistic µs<")
	require.NotContains(t, one, `\u00ad`, "a column's name is plain")
	require.Contains(t, one, `<p class="title" aria-hidden="true">kprobe (k)</p>`)
	require.NotContains(t, one, `<p class="title" aria-hidden="true">return probe (r)</p>`)
	require.Contains(t, one, "What each event costs on xeon-e5410/x86_64, mechanistic: cycles of 2330 MHz.")
	require.NotContains(t, one, "What each event costs on power5/ppc64")
}

// A profile's page has its costs, and no figures of the documents.
func TestOverheadPageOfProfile(t *testing.T) {
	thorough.Only(t, "7 s: the whole page, TestOverheadPage has it")
	profile := filepath.Join(t.TempDir(), "mine.profile")
	require.NoError(t, os.WriteFile(profile, []byte(calibrated(t)), 0o644))
	_, text := overheadHTML(t, "--profile", profile, "--probe", "k", "--probe", "o")
	pagetest.Check(t, text)
	require.Contains(t, text, "<code>kpsim overhead --probe k --probe o --profile mine.profile --html page.html</code>")
	require.Contains(t, text, "All of them are from mine.profile")
	require.NotContains(t, text, "left out %")
	require.NotContains(t, text, profile)
}

// calibrated is a profile.
func calibrated(t *testing.T) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, cli.OK, run([]string{"overhead", "calibrate", "--machine", "xeon-e5410/x86_64",
		"../../internal/eval/overhead/figures.csv"}, &out, &errs), errs.String())
	return out.String()
}
