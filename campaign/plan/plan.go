package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/results"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// A Campaign is all that is to be made, as data. It is stored in this form.
type Campaign struct {
	Name     string    `json:"name"`     // campaigns of one name are compared
	ID       string    `json:"id"`       // NAME-NUMBER
	Build    string    `json:"build"`    // of package build: programs of this build may work on it
	Priority int       `json:"priority"` // a campaign of higher priority goes first
	Previous string    `json:"against"`  // the ID of the previous campaign of that name; "": none
	Searches []*Search `json:"searches"`
}

// A Search is one exploration of a campaign: the work of one kpsim command.
type Search struct {
	Flags     *findings.Explore   `json:"flags"`
	Head      results.File        `json:"head"`
	Scenarios []*results.Explored `json:"scenarios"` // without parts
	Points    []uint64            `json:"points"`    // how many points each scenario's default run has
	// for each scenario, a mutant to be found if nothing else is; "": none
	Canary  []string `json:"canary"`
	Kernel  *Blob    `json:"kernel"` // nil: kpsim's own engine
	Objects []Blob   `json:"objects"`

	// instead of an exploration; of Flags only the kernel, the mutant and the folder of traces apply
	Fuzz *findings.FuzzRounds `json:"fuzz,omitempty"`

	Verify *Proofs `json:"verify,omitempty"` // instead of an exploration; the same flags apply

	Bundle []int `json:"bundle"` // how many shards are one unit, for each scenario
}

// A Blob is a file that is sent to each worker once.
type Blob struct {
	Name   string `json:"name"` // without folder
	Path   string `json:"path"` // on the computer where the campaign was started
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	List   string `json:"list"` // the digest of the list of its pieces
}

// A Kind is a kind of unit.
type Kind string

// The kinds of unit.
const (
	Runs    Kind = "r" // shards of a scenario
	Canary  Kind = "c" // the same with the canary, until it is found
	Witness Kind = "w" // the finds of one unit of runs, or of all, shrunk
	Island  Kind = "f" // of a fuzzing campaign: From is the round, To the island
	Proof   Kind = "v" // of a scenario
)

// All, as From of a Witness, means all runs of the scenario.
const All = -1

// A Unit is work for one core, some seconds of it. Its result is the same on any computer.
type Unit struct {
	Campaign string `json:"campaign"`
	Search   int    `json:"search"`
	Job      int    `json:"job"` // the scenario
	Kind     Kind   `json:"kind"`
	From     int    `json:"from"` // shards From to To-1; of an Island, round and number
	To       int    `json:"to"`

	// the claim that the Witness of an island is about; From and To are the island's, Job is the claim's number
	Claim *findings.FuzzClaim `json:"claim,omitempty"`
}

// Key names a unit; it is part of a subject.
func (u *Unit) Key() string {
	return fmt.Sprintf("%s.%d.%d.%s.%d.%d", u.Campaign, u.Search, u.Job, u.Kind, u.From, u.To)
}

func (u *Unit) String() string { return u.Key() }

// Explore plans an exploration. It loads its scenarios, and runs each once. Errors are about the input.
func Explore(p *cli.Program, flags *findings.Explore) (*Search, error) {
	made, err := flags.Plan(p)
	if err != nil {
		return nil, err
	}
	s := &Search{Flags: flags, Head: *made.File, Scenarios: made.File.Scenarios, Points: made.Points,
		Canary: made.Canary}
	s.Head.Format, s.Head.Count = results.Format, len(s.Scenarios)
	s.Head.Scenarios = nil
	if err := s.files(); err != nil {
		return nil, err
	}
	s.bundle()
	return s, nil
}

// Fuzz plans a fuzzing session in rounds: each round has the given number of islands, and each
// island size programs. Errors are about the input.
func Fuzz(flags *findings.Fuzz, islands, size uint64) (*Search, error) {
	rounds, err := flags.Plan(islands, size)
	if err != nil {
		return nil, err
	}
	x := &findings.Explore{Traces: flags.Traces, Form: flags.Form}
	x.Kernel.Kernel, x.Kernel.Objects, x.Mutant, x.AsShipped = flags.Kernel.Kernel, flags.Kernel.Objects, flags.Mutant,
		flags.AsShipped
	s := &Search{Flags: x, Fuzz: rounds}
	return s, s.files()
}

// How many points a unit's runs have: between half a second and eight seconds of a core, depending on the size of the
// search. More units keep workers evenly busy to the end; fewer are cheaper to hand out.
const (
	unitLeast = 3_000_000
	unitMost  = 48_000_000
	unitsWant = 2_000
)

func (s *Search) bundle() {
	all := uint64(0)
	for i, e := range s.Scenarios {
		all += e.Runs * s.Points[i]
	}
	points := min(max(all/unitsWant, unitLeast), unitMost)
	for i, e := range s.Scenarios {
		shards := uint64(s.Shards(i))
		each := max(e.Runs*s.Points[i]/shards, 1)
		s.Bundle = append(s.Bundle, int(min(max(points/each, 1), shards)))
	}
}

// Shards returns the number of shards that a scenario's runs are dealt into.
func (s *Search) Shards(job int) int { return explore.Deal(s.Scenarios[job].Runs, s.Points[job]) }

// Units returns the number of units of a scenario's runs.
func (s *Search) Units(job int) int {
	return (s.Shards(job) + s.Bundle[job] - 1) / s.Bundle[job]
}

// Unit returns unit number n of a scenario of the search with that number in the campaign.
func (s *Search) Unit(id string, search, job int, kind Kind, n int) Unit {
	b := s.Bundle[job]
	return Unit{Campaign: id, Search: search, Job: job, Kind: kind, From: n * b, To: min((n+1)*b, s.Shards(job))}
}

// File is the exploration as a result file, to which parts are added.
func (s *Search) File() *results.File {
	f := s.Head
	for _, e := range s.Scenarios {
		e := *e
		f.Scenarios = append(f.Scenarios, &e)
	}
	return &f
}

// Words is the kpsim command whose report is that of the search.
func (s *Search) Words() []string {
	if s.Verify != nil {
		return append([]string{"kpsim"}, s.Verify.Flags.Words()...)
	}
	if s.Fuzz == nil {
		return append([]string{"kpsim"}, s.Flags.Words()...)
	}
	r := s.Fuzz
	words := cli.WithFlags([]string{"kpsim-campaign", "fuzz", "--seed", fmt.Sprint(gen.FirstOf(r.Seed)),
		"--each", fmt.Sprint(r.Each), "--islands", fmt.Sprint(r.Islands), "--size", fmt.Sprint(r.Size)},
		"--programs", r.Programs, "--runs", r.Runs, "--until-covered", r.UntilCovered, "--edition", r.Edition,
		"--preempt", r.Preempt, "--arch", r.Arch, "--memory", r.Memory, "--strategy", r.Strategy, "--mutant", r.Mutant,
		"--without", strings.Join(r.Without, ","), "--as-shipped", r.AsShipped, "--fresh", r.Fresh)
	return append(words, s.Flags.Kernel.Words()...)
}

// Spec is what a unit of a scenario explores. Errors say that this program makes other runs than those planned.
func (s *Search) Spec(job int) (explore.Spec, error) {
	f := s.File()
	spec, _, err := f.Spec(f.Scenarios[job])
	return spec, err
}

// Needs names what a worker must have to make the search's units: "go", or a kernel with the objects to put over it.
func (s *Search) Needs() string {
	if s.Kernel == nil {
		return "go"
	}
	h := sha256.New()
	for _, b := range append([]Blob{*s.Kernel}, s.Objects...) {
		fmt.Fprintln(h, b.Digest)
	}
	return fmt.Sprintf("k%x", h.Sum(nil)[:8])
}

// Blobs lists the files that a worker needs.
func (s *Search) Blobs() []Blob {
	if s.Kernel == nil {
		return nil
	}
	return append([]Blob{*s.Kernel}, s.Objects...)
}

// Marshal returns the campaign as it is stored.
func (c *Campaign) Marshal() ([]byte, error) { return json.Marshal(c) }
