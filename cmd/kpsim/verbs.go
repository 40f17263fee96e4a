package main

import (
	"github.com/alecthomas/kong"

	"kpsim/internal/eval/bench"
	matrix "kpsim/internal/eval/matrix/pages"
	"kpsim/internal/eval/mutants"
	overhead "kpsim/internal/eval/overhead/pages"
	"kpsim/internal/eval/review"
	"kpsim/internal/litmus"
	"kpsim/internal/verbs/catalogue"
	"kpsim/internal/verbs/check"
	"kpsim/internal/verbs/findings"
	"kpsim/internal/verbs/kernelinfo"
	"kpsim/internal/verbs/report"
	"kpsim/internal/verbs/shell"
	"kpsim/internal/verbs/small"
)

// A verb is a command of the first level. It may have commands below it.
type verb struct {
	name string
	new  func() kong.HelpProvider
	tags []string
}

// verbs are the command line, in the order of --help.
var verbs = []verb{
	named[findings.Explore]("explore"),
	named[findings.Fuzz]("fuzz"),
	named[findings.Verify]("verify"),
	named[small.Small]("small"),
	named[findings.Compare]("compare"),
	named[review.Review]("review"),
	named[matrix.Matrix]("matrix"),
	named[findings.Merge]("merge"),
	named[report.OneRun]("run"),
	named[shell.Shell]("shell"),
	named[report.Replay]("replay"),
	named[report.Explain]("explain"),
	named[report.View]("view"),
	named[report.Export]("export"),
	named[report.Shrink]("shrink"),
	named[report.Rerecord]("rerecord"),
	named[litmus.Litmus]("litmus"),
	named[check.Check]("check"),
	named[check.Disasm]("disasm"),
	named[kernelinfo.Kernel]("kernel"),
	named[bench.Bench]("bench"),
	named[mutants.Mutants]("mutants"),
	named[overhead.Overhead]("overhead"),
	named[catalogue.Editions]("editions"),
	named[catalogue.List]("list"),
	named[catalogue.Version]("version"),
	named[completionCmd]("completion"),
	named[manCmd]("man"),
	named[completeCmd]("complete", `hidden:""`),
}

func named[C any, P interface {
	*C
	kong.HelpProvider
}](name string, tags ...string) verb {
	return verb{name, func() kong.HelpProvider { return P(new(C)) }, tags}
}
