package version

import (
	"cmp"
	"runtime/debug"
	"strings"
	"sync"

	"kpsim/internal/lazyregexp"
)

// What the linker sets (-X kpsim/internal/version.commit=HASH), "" if it doesn't.
var (
	version string // such as 1.2.3
	commit  string // a hash, perhaps with -dirty
	source  string // where to get it: a URL
)

// Module is the path of kpsim's module.
const Module = "kpsim"

// An Info says which kpsim a program is. Its fields are those of the JSON.
type Info struct {
	Version  string `json:"version"`  // "": not known
	Commit   string `json:"commit"`   // a hash; "": not known
	Modified *bool  `json:"modified"` // whether files differ from the commit; null: not known
	Source   string `json:"source"`   // where to get it: a URL, or "module " and the path of a Go module

	Time string `json:"-"` // of the commit; "": not known
}

// Of returns what the linker and Go have noted in a program.
func Of(build *debug.BuildInfo) Info {
	i := Info{Version: version, Source: source}
	path := Module
	if build != nil {
		v, p := noted(build)
		i.Version, path = cmp.Or(i.Version, v), p
	}
	i.Source = cmp.Or(i.Source, "module "+path)
	if commit != "" {
		hash, modified := strings.CutSuffix(commit, "-dirty")
		i.Commit, i.Modified = hash, &modified
		return i
	}
	if build == nil || !ours(build.Main.Path) {
		return i
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.time":
			i.Time = s.Value
		case "vcs.modified":
			modified := s.Value == "true"
			i.Modified = &modified
		}
	}
	return i
}

// ours reports whether a module is in kpsim's repository.
func ours(path string) bool { return path == Module || path == Module+"/campaign" }

// noted returns the version of kpsim's module in a program, "" if Go has noted none, and
// the path by which it was got.
func noted(build *debug.BuildInfo) (version, path string) {
	m := &build.Main
	for _, d := range build.Deps {
		if d.Path == Module {
			m = d
		}
	}
	if m.Path != Module {
		return "", Module
	}
	path = Module
	if m.Replace != nil {
		m = m.Replace
		if m.Version != "" && m.Version != "(devel)" { // else it is a folder
			path = m.Path
		}
	}
	if m.Version == "(devel)" {
		return "", path
	}
	return m.Version, path
}

// This is the Info of the running program.
var This = sync.OnceValue(func() Info {
	build, _ := debug.ReadBuildInfo()
	i := Of(build)
	if i.Commit == "" {
		i.Commit = ofClone()
	}
	return i
})

// derived are versions that Go makes of a commit: they say nothing more.
var derived = lazyregexp.New(`\d{14}-[0-9a-f]{12}(\+dirty)?$`)

// String is the Info in a line:
//
//	1.2.3 (commit 7c025e38b535), from https://example.org/kpsim
func (i Info) String() string {
	v := i.Version
	if v == "" || derived().MatchString(v) && i.Commit != "" || v == "v0.0.0" {
		v = "unreleased"
	}
	return v + " (commit " + i.commit() + "), from " + i.Source
}

// commit is the commit in words.
func (i Info) commit() string {
	switch {
	case i.Commit == "":
		return "not known"
	case i.Modified == nil:
		return i.Commit + ", perhaps modified"
	case *i.Modified:
		return i.Commit + ", modified"
	}
	return i.Commit
}
