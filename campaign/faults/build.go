package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Programs are the programs under test.
type Programs struct {
	dir             string
	Kpsim, Campaign string
}

// Build builds them into a folder. kpsim-campaign is built with the tag faults, so that a unit can be poisoned, and
// with a clock that can be set wrong.
func Build(dir string) (*Programs, error) {
	over, err := overlay(dir)
	if err != nil {
		return nil, err
	}
	p := &Programs{dir, filepath.Join(dir, "kpsim"), filepath.Join(dir, "kpsim-campaign")}
	for _, args := range [][]string{
		{"-o", p.Kpsim, "kpsim/cmd/kpsim"},
		{"-o", p.Campaign, "-tags", "faults", "-overlay", over, "kpsim/campaign/cmd/kpsim-campaign"},
	} {
		if out, err := exec.Command("go", append([]string{"build"}, args...)...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build %v: %w\n%s", args, err, out)
		}
	}
	return p, nil
}

// path is the environment's PATH with the programs in it, so that they can be called by name, also by each other.
func (p *Programs) path() string {
	return "PATH=" + p.dir + string(filepath.ListSeparator) + os.Getenv("PATH")
}
