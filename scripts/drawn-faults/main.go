// Command drawn-faults measures the searches: it draws faults of the engine and of the kernel's services, puts each
// by itself into kpsim, and checks whether kpsim explore and fuzz notice, without the help of any unit test.
//
//	go run ./scripts/drawn-faults --draw 80 --seed 1 --results faults.jsonl > faults.md
//	go run ./scripts/drawn-faults --list
//
// All drawn faults are compiled into one kpsim, each guarded by a number (package on). The tree isn't changed: the
// compiler gets other files by
// -overlay. First each search is run with no fault chosen, and must find nothing. A fault that isn't reached in that
// run isn't reached when it is chosen either, so it isn't tried.
//
// A fault is noticed when a search prints a line that is against expectation, when a scenario is refused, or when
// kpsim crashes. A search that doesn't end within --limit hasn't noticed. For faults that aren't noticed the report
// says whether the searches printed any other number: of runs, points, behaviours. A search gets one core, and the
// flags --json
// --workers 1 --traces.
//
// --results is written after each trial; a rerun with the same file continues. Exit status: 0, however few were
// noticed; 2 bad input.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"kpsim/scripts/drawn-faults/on"
)

type options struct {
	Draw       int           `help:"How many faults." default:"80"`
	Seed       uint64        `help:"Which ones: the same seed draws the same faults of the same tree." default:"1"`
	Only       string        `help:"A file of IDs, as --list prints them: these faults, as far as they are in the tree, instead of drawn ones." placeholder:"FILE"`
	In         []string      `help:"The packages, as folders." default:"kprobes,smp/kernel" placeholder:"FOLDER"`
	Search     []string      `help:"What is to notice them, as words of kpsim; may be given many times." default:"explore;fuzz" sep:";" placeholder:"WORDS"`
	Limit      time.Duration `help:"How long one search may take." default:"5m"`
	Memory     uint64        `help:"How many MiB a search may map." default:"8192"`
	Jobs       int           `help:"How many searches at once, each on one core." default:"1"`
	Quick      bool          `help:"Leave out the other searches of a fault when one has noticed."`
	Results    string        `help:"Where the trials are kept." default:"drawn-faults.jsonl" placeholder:"FILE"`
	Equivalent string        `help:"A file of faults that change nothing: a line is a fault's ID, the next, indented, says why." placeholder:"FILE"`
	List       bool          `help:"Print the faults that are drawn, and no more. With --draw 0: how many there are to draw from, by kind."`
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("drawn-faults"),
		kong.Description("Draws faults of the engine and of the kernel, and sees whether the searches notice."))
	if err := run(&o); err != nil {
		fmt.Fprintf(os.Stderr, "drawn-faults: %v\n", err)
		os.Exit(2)
	}
}

func run(o *options) error {
	equal, err := equivalents(o.Equivalent)
	if err != nil {
		return err
	}
	rooms, err := load(o.In)
	if err != nil {
		return err
	}
	if o.Draw > on.Most {
		return fmt.Errorf("--draw: %d are too many; draw %d at most", o.Draw, on.Most)
	}
	list, err := o.choose(rooms)
	if err != nil {
		return err
	}
	if o.List {
		o.list(rooms, list)
		return nil
	}
	dir, err := os.MkdirTemp("", "drawn-faults")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := build(rooms, list, dir, "./cmd/kpsim")
	if err != nil {
		return err
	}
	r, err := open(o.Results, head{tree(rooms), o.Seed, len(list)})
	if err != nil {
		return err
	}
	defer r.file.Close()
	if err := o.all(binary, list, r); err != nil {
		return err
	}
	o.report(os.Stdout, o.verdicts(list, r, equal))
	return nil
}

// choose draws faults, or reads the given ones.
func (o *options) choose(rooms []*room) ([]*Fault, error) {
	if o.Only == "" {
		return draw(rooms, o.Draw, o.Seed), nil
	}
	text, err := os.ReadFile(o.Only)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]bool)
	for l := range strings.Lines(string(text)) {
		wanted[strings.TrimRight(l, "\n")] = true
	}
	var list []*Fault
	for _, r := range rooms {
		for _, x := range r.faults {
			if wanted[x.ID] && !slices.ContainsFunc(list, func(y *Fault) bool { return clash(x, y) }) && r.compiles(x) {
				delete(wanted, x.ID)
				list = append(list, x)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		fmt.Fprintf(os.Stderr, "left out, not in the tree or it clashes with another: %s\n", id)
	}
	return list, nil
}

// list prints the drawn faults, or how many there are.
func (o *options) list(rooms []*room, drawn []*Fault) {
	for _, x := range drawn {
		fmt.Println(x.ID)
	}
	if len(drawn) > 0 {
		return
	}
	for _, k := range kinds {
		n := 0
		for _, r := range rooms {
			for _, x := range r.faults {
				if x.Kind == k {
					n++
				}
			}
		}
		fmt.Printf("%-24s %5d\n", k, n)
	}
}

// tree identifies the sources of the packages.
func tree(rooms []*room) string {
	h := sha256.New()
	for _, r := range rooms {
		for _, name := range slices.Sorted(maps.Keys(r.texts)) {
			fmt.Fprintf(h, "%s %d\n%s", name, len(r.texts[name]), r.texts[name])
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// build builds a program with all faults in it, numbered as in the list.
func build(rooms []*room, list []*Fault, dir, program string) (binary string, err error) {
	replace := make(map[string]string)
	for _, r := range rooms {
		for name, text := range r.texts {
			of := make(map[int]*Fault)
			for n, x := range list {
				if x.File == name {
					of[n] = x
				}
			}
			if len(of) == 0 {
				continue
			}
			path, err := filepath.Abs(name)
			if err != nil {
				return "", err
			}
			copied := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
			if err := os.WriteFile(copied, rewrite(text, of), 0o600); err != nil {
				return "", err
			}
			replace[path] = copied
		}
	}
	says, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, says, 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "faulty")
	if said, err := exec.Command("go", "build", "-overlay", overlay, "-o", binary,
		program).CombinedOutput(); err != nil {
		return "", fmt.Errorf("the faults together don't compile: %w\n%s", err, said)
	}
	return binary, nil
}

// none is the ID of no fault.
const none = "none"

// all makes the remaining trials, the one without a fault first.
func (o *options) all(binary string, list []*Fault, r *results) error {
	for _, s := range o.Search {
		if r.get(none, s) != nil {
			continue
		}
		t, err := o.search(binary, s, -1)
		if err != nil {
			return err
		}
		if t.How != unnoticed {
			return fmt.Errorf("without a fault kpsim %s shows something already: %s: %s", s, t.How, t.By)
		}
		t.Fault = &Fault{ID: none}
		if err := r.add(t); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%-8s %6.1f s  without a fault\n", s, t.Seconds)
	}
	queue := make(chan int)
	errs := make(chan error, o.Jobs)
	var wg sync.WaitGroup
	for range max(o.Jobs, 1) {
		wg.Go(func() {
			for n := range queue {
				if err := o.one(binary, n, list[n], r); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	for n := range list {
		queue <- n
	}
	close(queue)
	wg.Wait()
	close(errs)
	return <-errs
}

// one makes the trials of a fault.
func (o *options) one(binary string, n int, x *Fault, r *results) error {
	noticed := false
	for _, s := range o.Search {
		t := r.get(x.ID, s)
		if t == nil && noticed && o.Quick {
			continue
		}
		if t == nil && !slices.Contains(r.get(none, s).Clean, n) {
			t = &trial{Search: s, Far: neverReached, How: unnoticed, Shown: r.get(none, s).Shown}
		} else if t == nil {
			var err error
			if t, err = o.search(binary, s, n); err != nil {
				return err
			}
		}
		if t.Fault == nil {
			t.Fault = x
			if err := r.add(t); err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "%3d %-8s %6.1f s  %s, %s %s  %s:%d %s\n",
				n, s, t.Seconds, t.Far, t.How, t.By, x.File, x.Line, x.Kind)
		}
		noticed = noticed || t.noticed()
	}
	return nil
}
