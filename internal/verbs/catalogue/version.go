package catalogue

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"kpsim/internal/ui/cli"
	"kpsim/internal/version"
	"kpsim/traces"
)

// Version is kpsim version.
type Version struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Help implements kong.HelpProvider.
func (*Version) Help() string {
	return `Print which kpsim this is: commit, Go, modules, the format of its traces.

Prints the commit that kpsim was built from, and whether there were changes that aren't in it; Go; the modules; and the number at the end of traces: those of an older one are replayed as well as their labels say, those of a newer one aren't read. What Go hasn't noted is not known: "go run" and "go test" note no commit.

Examples:

  kpsim version
  kpsim --version
  kpsim version --json

Exit status: 0, or 2 for bad input.`
}

// A built describes this program's build, as printed by --json.
type built struct {
	Version  string        `json:"version"`  // "": unknown, as in all fields
	Commit   string        `json:"commit"`   // a hash
	Time     string        `json:"time"`     // of the commit
	Modified *bool         `json:"modified"` // null: not known
	Source   string        `json:"source"`   // where to get it
	Go       string        `json:"go"`
	System   string        `json:"system"`
	Format   int           `json:"schedule_format"`
	Modules  []builtModule `json:"modules"`
}

type builtModule struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

func (c *Version) Run(p *cli.Program) (int, error) {
	info, _ := debug.ReadBuildInfo()
	b := builtFrom(version.This(), info)
	if c.JSON {
		return cli.OK, p.PrintJSON(b)
	}
	b.print(p)
	return cli.OK, nil
}

// builtFrom collects what is known about the build; info may be nil.
func builtFrom(v version.Info, info *debug.BuildInfo) *built {
	b := &built{
		Version: v.Version, Commit: v.Commit, Time: v.Time, Modified: v.Modified, Source: v.Source,
		Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Format: traces.ScheduleFormat,
		Modules: []builtModule{},
	}
	if info == nil {
		return b
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Modules = append(b.Modules, builtModule{m.Path, cmp.Or(m.Version, "(a folder)")})
	}
	return b
}

func (b *built) print(p *cli.Program) {
	commit := "not known: Go has noted none; go build -buildvcs=true ./cmd/kpsim in a clone does"
	if b.Commit != "" {
		commit = b.Commit
		if b.Time != "" {
			commit += " of " + b.Time
		}
		switch {
		case b.Modified == nil:
			commit += ", not known whether modified"
		case *b.Modified:
			commit += ", modified"
		}
	}
	p.Indented("", "kpsim            "+cmp.Or(b.Version, "no version is known"))
	p.Indented("", "commit           "+commit)
	p.Indented("", "from             "+b.Source)
	fmt.Fprintf(p.Out, "go               %s %s\n", b.Go, b.System)
	fmt.Fprintf(p.Out, "schedule format  %d\n", b.Format)
	t := table{}
	for _, m := range b.Modules {
		t.add(m.Path, m.Version)
	}
	t.print(p, "modules")
}
