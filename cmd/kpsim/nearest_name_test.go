package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"kpsim/internal/ui/cli"
)

// A misspelt name is answered with names that are near, or where to look, in a
// line that isn't much longer than a terminal is wide.
func TestMisspelt(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"expolre", `unexpected argument expolre; did you mean "explore", "export"?`},
		{"overhead fitt", `unexpected argument fitt; did you mean "fit"?`},
		{"bench serch", `unexpected argument serch; did you mean "search"?`},
		{"trace", `unexpected argument trace; did you mean "replay", "explain", "view"?`},
		{"prove", `unexpected argument prove; did you mean "verify"?`},
		{"probes", `unexpected argument probes; did you mean "overhead probes"?`},
		{"fitt", `unexpected argument fitt; did you mean "overhead fit"?`},
		{"step", `unexpected argument step; did you mean "shell", "view", "mutants"?`},
		{"Explore", `unexpected argument Explore; did you mean "explore"?`},
		{"quux", `unexpected argument quux; see `},
		{"bench", "name a command, such as bench search; see "},
		{"explore --sed 3", `unknown flag --sed; did you mean "--seed"?`},
		{"overhead --mashine x", `unknown flag --mashine; did you mean "--machine"?`},
		{"explore --runs 1e5", `--runs: "1e5" is no whole number from 1 to 1000000000000; see `},
		{"explore --runs -5", `--runs: "-5" is no whole number from 1 to 1000000000000; see `},
		{"explore --runs= x", `--runs: "" is no whole number from 1 to 1000000000000; see `},
		{"explore --workers many", `--workers: "many" is no whole number from 0 to 64; see `},
		{"view --port 65536 x.kps", `--port: "65536" is no whole number from 0 to 65535; see `},
		{"explore --runs", "--runs: its value is missing: write --runs=N; see "},
		{"explore --runs --json", "--runs: its value is missing: write --runs=N; see "},
		{"explore --out", "--out: its value is missing: write --out=FILE; see "},
		{"overhead --machine", "--machine: its value is missing: write --machine=ID,...; see "},
		{"explore --traces -x", `--traces: "-x" looks like a flag; if it is the value: --traces=-x; see `},
		{"explore --json=maybe",
			`--json: it takes no value, and was given "maybe"; write --json, or leave it out; see `},
		{"fuzz --for 5", `--for: "5" is no time; give it a unit, as 90s, 10m or 1h30m; see `},
		{"export x.kps", "--to=FORMAT is missing: ftrace, trace.dat, chrome (or perfetto), json, litmus or columns; see "},
		{"disasm", "<object> is missing: an object file: NAME.o of gcc -c, or NAME.ko of a kernel; see "},
		{"disasm mine.o", "<func> is missing: the function; see "},
		{"verify", "<file|name> is missing: scenario files (NAME.star), or names of built-in scenarios, such as safe-none; see "},
		{"completion", "<shell> is missing: bash, zsh or fish; see "},
		{"list scenario", `no list, and nothing in one, is called "scenario"; did you mean "scenarios"?`},
		{"list gremlin", `no list, and nothing in one, is called "gremlin"; `},
		{"list --kind label", `--kind: no kind of patch is called "label"; did you mean "jump-label"?`},
		{"list --kind x", `--kind: no kind of patch is called "x"; there are "kprobe", "kretprobe", `},
		{"list --engine lin", `--engine: no engine is called "lin"; did you mean "linux"?`},
		{"list --property T99", `--property: no property is called "T99"; `},
		{"list --property start-inside", `--property: no property is called "start-inside"; did you mean "no-start-inside"`},
		{"new x --for functoin", `--for: no purpose is called "functoin"; did you mean "function"?`},
		{"new x.litmus", `x.litmus: a scenario for "function" is a file NAME.star; write x.star, or another --for`},
		{"new x.star --for litmus", `x.star: a scenario for "litmus" is a file NAME.litmus; write x.litmus, or another`},
		{"new no-folder/x", "no-folder/x.star: no such file or directory; name a file in a folder that can be written"},
		{"new", "<new-file> is missing: the file to write: NAME, or NAME.star; of a litmus test NAME.litmus; see "},
		{"explore --noise", "unknown flag --noise; it is a flag of overhead table\n"},
		{"run --deviations 2", "unknown flag --deviations; it is a flag of verify, matrix\n"},
		{"list --edition 2.6", "unknown flag --edition; it is a flag of explore, fuzz, verify, others\n"},
		{"explore jump-torn", `no built-in scenario "jump-torn"; did you mean "torn-jump"`},
		{"mutants quiesce_no", `no mutant is called "quiesce_no"; did you mean "no-quiesce"?`},
		{"explore --ignore instruction-whole",
			`--ignore: no property is called "instruction-whole"; did you mean "whole-instructions"?`},
		{"kernel closure --with 6.12.117 x",
			`--with: no known kernel is called "6.12.117"; did you mean "6.12.117+deb12-amd64"`},
		{"explore --verbose", "unknown flag --verbose; see "},
		{"explore torn-jmp", `no built-in scenario "torn-jmp"; did you mean "torn-jump"? (one of your own is a file NAME.star)`},
		{"verify nosuch", `no built-in scenario "nosuch"; `},
		{"run nosuch", `no built-in scenario "nosuch"; `},
		{"explore --mutant no-quiese", `--mutant: no mutant is called "no-quiese"; did you mean "no-quiesce"?`},
		{"explore --mutant gremlin", `--mutant: no mutant is called "gremlin"; `},
		{"fuzz --mutant gremlin", `--mutant: no mutant is called "gremlin"; `},
		{"run --mutant no-quiese torn-jump", `--mutant: no mutant is called "no-quiese"; did you mean "no-quiesce"?`},
		{"mutants no-quiese", `no mutant is called "no-quiese"; did you mean "no-quiesce"?`},
		{"bench search --mutants no-quiese", `--mutants: no mutant is called "no-quiese"; did you mean "no-quiesce"?`},
		{"explore --strategy pctt", `--strategy: no strategy is called "pctt"; did you mean "pct"?`},
		{"fuzz --strategy pctt", `--strategy: no strategy is called "pctt"; did you mean "pct"?`},
		{"fuzz --strategy dfs", `--strategy: no strategy is called "dfs"; there are portfolio, sticky, `},
		{"run --seed 1 --strategy pctt torn-jump", `--strategy: no strategy is called "pctt"; did you mean "pct"?`},
		{"explore --edition 4.16",
			`--edition: no edition is called "4.16"; those about that kernel are 4.15 and 5.14; kpsim editions prints `},
		{"verify --edition 4.16 torn-jump",
			`--edition: no edition is called "4.16"; those about that kernel are 4.15 and 5.14; kpsim editions prints `},
		{"run --edition 4.16 torn-jump",
			`--edition: no edition is called "4.16"; those about that kernel are 4.15 and 5.14; kpsim editions prints `},
		{"fuzz --edition 3", `--edition: no edition is called "3"; those about that kernel are 2.6 and 4.15; `},
		{"fuzz --edition new",
			`--edition: no edition is called "new"; there are 2.6, 4.15, 5.14, 6.5, 6.9, documented`},
		{"fuzz --edition 6.12.113",
			`--edition: no edition is called "6.12.113"; the newest is 6.9; kpsim editions prints `},
		{"fuzz --edition v6.6", `--edition: no edition is called "v6.6"; those about that kernel are 6.5 and 6.9; `},
		{"overhead maxactive --edition 2.4", `--edition: no edition is called "2.4"; the oldest is 2.6; `},
		{"overhead --edition 4.16",
			`--edition: no edition is called "4.16"; those about that kernel are 4.15 and 5.14; kpsim editions prints `},
		{"fuzz --preempt ful", `--preempt: no model of preemption is called "ful"; did you mean "full"?`},
		{"fuzz --edition 2.6 --preempt lazy",
			`--edition "2.6" --preempt "lazy": no kernel of that edition had that on x86-64; leave one of them out`},
		{"explore --fetch mixin", `--fetch: no fetch model is called "mixin"; did you mean "mixing"?`},
		{"matrix jump/shed", `no row is called "jump/shed"; did you mean "jump/sched"?`},
		{"matrix nothing", `no row is called "nothing"; blocks are jump, `},
		{"overhead --machine xeon-e5410/x86",
			`--machine: no machine is called "xeon-e5410/x86"; did you mean "xeon-e5410/i386", "xeon-e5410/x86_64"?`},
		{"overhead --machine vax", `--machine: no machine is called "vax"; there are pentium-m/i386, `},
		{"overhead --probe kk", `--probe: no probe is called "kk"; there are k, j, r, `},
		{"overhead --tier mechanisitc", `--tier: no tier is called "mechanisitc"; did you mean "mechanistic"?`},
		{"overhead pauses --schedule tmed",
			`--schedule: no way to draw schedules is called "tmed"; did you mean "timed"?`},
		{"export --to ftrac x.kps", `--to: no format is called "ftrac"; did you mean "ftrace"?`},
		{"completion bsh", `no shell is called "bsh"; did you mean "bash", `},
	} {
		var out, errs bytes.Buffer
		if status := run(strings.Fields(c.line), &out, &errs); status != cli.BadInput || out.Len() > 0 {
			t.Errorf("%s: status %d, printed %q", c.line, status, &out)
		}
		got := strings.ReplaceAll(errs.String(), cli.Typed(), "kpsim") // a test's own is long
		if !strings.HasPrefix(got, "kpsim: "+c.want) || strings.Count(got, "\n") != 1 || len(got) > 200 {
			t.Errorf("%s: %d bytes, want %s:\n%s", c.line, len(got), c.want, got)
		}
		if strings.HasSuffix(c.want, "see ") && !strings.HasSuffix(got, " --help\n") {
			t.Errorf("%s: no help is named: %s", c.line, got)
		}
	}
}

// Without a command kpsim says what one may want, in a few lines, each line to type one that it takes.
func TestOffer(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run(nil, &out, &errs); status != cli.BadInput || out.Len() > 0 {
		t.Errorf("status %d, printed %q", status, &out)
	}
	if n := strings.Count(errs.String(), "\n"); n >= 15 || n < 5 {
		t.Errorf("%d lines", n)
	}
	typed := 0
	for line := range strings.Lines(errs.String()) {
		words, ok := strings.CutPrefix(line, "    "+cli.Typed()+" ")
		if !ok {
			continue
		}
		typed++
		if _, err := newParser(verbs, io.Discard, io.Discard).Parse(strings.Fields(words)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if typed != 3 {
		t.Errorf("%d lines to type:\n%s", typed, &errs)
	}
}
