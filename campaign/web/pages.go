package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/board"
	"kpsim/internal/ui/page"
	"kpsim/internal/version"
)

//go:embed page.tmpl
var pageSource string

//go:embed page.css
var css template.CSS

//go:embed page.js
var script template.JS

var (
	style  = page.Stylesheet + css
	layout = template.Must(template.New("page").Parse(pageSource))
	policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; connect-src 'self'; img-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hash(string(style)), hash(string(script)))
)

// hash is how a policy names a script or style of the page.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// boardTimeout bounds the time in which the board must answer.
const boardTimeout = 5 * time.Second

// pages answers requests. Many goroutines use it.
type pages struct {
	b    *board.Board
	mu   sync.Mutex // guards seen
	seen map[string]revision
}

// A revision is that of a status, and when our own clock first saw it: the board's may differ.
type revision struct {
	n    uint64
	seen time.Time
}

func newPages(b *board.Board) *pages { return &pages{b: b, seen: make(map[string]revision)} }

func (p *pages) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", p.page)
	mux.HandleFunc("/status.json", p.status)
	mux.HandleFunc("/campaigns.json", p.campaigns)
	mux.HandleFunc("/find/{name}", p.find)
	mux.Handle("/metrics", p.metrics())
	return mux
}

// page answers with the page, which fetches its figures itself.
func (p *pages) page(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	err := layout.Execute(&b, struct {
		Style  template.CSS
		Script template.JS
		Kpsim  string
	}{style, script, version.This().String()})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// A Status is a coordinator's last status.
type Status struct {
	*board.Status
	Exists      bool    `json:"known"`      // the campaign exists
	HasStatus   bool    `json:"told"`       // it has a status
	StatusAge   float64 `json:"told_ago_s"` // seconds since the last new status
	RequestedID string  `json:"asked"`      // the requested ID; "": the last one
	Began       string  `json:"began"`      // by the clock of the computer where it was started
}

func (p *pages) status(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), boardTimeout)
	defer cancel()
	id := r.URL.Query().Get("campaign")
	s, err := p.stateOf(ctx, id)
	if errors.Is(err, board.ErrNone) { // the page says so; it isn't an error of the page
		answer(w, &Status{Status: &board.Status{ID: id}, RequestedID: id})
		return
	}
	if err == nil {
		var t *Status
		if t, err = p.statusOf(ctx, s); err == nil {
			t.RequestedID = id
			answer(w, t)
			return
		}
	}
	unreachable(w, err)
}

// stateOf returns a campaign's state, or that of the last one.
func (p *pages) stateOf(ctx context.Context, id string) (*board.State, error) {
	if id != "" {
		s, _, err := p.b.State(ctx, id)
		return s, err
	}
	list, err := p.b.States(ctx)
	if err == nil && len(list) == 0 {
		err = board.ErrNone
	}
	if err != nil {
		return nil, err
	}
	return slices.MaxFunc(list, func(a, b *board.State) int { return a.Began.Compare(b.Began) }), nil
}

// statusOf returns a campaign's status.
func (p *pages) statusOf(ctx context.Context, s *board.State) (*Status, error) {
	t := &Status{Status: new(board.Status), Exists: true, Began: s.Began.UTC().Format(time.RFC3339)}
	e, err := p.b.Status.Get(ctx, s.ID)
	switch {
	case err == nil:
		if err := json.Unmarshal(e.Value(), t.Status); err != nil {
			return nil, fmt.Errorf("campaign %s: its status is damaged: %w", s.ID, board.ErrDamaged)
		}
		t.HasStatus, t.StatusAge = true, p.statusAge(s.ID, e.Revision()).Seconds()
	case !errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, err
	}
	t.Status.ID, t.Status.Name, t.Status.State = s.ID, s.Name, s.State
	t.Status.Priority, t.Status.Build = s.Priority, s.Build
	return t, nil
}

// statusAge returns the time since a status last changed.
func (p *pages) statusAge(id string, n uint64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.seen[id]
	if r.n != n {
		r = revision{n, time.Now()}
		p.seen[id] = r
	}
	return time.Since(r.seen)
}

// A Campaign is a line of the list.
type Campaign struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Build    string    `json:"build"`
	Priority int       `json:"priority"`
	Began    time.Time `json:"began"`
	Causes   []string  `json:"causes"` // once it has ended
}

func (p *pages) campaigns(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), boardTimeout)
	defer cancel()
	states, err := p.b.States(ctx)
	if err != nil {
		unreachable(w, err)
		return
	}
	slices.SortFunc(states, func(a, b *board.State) int { return b.Began.Compare(a.Began) })
	list := make([]Campaign, len(states))
	for i, s := range states {
		list[i] = Campaign{s.ID, s.Name, s.State, s.Build, s.Priority, s.Began, s.Causes}
	}
	answer(w, list)
}

// causeForm is the form of a cause that can name a file.
var causeForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// find answers with a trace.
func (p *pages) find(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), boardTimeout)
	defer cancel()
	name := r.PathValue("name")
	cause, ok := strings.CutSuffix(name, ".kps")
	if !ok || !causeForm.MatchString(cause) {
		http.Error(w, "there is no such find; the page links to those there are", http.StatusNotFound)
		return
	}
	e, err := p.b.Finds.Get(ctx, cause)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		http.Error(w, "there is no such find; the page links to those there are", http.StatusNotFound)
		return
	}
	var c *board.Cause
	if err == nil {
		c, err = board.ReadCause(cause, e.Value())
	}
	if err != nil {
		unreachable(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = w.Write([]byte(c.Trace))
}

func answer(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n'))
}

// unreachable answers that the board didn't answer, or not in a readable form.
func unreachable(w http.ResponseWriter, err error) {
	http.Error(w, "the board doesn't answer: "+err.Error(), http.StatusServiceUnavailable)
}
