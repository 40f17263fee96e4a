package viewer

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"kpsim/internal/ui/page"
	"kpsim/internal/version"
	"kpsim/traces"
	"kpsim/traces/view"
)

var (
	//go:embed viewer.tmpl
	source string
	//go:embed script
	scripts embed.FS
	//go:embed viewer.css
	style string
)

// script is the script of a page, joined from its parts.
var script = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString("\"use strict\";\n(() => {\n")
	for _, p := range []string{"run", "lanes", "folds", "panes", "tale", "paper", "search", "viewer", "host"} {
		text, err := scripts.ReadFile("script/" + p + ".js")
		if err != nil {
			panic(err) // the script is compiled in
		}
		b.Write(text)
	}
	b.WriteString("})();\n")
	return b.String()
})

// A Run is a scene and the text about its origin.
type Run struct {
	Name   string // the trace's name
	About  string // what the run is, in one line
	Banner string // why the run isn't what its file says; "" if it is
	Scene  *view.Scene
	Task   func(id uint64) string
}

// A Page is the content of a page: one run, or two side by side.
type Page struct {
	Title   string
	Command string // the command line that made it
	At      string // the number of the event that it opens at, of the first run; "": the violation
	Runs    []Run
}

// form is parsed when a page is written, so that no other command waits for it.
var form = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(source)) })

// Write writes the page. Errors are those of w.
func Write(w io.Writer, p *Page) error {
	var data []any
	var runs []shown
	for i := range p.Runs {
		r := &p.Runs[i]
		data = append(data, encode(r))
		runs = append(runs, shown{r, decided(r.Scene), sentences(r.Scene, r.Scene.Story), nil})
	}
	if len(p.Runs) == 2 {
		a, b := differ(p.Runs[0].Scene, p.Runs[1].Scene)
		data[0].(map[string]any)["differs"], data[1].(map[string]any)["differs"] = pairs(a), pairs(b)
		runs[0].Only, runs[1].Only = newOnly(p.Runs[0].Scene, a), newOnly(p.Runs[1].Scene, b)
	}
	text, err := json.Marshal(data) // json escapes <, > and &
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(script()))
	return form().Execute(w, map[string]any{
		"Page": p,
		"Runs": runs,
		"Held": slices.ContainsFunc(p.Runs, func(r Run) bool {
			return slices.ContainsFunc(r.Scene.Spans, func(s view.Span) bool { return s.Kind == view.SpanHeld })
		}),
		"Kpsim": version.This().String(),
		"Policy": fmt.Sprintf("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; img-src data:",
			base64.StdEncoding.EncodeToString(sum[:])),
		"Style":  page.Colours + page.Frame + template.CSS(style),
		"Script": template.JS(script()),
		"Data":   template.JS(text),
	})
}

// A shown is a run as the page shows it without its script.
type shown struct {
	*Run
	Deciding, Story []sentence
	Only            *only // what the other run doesn't have; nil: nothing, or there is no other
}

// A sentence is a sentence of the story, or of what decided the violation.
type sentence struct {
	N          int
	Seq        uint32
	Text, From string
}

// decided returns what decided the violation, without what the headline says.
func decided(s *view.Scene) []sentence {
	return slices.DeleteFunc(sentences(s, s.Deciding), func(t sentence) bool {
		return strings.HasSuffix(s.Headline, ": "+strings.TrimSuffix(t.Text, "."))
	})
}

func sentences(s *view.Scene, told []view.Told) (list []sentence) {
	for i, t := range told {
		from := strings.ReplaceAll(t.From, " > ", " › ")
		list = append(list, sentence{i + 1, s.Steps[t.Step].Event.Seq, t.Text, from})
	}
	return list
}

// pairs returns the first and the last step of each stretch.
func pairs(list []view.Stretch) [][]int {
	out := make([][]int, len(list))
	for i, s := range list {
		out[i] = []int{s.From, s.To}
	}
	return out
}

// encoder stores each text once: columns hold the texts' numbers.
type encoder struct {
	texts []string
	index map[string]int
}

func (e *encoder) text(s string) int {
	i, ok := e.index[s]
	if !ok {
		i = len(e.texts)
		e.index[s] = i
		e.texts = append(e.texts, s)
	}
	return i
}

// encode turns a run into columns, which take a fifth of the space of objects. Increasing
// numbers are stored as differences.
func encode(r *Run) map[string]any {
	s := r.Scene
	e := &encoder{index: make(map[string]int)}
	n := len(s.Steps)
	column := func() []int { return make([]int, n) }
	cpu, task, kind, class, says, depth := column(), column(), column(), column(), column(), column()
	seq, time, clock := make([]int64, n), make([]int64, n), make([]int64, n)
	for i := range s.Steps {
		p := &s.Steps[i]
		cpu[i], depth[i] = int(p.Event.CPU), p.Depth
		name := ""
		if p.Event.Task != traces.NoTask {
			name = r.Task(uint64(p.Event.Task))
		}
		task[i], kind[i], class[i], says[i] = e.text(name), e.text(p.Event.Kind.String()), e.text(p.Class),
			e.text(strings.TrimSpace(p.Says))
		seq[i], time[i], clock[i] = int64(p.Event.Seq), int64(p.Time), int64(p.Clock)
		if i > 0 {
			q := &s.Steps[i-1]
			seq[i], time[i] = seq[i]-int64(q.Event.Seq), time[i]-int64(q.Time)
		}
		clock[i] = int64(p.Time) - clock[i]
	}
	spans := make([][]int, len(s.Spans))
	for i, p := range s.Spans {
		spans[i] = []int{e.text(p.Kind), p.CPU, e.text(p.Task), e.text(p.Says), p.From, p.To, p.Depth}
	}
	arrows := make([][]int, len(s.Arrows))
	for i, a := range s.Arrows {
		arrows[i] = []int{e.text(a.Kind), a.From, a.To}
	}
	texts := make([]map[string]any, len(s.Texts))
	for i := range s.Texts {
		texts[i] = e.patch(&s.Texts[i])
	}
	stands := make([][]int, len(s.Stands))
	for i, v := range s.Stands {
		stands[i] = []int{v.Step, e.text(r.Task(uint64(v.Task))), v.CPU}
		for _, p := range v.At {
			stands[i] = append(stands[i], p.Patch, p.Off, e.text(p.Ran), e.text(p.Insn), e.text(p.Trap))
		}
	}
	symbols := make([][]any, len(s.Symbols))
	for i, v := range s.Symbols {
		symbols[i] = []any{v.Name, fmt.Sprintf("%#x", v.At), v.Len}
	}
	bands := make([][]int, len(s.Bands))
	for i, b := range s.Bands {
		bands[i] = []int{e.text(b.Place), e.text(b.State), b.From, b.To}
	}
	turns := make([]map[string]any, len(s.Deviations))
	for i, d := range s.Deviations {
		turns[i] = map[string]any{"step": d.Step, "line": d.String(), "words": view.Choice(d.Deviation)}
	}
	story := make([]map[string]any, len(s.Story))
	for i, t := range s.Story {
		story[i] = map[string]any{"step": t.Step, "text": t.Text}
	}
	calls, chains, frames := e.calls(s.Calls)
	return map[string]any{
		"folds": pairs(s.Folds), "calls": calls, "chains": chains, "frames": frames,
		"name": r.Name, "about": r.About, "banner": r.Banner, "headline": s.Headline, "cpus": s.CPUs,
		"violation": s.Violation, "story": story, "strings": e.texts,
		"cpu": cpu, "task": task, "kind": kind, "class": class, "says": says, "depth": depth,
		"seq": seq, "time": time, "clock": clock,
		"spans": spans, "arrows": arrows, "texts": texts, "stands": stands, "symbols": symbols, "bands": bands, "turns": turns,
	}
}

// calls encodes the calls made by a kernel's engine. Each chain of frames, and each frame, is
// stored once.
func (e *encoder) calls(list []view.Coded) (calls, chains [][]int, frames [][]any) {
	calls, chains, frames = [][]int{}, [][]int{}, [][]any{}
	numbers := make(map[string]int)
	for i := range list {
		c := &list[i]
		chain := make([]int, len(c.Frames))
		for k, f := range c.Frames {
			key := fmt.Sprintf("%s %s:%d", f.Func, f.File, f.Line)
			n, ok := numbers[key]
			if !ok {
				n = len(frames)
				numbers[key] = n
				frames = append(frames, []any{f.Func, f.File, f.Line, f.From, append([]string{}, f.Text...)})
			}
			chain[k] = n
		}
		key := fmt.Sprint(chain)
		n, ok := numbers[key]
		if !ok {
			n = len(chains)
			numbers[key] = n
			chains = append(chains, chain)
		}
		calls = append(calls, []int{c.Step, c.CPU, e.text(c.Task), e.text(c.Says), n})
	}
	return calls, chains, frames
}

// patch encodes the data about a patch: for each version but the first, the bytes that differ
// from the previous version. Memory that is being filled gets its listing when it is full.
func (e *encoder) patch(p *view.Patch) map[string]any {
	versions := make([][]any, len(p.Versions))
	for i, v := range p.Versions {
		gone, off, bytes, listing := 0, 0, v.Bytes, v.Listing
		if v.Gone {
			gone = 1
		}
		if i > 0 {
			off, bytes = difference(p.Versions[i-1].Bytes, v.Bytes)
		}
		if !p.Site && i+1 < len(p.Versions) && p.Versions[i+1].Step == v.Step+1 && !p.Versions[i+1].Gone {
			listing = ""
		}
		versions[i] = []any{v.Step, off, bytes, e.text(listing), gone}
	}
	sights := make([][]int, len(p.Sights))
	for i, v := range p.Sights {
		sights[i] = []int{v.Step, v.CPU, e.text(v.Bytes)}
	}
	return map[string]any{"name": p.Name, "at": fmt.Sprintf("%#x", p.At), "site": p.Site, "versions": versions,
		"sights": sights}
}

// difference returns the offset of the first byte of b that differs from a, and the bytes of b
// from there to the last one that differs. If the lengths differ, it returns all of b, and -1.
// Bytes are in hex, with blanks.
func difference(a, b string) (off int, bytes string) {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return -1, b
	}
	end := len(y)
	for off < end && x[off] == y[off] {
		off++
	}
	for end > off && x[end-1] == y[end-1] {
		end--
	}
	return off, strings.Join(y[off:end], " ")
}
