package catalogue

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"kpsim/internal/cli"
	"kpsim/traces"
)

type Version struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// A built is what is known of this program, as --json prints it.
type built struct {
	Version  string        `json:"version"`  // "": not known, as all of these
	Commit   string        `json:"commit"`   // a hash
	Time     string        `json:"time"`     // of the commit
	Modified *bool         `json:"modified"` // null: not known
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
	b := builtFrom(info)
	if c.JSON {
		return cli.OK, p.PrintJSON(b)
	}
	b.print(p)
	return cli.OK, nil
}

// builtFrom sorts what Go has noted; nil is nothing.
func builtFrom(info *debug.BuildInfo) *built {
	b := &built{Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Format: traces.ScheduleFormat, Modules: []builtModule{}}
	if info == nil {
		return b
	}
	if info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			modified := s.Value == "true"
			b.Modified = &modified
		}
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
	fmt.Fprintf(p.Out, "go               %s %s\n", b.Go, b.System)
	fmt.Fprintf(p.Out, "schedule format  %d\n", b.Format)
	t := table{}
	for _, m := range b.Modules {
		t.add(m.Path, m.Version)
	}
	t.print(p, "modules")
}
