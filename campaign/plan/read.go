package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"kpsim/internal/scenario/library"
)

// MostPlan is the largest campaign, in bytes, as it is stored.
const MostPlan = 128 << 20

// mostUnits is the most units of a search.
const mostUnits = 1 << 26

// Read reads a campaign. It may come from a stranger: everything in it is checked before it is used.
func Read(data []byte) (*Campaign, error) {
	if len(data) > MostPlan {
		return nil, fmt.Errorf("the campaign has %d bytes; at most %d are read", len(data), MostPlan)
	}
	var c Campaign
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("the campaign isn't JSON: %s", Clean(err.Error(), 200, false))
	}
	for _, s := range []string{c.Name, c.ID, c.Build, c.Previous} {
		if !short(s) {
			return nil, errors.New("the campaign's name isn't valid")
		}
	}
	if len(c.Searches) == 0 || len(c.Searches) > mostSearches {
		return nil, fmt.Errorf("the campaign has %d searches; give 1 to %d", len(c.Searches), mostSearches)
	}
	for i, s := range c.Searches {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("search %d: %w", i, err)
		}
	}
	return &c, nil
}

// short reports whether a text can be printed as a name.
func short(s string) bool { return len(s) <= 200 && Clean(s, 200, false) == s }

var (
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	fileForm   = regexp.MustCompile(`^[A-Za-z0-9_+][A-Za-z0-9_.+~:-]{0,199}$`)
)

// Check checks the description of a file. Its name and its digest become parts of a path.
func (b *Blob) Check() error {
	switch {
	case !fileForm.MatchString(b.Name):
		return fmt.Errorf("%q: the name of a kernel or an object has letters, digits and . _ + ~ : - only",
			Clean(b.Name, 60, false))
	case !digestForm.MatchString(b.Digest) || b.List != "" && !digestForm.MatchString(b.List):
		return fmt.Errorf("%s: its digest isn't valid", b.Name)
	case b.Size < 0 || b.Size > MostFile:
		return fmt.Errorf("%s: it has %d bytes; at most %d are fetched", b.Name, b.Size, MostFile)
	}
	return nil
}

func (s *Search) check() error {
	if s == nil || s.Flags == nil {
		return errors.New("it isn't there")
	}
	if f := s.Fuzz; f != nil && (f.Islands < 1 || f.Islands > 1<<16 || f.Size < 1 || f.Size > 1<<12) {
		return fmt.Errorf("%d islands of %d programs", f.Islands, f.Size)
	}
	if err := s.checkFiles(); err != nil {
		return err
	}
	if v := s.Verify; v != nil {
		if err := v.check(); err != nil {
			return err
		}
	}
	for _, w := range s.Words() { // they are printed above the report
		if Clean(w, len(w), false) != w {
			return fmt.Errorf("%q: it has control characters", Clean(w, 60, false))
		}
	}
	n := len(s.Scenarios)
	if len(s.Points) != n || len(s.Canary) != n || len(s.Bundle) != n {
		return fmt.Errorf("%d scenarios, but %d, %d and %d figures of them", n, len(s.Points), len(s.Canary),
			len(s.Bundle))
	}
	if n > 0 && (s.Fuzz != nil || s.Verify != nil) || s.Fuzz != nil && s.Verify != nil {
		return errors.New("it is more than one of an exploration, a fuzzing session and proofs")
	}
	units := 0
	for i, e := range s.Scenarios {
		switch {
		case e == nil || len(e.Parts) > 0:
			return fmt.Errorf("scenario %d isn't one that is to be explored", i)
		case !short(e.Name) || !short(e.Source) || Clean(e.Arg, len(e.Arg), false) != e.Arg || !short(s.Canary[i]):
			return fmt.Errorf("scenario %d has a name that isn't valid", i)
		case s.Bundle[i] < 1 || e.Runs < 1 || e.Runs > mostNumber:
			return fmt.Errorf("scenario %s: %d runs, %d shards a unit", e.Name, e.Runs, s.Bundle[i])
		}
		if units += s.Units(i); units > mostUnits {
			return fmt.Errorf("more than %d units", mostUnits)
		}
	}
	return nil
}

// checkFiles makes sure that nothing names a file but those described with their digests.
func (s *Search) checkFiles() error {
	kernel, objects := s.Flags.Kernel.Kernel, s.Flags.Kernel.Objects
	switch {
	case s.Kernel == nil && (kernel != "" || len(objects) > 0 || len(s.Objects) > 0):
		return errors.New("a kernel without a digest")
	case s.Kernel != nil && (kernel == "" || len(objects) != len(s.Objects)):
		return fmt.Errorf("%d objects, and digests of %d", len(objects), len(s.Objects))
	case s.Flags.Out != "" || s.Flags.Shard != "":
		return errors.New("--out and --shard are of kpsim explore")
	}
	for _, b := range s.Blobs() {
		if err := b.Check(); err != nil {
			return err
		}
	}
	return nil
}

func (v *Proofs) check() error {
	if v.Flags == nil {
		return errors.New("proofs without flags")
	}
	for i := range v.Scenarios {
		g := &v.Scenarios[i]
		if !short(g.Name) || !short(g.Source) || Clean(g.Arg, len(g.Arg), false) != g.Arg {
			return fmt.Errorf("scenario %d has a name that isn't valid", i)
		}
		if g.Text != "" {
			continue
		}
		// otherwise it would be a file of the computer that reads the plan
		if _, err := library.Source(g.Arg); err != nil {
			return fmt.Errorf("scenario %s has no text", g.Name)
		}
	}
	return nil
}

// Local reports whether a search's traces go to a folder below the one where its report is made.
func (s *Search) Local() bool { return filepath.IsLocal(s.Flags.Traces) }

// Has reports whether a unit belongs to the campaign's plan. Of units that check claims of islands only the round and
// the island are checked: the claims aren't known before.
func (c *Campaign) Has(u *Unit) bool {
	if u.Search < 0 || u.Search >= len(c.Searches) || u.Job < 0 {
		return false
	}
	s := c.Searches[u.Search]
	switch {
	case s.Fuzz != nil:
		return (u.Kind == Island && u.Job == 0 || u.Kind == Witness) && u.From >= 0 && u.To >= 0 &&
			uint64(u.To) < s.Fuzz.Islands
	case s.Verify != nil:
		return u.Kind == Proof && u.Job < len(s.Verify.Scenarios) && u.From == 0 && u.To == 0
	case u.Job >= len(s.Scenarios):
		return false
	case u.Kind == Witness && u.From == All && u.To == All:
		return true
	case u.Kind != Runs && u.Kind != Canary && u.Kind != Witness, u.From < 0:
		return false
	}
	b := s.Bundle[u.Job]
	return u.From%b == 0 && u.From < s.Shards(u.Job) && u.To == min(u.From+b, s.Shards(u.Job))
}
