package bisect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/edits"
	"kpsim/internal/patches"
	"kpsim/internal/ui/cli"
)

// A step is one of a series.
type step struct {
	title   string
	objects func(ctx context.Context) ([]string, error) // laid over the kernel; none: it is the kernel's own code
	text    func(name string) ([]byte, error)           // of its source; nil: only objects are known
	engine  []string                                    // files that text has
}

// mails makes a series of the patches of a file: step k has the first k of them.
func mails(release, dir, file string) ([]step, error) {
	text, err := cli.ReadFile(file, patches.Most)
	if err != nil {
		return nil, fmt.Errorf("--patch: %s", cli.Cause(err, file))
	}
	list, err := patches.Read(text)
	if err != nil {
		return nil, fmt.Errorf("--patch: %s: %w", file, err)
	}
	var steps []step
	for k := range len(list) + 1 {
		e, err := edits.Of(release, dir)
		if err != nil {
			return nil, sourceError(err, dir)
		}
		title := "the source"
		if k > 0 {
			title = list[k-1].Title(fmt.Sprintf("patch %d of %s", k, filepath.Base(file)))
			err = e.Apply(list[:k], file)
		}
		if err != nil && k == len(list) {
			return nil, fmt.Errorf("--patch: %s: %w", file, err)
		}
		steps = append(steps, stepOf(title, e))
	}
	return steps, nil
}

// sourceError names the flag.
func sourceError(err error, dir string) error {
	if p := new(fs.PathError); errors.As(err, &p) {
		return fmt.Errorf("--source: %s", cli.Cause(err, dir))
	}
	return fmt.Errorf("--source: %w", err)
}

// stepOf makes a step of an edit: the files that differ from those of the release are compiled.
func stepOf(title string, e *edits.Edit) step {
	return step{title: title, text: e.Text, engine: e.Engine(), objects: func(ctx context.Context) ([]string, error) {
		names, err := e.Differing()
		if err != nil || len(names) == 0 {
			return nil, err
		}
		return e.Compiled(ctx, names)
	}}
}

func noObjects(context.Context) ([]string, error) { return nil, nil }

// mostCommits is the maximum number of commits of a range that change the engine's files.
const mostCommits = 4096

// commits makes a series of a range of a repository: those commits that change files of the engine.
func commits(release, dir, from, to string) ([]step, error) {
	engine, err := edits.Engine(release)
	if err != nil {
		return nil, fmt.Errorf("--source: %w", err)
	}
	ends := make([]string, 2)
	for i, end := range []struct{ flag, name string }{{"--good", from}, {"--bad", to}} {
		out, err := git(dir, "rev-parse", "--verify", "--quiet", "--end-of-options", end.name+"^{commit}")
		if err != nil {
			return nil, fmt.Errorf("%s: %s is no commit of %s; give one, or a series with --patch", end.flag,
				end.name, dir)
		}
		ends[i] = strings.TrimSpace(out)
	}
	out, err := git(dir, append([]string{"log", "--reverse", "--topo-order", "--format=%H %s",
		ends[0] + ".." + ends[1], "--"}, engine...)...)
	if err != nil {
		return nil, fmt.Errorf("--good: %w", err)
	}
	lines := slices.Collect(strings.Lines(out))
	if len(lines) == 0 {
		return nil, fmt.Errorf("--good: no commit from %s to %s changes a file that the engine of %s is compiled "+
			"from", from,
			to, release)
	}
	if len(lines) > mostCommits {
		return nil, fmt.Errorf("--good: %d commits change the engine; give a range of %d at most", len(lines),
			mostCommits)
	}
	lines = slices.Insert(lines, 0, ends[0]+" "+from)
	var steps []step
	for _, line := range lines {
		commit, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		e, err := edits.Read(release, dir, func(name string) ([]byte, error) { return show(dir, commit, name) })
		if err != nil {
			return nil, sourceError(err, dir)
		}
		steps = append(steps, stepOf(commit[:min(len(commit), 12)]+" "+strconv.Quote(subject), e))
	}
	return steps, nil
}

// show reads a file of a commit.
func show(dir, commit, name string) ([]byte, error) {
	out, err := git(dir, "cat-file", "blob", commit+":"+name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(out), nil
}

// git runs git in a repository, without the user's configuration of hooks and pagers.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", dir, "--no-pager", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, first)
	}
	return string(out), nil
}

// sets makes a series of files or folders with objects, the oldest first. A folder's objects lie anywhere below it.
func sets(list []cli.FileName) ([]step, error) {
	steps := []step{{title: "the kernel's own code", objects: noObjects}}
	for _, name := range list {
		info, err := os.Stat(string(name))
		if err != nil {
			return nil, fmt.Errorf("--sets: %s", cli.Cause(err, string(name)))
		}
		objects := []string{string(name)}
		if info.IsDir() {
			objects = nil
			err := filepath.WalkDir(string(name), func(at string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() && filepath.Ext(at) == ".o" {
					objects = append(objects, at)
				}
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("--sets: %s", cli.Cause(err, string(name)))
			}
			if len(objects) == 0 {
				return nil, fmt.Errorf("--sets: %s: it has no object (*.o); give folders with objects, or objects",
					name)
			}
		}
		steps = append(steps, step{title: string(name), objects: func(context.Context) ([]string, error) {
			return objects, nil
		}})
	}
	return steps, nil
}

// cutTo cuts a series to the steps from good to bad, which are numbers of steps; "" is the first and the last.
func cutTo(steps []step, from, to string) ([]step, int, error) {
	at := [2]int{0, len(steps) - 1}
	for i, end := range []struct{ flag, says string }{{"--good", from}, {"--bad", to}} {
		if end.says == "" {
			continue
		}
		n, err := strconv.Atoi(end.says)
		if err != nil || n < 0 || n >= len(steps) {
			return nil, 0, fmt.Errorf("%s: %s is no step of the series; give a number from 0, which is before the "+
				"first, to %d",
				end.flag, end.says, len(steps)-1)
		}
		at[i] = n
	}
	if at[0] >= at[1] {
		return nil, 0, fmt.Errorf("--good: step %d isn't before step %d; exchange them", at[0], at[1])
	}
	return steps[at[0] : at[1]+1], at[0], nil
}

// changes returns where a step's source differs from that of the one before: the first line of each file.
func (s *step) changes(before *step) (places []string) {
	if s.text == nil || before.text == nil {
		return nil
	}
	for _, name := range s.engine {
		now, err := s.text(name)
		was, gone := before.text(name)
		if err != nil || gone != nil || bytes.Equal(now, was) {
			continue
		}
		line := 1
		for i := 0; i < min(len(now), len(was)) && now[i] == was[i]; i++ {
			if now[i] == '\n' {
				line++
			}
		}
		places = append(places, fmt.Sprintf("%s:%d", name, line))
	}
	return places
}
