package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/version"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/traces"
)

// Format is the version of result files and of the division into shards. It is raised when either
// changes.
const Format = 3

// A File holds the contents of a result file: the result of one share of an exploration. On disk
// it is a line of JSON about the exploration, one for each scenario, and one with the SHA-256 of
// everything above it.
type File struct {
	Format    int      `json:"kpsim_results"`   // Format
	Schedule  int      `json:"schedule_format"` // traces.ScheduleFormat
	Share     int      `json:"shard"`           // from 1
	Shares    int      `json:"shards"`
	Strategy  string   `json:"strategy"`
	Seed      uint64   `json:"seed"`
	Unbiased  bool     `json:"unbiased,omitempty"`
	Mutant    string   `json:"mutant,omitempty"`
	Fetch     string   `json:"fetch,omitempty"`   // overrides the scenarios'
	Memory    string   `json:"memory,omitempty"`  // overrides the scenarios'
	Edition   string   `json:"edition,omitempty"` // overrides the scenarios'
	Ignored   []string `json:"ignored,omitempty"` // properties
	Every     bool     `json:"all_properties,omitempty"`
	Runs      uint64   `json:"runs,omitempty"` // of each scenario; 0: its default number
	SelfCheck uint64   `json:"self_check,omitempty"`
	Count     int      `json:"scenarios"`

	Kpsim version.Info `json:"kpsim"` // the kpsim that wrote it

	Scenarios []*Explored `json:"-"`
}

// An Explored is the part of a result file about one scenario.
type Explored struct {
	Name   string `json:"scenario"`
	Arg    string `json:"argument"`         // its name on the command line
	Source string `json:"source,omitempty"` // checksum of its program's source
	Text   string `json:"text"`             // the scenario, with its functions as bytes
	// digest of its default run: programs that agree on it are compatible
	Default string         `json:"default_digest"`
	Runs    uint64         `json:"runs"`              // of all shares together
	Canary  bool           `json:"canary_found"`      // by this share
	Checked uint64         `json:"checked,omitempty"` // runs that were repeated with the same result
	Seconds float64        `json:"seconds"`           // time of this share
	Parts   []explore.Part `json:"parts"`
	Traces  []string       `json:"traces"` // this share's witnesses, as NAME.kps

	from string // the file
}

type sumLine struct {
	Sum string `json:"sha256"`
}

// Marshal returns the file.
func (r *File) Marshal() ([]byte, error) {
	r.Format, r.Schedule, r.Count = Format, traces.ScheduleFormat, len(r.Scenarios)
	r.Kpsim = version.This()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	for _, e := range r.Scenarios {
		if err := enc.Encode(e); err != nil {
			return nil, err
		}
	}
	text := traces.Plain(b.Bytes()) // still valid JSON
	sum, err := json.Marshal(sumLine{sumOf(text)})
	return append(append(text, sum...), '\n'), err
}

func sumOf(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// Read reads a file. The error is one line: the file, what is wrong with it, and a remedy.
func Read(name string, data []byte) (*File, error) {
	wrong := func(format string, args ...any) (*File, error) {
		return nil, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...))
	}
	var r File
	head, _, _ := bytes.Cut(data, []byte("\n"))
	if !bytes.HasPrefix(head, []byte(`{"kpsim_results":`)) {
		return wrong("this is no result file; kpsim explore --out FILE writes one")
	}
	body := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
	var sum sumLine
	if !bytes.HasSuffix(data, []byte("\n")) || json.Unmarshal(data[body:], &sum) != nil || sum.Sum == "" {
		return wrong("its last line isn't its checksum: it was cut off; copy or make it again")
	}
	if sum.Sum != sumOf(data[:body]) {
		return wrong("its checksum is another one: it was damaged or edited; copy or make it again")
	}
	lines := strings.Split(strings.TrimSuffix(string(data[:body]), "\n"), "\n")
	if err := json.Unmarshal([]byte(lines[0]), &r); err != nil {
		return wrong("line 1: %v; make it again", err)
	}
	switch {
	case r.Format != Format:
		return wrong("result format %d, and this kpsim reads %d; merge with the kpsim that made it", r.Format, Format)
	case r.Schedule != traces.ScheduleFormat:
		return wrong("schedule format %d, and this kpsim makes %d; merge with the kpsim that made it", r.Schedule,
			traces.ScheduleFormat)
	case r.Shares < 1 || r.Shares > explore.MostShares || r.Share < 1 || r.Share > r.Shares:
		return wrong("line 1: shard %d of %d; make it again", r.Share, r.Shares)
	case r.Count != len(lines)-1:
		return wrong("%d scenarios, where %d were explored; make it again", len(lines)-1, r.Count)
	}
	for i, line := range lines[1:] {
		e := &Explored{from: name}
		if err := json.Unmarshal([]byte(line), e); err != nil {
			return wrong("line %d: %v; make it again", i+2, err)
		}
		r.Scenarios = append(r.Scenarios, e)
	}
	return &r, nil
}

// Join combines the shares of one exploration; names are their files. The error says why they
// aren't one exploration. missing is the number of a share that no file has, 0 if there is none;
// the error mentions it too.
func Join(names []string, list []*File) (all *File, missing int, err error) {
	first := list[0]
	whose := make([]int, first.Shares+1) // the file of each share, from 1
	for i, r := range list {
		if err := first.sameAs(names[0], names[i], r); err != nil {
			return nil, 0, err
		}
		if k := whose[r.Share]; k > 0 {
			return nil, 0, fmt.Errorf("%s and %s are both shard %d of %d; leave one out", names[k-1], names[i], r.Share,
				r.Shares)
		}
		whose[r.Share] = i + 1
	}
	for share := 1; share <= first.Shares; share++ {
		if whose[share] == 0 {
			return nil, share, fmt.Errorf("shard %d of %d is missing", share, first.Shares)
		}
	}
	whole := *first
	whole.Share, whole.Shares, whole.Scenarios = 1, 1, nil
	for i := range first.Scenarios {
		e := *first.Scenarios[i]
		e.Parts, e.Canary, e.Checked, e.Seconds, e.Traces = nil, false, 0, 0, nil
		for _, r := range list {
			s := r.Scenarios[i]
			e.Parts = append(e.Parts, s.Parts...)
			e.Canary = e.Canary || s.Canary
			e.Checked += s.Checked
			e.Seconds = max(e.Seconds, s.Seconds)
		}
		whole.Scenarios = append(whole.Scenarios, &e)
	}
	return &whole, 0, nil
}

// sameAs returns how another file's exploration differs.
func (r *File) sameAs(name, other string, s *File) error {
	for _, f := range []struct {
		what string
		a, b any
	}{
		{"number of shards", r.Shares, s.Shares},
		{"strategy", r.Strategy, s.Strategy},
		{"seed", r.Seed, s.Seed},
		{"bias", r.bias(), s.bias()},
		{"mutant", r.Mutant, s.Mutant},
		{"fetch model", r.Fetch, s.Fetch},
		{"memory model", r.Memory, s.Memory},
		{"edition", r.Edition, s.Edition},
		{"properties that are ignored", strings.Join(r.Ignored, ", "), strings.Join(s.Ignored, ", ")},
		{"properties that end a run", r.Every, s.Every},
		{"self-check", r.SelfCheck, s.SelfCheck},
	} {
		if f.a != f.b {
			return fmt.Errorf("%s and %s differ in the %s: %v, %v; merge the shards of one exploration", name, other,
				f.what, f.a, f.b)
		}
	}
	if len(r.Scenarios) != len(s.Scenarios) {
		return fmt.Errorf("%s has %d scenarios, %s has %d; merge the shards of one exploration", name, len(r.Scenarios),
			other, len(s.Scenarios))
	}
	for i, a := range r.Scenarios {
		b := s.Scenarios[i]
		switch {
		case a.Name != b.Name:
			return fmt.Errorf("%s is of %s, %s is of %s; merge the shards of one exploration", name, a.Name, other,
				b.Name)
		case a.Text != b.Text:
			return fmt.Errorf("%s and %s have different scenarios under the name %s; merge the shards of one "+
				"exploration", name, other, a.Name)
		case a.Runs != b.Runs:
			return fmt.Errorf("%s and %s differ in the runs of %s: %d, %d; merge the shards of one exploration", name,
				other, a.Name, a.Runs, b.Runs)
		case a.Default != b.Default:
			return fmt.Errorf("%s and %s were made by different versions of kpsim: the default run of %s "+
				"isn't the same", name, other, a.Name)
		}
	}
	return nil
}

// bias names what Unbiased turns off.
func (r *File) bias() string {
	if r.Unbiased {
		return "none"
	}
	return "watched text"
}

// Spec returns the exploration, and the number of questions of its default run. It verifies that
// this program makes the runs that the file is about.
func (r *File) Spec(e *Explored) (spec explore.Spec, points uint64, err error) {
	sc, err := lang.Parse(e.from, []byte(e.Text))
	if err != nil {
		return spec, 0, err
	}
	ignored, err := properties.Named(r.Ignored...)
	if err != nil {
		return spec, 0, fmt.Errorf("%s: %w", e.from, err)
	}
	spec = explore.Spec{Scenario: sc, Mutant: r.Mutant, Strategy: r.Strategy, Runs: e.Runs, Seed: r.Seed,
		Unbiased: r.Unbiased, Ignore: ignored, Past: pastOf(r.Every)}
	rig, err := rig.New(sc, r.Mutant)
	if err != nil {
		return spec, 0, fmt.Errorf("%s: %w", e.from, err)
	}
	defer rig.Close()
	run := rig.Run(new(sched.Default))
	if got := DigestName(run.Digest); got != e.Default {
		return spec, 0, fmt.Errorf("%s: made by another version of kpsim: the default run of %s has digest %s "+
			"there, %s here; merge with the one that made it", e.from, e.Name, e.Default, got)
	}
	spec.Dealt = explore.Deal(e.Runs, run.Counts.Points)
	return spec, run.Counts.Points, nil
}

func pastOf(every bool) properties.Set {
	if every {
		return properties.Every
	}
	return 0
}

// DigestName prints a digest.
func DigestName(d uint64) string { return fmt.Sprintf("%016x", d) }
