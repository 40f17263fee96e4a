package review

import (
	"fmt"
	"os"
	"path/filepath"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/linux"
)

const (
	keptMost   = 10_000   // files in a folder
	recipeMost = 64 << 10 // bytes of a recipe
)

// kept returns the scenarios of the corpus.
func (c *Review) kept(on gen.On) (list []*scenario.Scenario, err error) {
	if c.Corpus == "" {
		return nil, nil
	}
	files, err := os.ReadDir(string(c.Corpus))
	if err != nil {
		return nil, fmt.Errorf("--corpus: %s; name a folder of .kps, .recipe or .star files",
			cli.Cause(err, string(c.Corpus)))
	}
	for _, f := range files {
		path := filepath.Join(string(c.Corpus), f.Name())
		var sc *scenario.Scenario
		switch filepath.Ext(path) {
		case ".kps":
			file, err := inputs.ReadTrace(path)
			if err != nil {
				return nil, err
			}
			if sc, err = lang.ParseFrom(path, []byte(file.Scenario), file.ScenarioLine); err != nil {
				return nil, err
			}
		case ".star":
			if sc, err = inputs.One(inputs.ByHand, path); err != nil {
				return nil, err
			}
		case ".recipe":
			b, err := cli.ReadFile(path, recipeMost)
			if err != nil {
				return nil, err
			}
			r, err := gen.ReadRecipe(b)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			sc, _ = gen.Of(&r, on)
		default:
			continue
		}
		if list = append(list, sc); len(list) > keptMost {
			return nil, fmt.Errorf("--corpus: %s has more than %d files; remove some, or give another folder", c.Corpus,
				keptMost)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--corpus: %s has no .kps, .recipe or .star file; name a folder that has", c.Corpus)
	}
	return list, nil
}

// on returns the machines for which programs are drawn.
func on(k *linux.Kernel) gen.On {
	return twoengines.DrawnFor(k)
}

// drawn draws a program of several tasks and sources: the next one, from the seed on, that both kernels serve.
func (r *found) drawn(seed *uint64) *scenario.Scenario {
	for tries := 0; ; tries++ {
		sc, _ := gen.Of(&gen.Recipe{Seed: *seed}, on(r.before))
		sc.Name = fmt.Sprintf("drawn-%d", *seed)
		*seed++
		before, after := *sc, *sc
		if tries == drawnTries || onlinux.Set(&before, r.before) == nil && onlinux.Set(&after, r.after) == nil {
			return sc
		}
	}
}

// drawnTries bounds the programs that are drawn for one that both kernels serve: most are.
const drawnTries = 100
