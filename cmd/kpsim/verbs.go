package main

import (
	"github.com/alecthomas/kong"

	"kpsim/internal/eval/bench"
	"kpsim/internal/eval/bisect"
	matrix "kpsim/internal/eval/matrix/pages"
	"kpsim/internal/eval/mutants"
	overhead "kpsim/internal/eval/overhead/pages"
	"kpsim/internal/eval/review"
	"kpsim/internal/eval/watch"
	"kpsim/internal/litmus"
	"kpsim/internal/verbs/catalogue"
	"kpsim/internal/verbs/check"
	"kpsim/internal/verbs/findings"
	"kpsim/internal/verbs/format"
	"kpsim/internal/verbs/kernelinfo"
	"kpsim/internal/verbs/report"
	"kpsim/internal/verbs/shell"
	"kpsim/internal/verbs/small"
	"kpsim/internal/verbs/start"
)

// A verb is a command of the first level. It may have commands below it.
type verb struct {
	name string
	new  func() kong.HelpProvider
	tags []string
}

// verbs are the command line, in the order of --help.
var verbs = []verb{
	verbNamed[start.New]("new"),
	verbNamed[findings.Explore]("explore"),
	verbNamed[findings.Fuzz]("fuzz"),
	verbNamed[findings.Verify]("verify"),
	verbNamed[small.Small]("small"),
	verbNamed[findings.Compare]("compare"),
	verbNamed[review.Review]("review"),
	verbNamed[bisect.Bisect]("bisect"),
	verbNamed[watch.Watch]("watch"),
	verbNamed[matrix.Matrix]("matrix"),
	verbNamed[findings.Merge]("merge"),
	verbNamed[report.OneRun]("run"),
	verbNamed[shell.Shell]("shell"),
	verbNamed[report.Replay]("replay"),
	verbNamed[report.Explain]("explain"),
	verbNamed[report.View]("view"),
	verbNamed[report.Export]("export"),
	verbNamed[report.Shrink]("shrink"),
	verbNamed[report.Rerecord]("rerecord"),
	verbNamed[format.Fmt]("fmt"),
	verbNamed[litmus.Litmus]("litmus"),
	verbNamed[check.Check]("check"),
	verbNamed[check.Disasm]("disasm"),
	verbNamed[kernelinfo.Kernel]("kernel"),
	verbNamed[bench.Bench]("bench"),
	verbNamed[mutants.Mutants]("mutants"),
	verbNamed[overhead.Overhead]("overhead"),
	verbNamed[catalogue.Editions]("editions"),
	verbNamed[catalogue.List]("list"),
	verbNamed[catalogue.Version]("version"),
	verbNamed[completionCmd]("completion"),
	verbNamed[manCmd]("man"),
	verbNamed[completeCmd]("complete", `hidden:""`),
}

func verbNamed[C any, P interface {
	*C
	kong.HelpProvider
}](name string, tags ...string) verb {
	return verb{name, func() kong.HelpProvider { return P(new(C)) }, tags}
}
