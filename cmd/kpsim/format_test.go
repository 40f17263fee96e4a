package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/joshdk/go-junit"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/verdict"
)

// withoutCases are the commands that exit with 1 and have no --format, with the reason.
var withoutCases = map[string]string{
	"shell":   "a person types, and sees what breaks",
	"explain": "it shows a trace; replay judges it",
	"view":    "it shows a trace; replay judges it",
	"export":  "it writes a trace in another form; replay judges it",
	"shrink":  "it writes a trace; replay judges it",
	"fmt":     "it judges how a file is written, not what runs show",
	"bisect":  "it names a patch; review judges it",
	"watch":   "a person edits; review judges the edit",
}

// A command whose exit status is a verdict has --format, and no other has.
func TestVerdictsHaveFormats(t *testing.T) {
	met := 0
	everyCommand(func(words []string, n *kong.Node) {
		if !n.Leaf() {
			return
		}
		name := strings.Join(words, " ")
		_, statuses, _ := strings.Cut(n.Detail, "Exit status: ")
		judges := strings.Contains(statuses, ", 1 ") || strings.Contains(statuses, "; 1 ") || name == "merge"
		_, has := n.Target.Addr().Interface().(cli.Judge)
		why, excused := withoutCases[name]
		switch {
		case judges && has == excused:
			t.Errorf("%s: --format: %v, excused: %v (%s)", name, has, excused, why)
		case !judges && has:
			t.Errorf("%s has --format, and its help knows no exit status 1", name)
		case has:
			met++
		}
	})
	if met < 13 {
		t.Errorf("%d commands have --format", met)
	}
}

// racing is a scenario whose race is found, and which expects none.
const (
	racing = `scenario("race")
machine(cpus = 2, preempt = "none", quiesce = "none", patch = "breakpoint")
v = text("v", "55 48 89 e5 53 5b 5d c3")
k = kprobe("k", at = v)
task("prober", ops = [register(k), wait_optimized()])
task("caller", cpu = 1, ops = [call(v), call(v), schedule()], repeat = 2)
timer(cpu = 1)
never()
`
	litmusTest = "X86_64 SB\n\"\"\n{}\nP0 | P1 ;\nmovl $1,(x) | movl $1,(y) ;\nmovl (y),%eax | movl (x),%eax ;\n" +
		"exists (0:rax=0 /\\ 1:rax=0)\n"
)

// judged are command lines of each verb that judges, in a folder with race.star, the trace of its race, two shares of
// a search, and litmus tests. status is theirs.
var judged = []struct {
	line   string
	status int
	kernel bool // VMLINUZ is a kernel of 6.1
}{
	{"explore safe-none second-instruction --runs 300", 0, false},
	{"explore race.star --runs 300", 1, false},
	{"explore race.star --runs 300 --ignore T2", 0, false},
	{"explore second-instruction --runs 300 --kernel VMLINUZ", 0, true},
	{"merge 1.json 2.json", 1, false},
	{"verify safe-none --deviations 1", 0, false},
	{"verify race.star --deviations 2", 1, false},
	{"verify safe-none --deviations 2 --runs 3", 1, false},
	{"fuzz --programs 20", 0, false},
	{"fuzz --programs 40 --mutant no-sync-disarm", 0, false},
	{"fuzz --programs 3 --reach 100", 1, false},
	{"small jump --calls 2", 0, false},
	{"small jump --calls 3 --mutant jump-hidden", 1, false},
	{"small jprobe --edition 2.6 --beside 1 --mutant no-restore", 1, false},
	{"compare second-instruction safe-none --runs 50 --kernel VMLINUZ", 0, true},
	{"compare full-rcu --runs 30 --kernel VMLINUZ --mutant skip-call:kprobe_optimizer:synchronize_rcu_tasks:1", 1,
		true},
	{"review --before-program PROGRAM --program PROGRAM --runs 20 safe-none", 0, false},
	{"matrix raw/naive --drawn 400 --deviations 1", 0, false},
	{"run safe-none", 0, false},
	{"run second-instruction --seed 14", 1, false},
	{"replay race.kps", 0, false},
	{"replay other.kps", 1, false},
	{"rerecord race.kps", 0, false},
	{"rerecord other.kps race.kps", 1, false},
	{"litmus sb.litmus", 0, false},
	{"litmus never.litmus sb.litmus", 1, false},
	{"litmus sb.litmus none.litmus", 2, false},
	{"mutants if-leak --seeds 2 --blind", 0, false},
	{"mutants no-quiesce --seeds 1 --most 1 --blind", 1, false},
	{"explore --runs 10 nothing-like-it", 2, false},
	{"explore --runs 10 race.star --traces file/x", 2, false},
}

// Every verb that judges has cases, its exit status is the same with --format as without, and is 1 where a case has
// failed, 2 where one is an error. Standard output has the format and nothing else.
func TestFormats(t *testing.T) {
	program := thisProgram(t)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"race.star": racing, "file": "", "sb.litmus": litmusTest,
		"never.litmus": strings.Replace(litmusTest, `""`, `"Result: Never"`, 1), "none.litmus": "nothing"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	runs := func(line string) (int, string, string) { // in a process of its own: kernels take memory
		var out, errs bytes.Buffer
		cmd := exec.Command(program, strings.Fields(line)...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), out.String(), errs.String()
	}
	for _, line := range []string{"explore race.star --runs 300 --traces . --json",
		"explore race.star --runs 300 --shard 1/2 --out 1.json",
		"explore race.star --runs 300 --shard 2/2 --out 2.json"} {
		runs(line)
	}
	trace, err := os.ReadFile("race.kps")
	require.NoError(t, err)
	other := bytes.Replace(trace, []byte("place: v+"), []byte("place: v+0x"), 1)
	require.NotEqual(t, trace, other)
	require.NoError(t, os.WriteFile("other.kps", other, 0o600))

	verbs := make(map[string]bool)
	for _, c := range judged {
		t.Run(strings.ReplaceAll(c.line, "/", "_"), func(t *testing.T) {
			line := strings.ReplaceAll(c.line, "PROGRAM", program)
			verb, _, _ := strings.Cut(line, " ")
			if c.kernel {
				line = strings.ReplaceAll(line, "VMLINUZ", kerneltest.Path(t, "6.1"))
			}
			plain, formats := c.status, []string{"junit"}
			if thorough.Set() { // else the row says it, and only explore has all formats
				status, _, said := runs(line)
				require.Equal(t, plain, status, said)
			}
			if !verbs[verb] && (thorough.Set() || verb == "explore") { // of a verb's further lines, one format
				formats = verdict.Names()
			}
			verbs[verb] = true
			for _, format := range formats {
				status, out, errs := runs(line + " --format " + format)
				require.Equal(t, plain, status, errs)
				require.NotEmpty(t, out)
				if format != "junit" {
					continue
				}
				suites, err := junit.Ingest([]byte(out))
				require.NoError(t, err, out)
				n := junit.Totals{}
				for _, s := range suites {
					n.Tests, n.Failed = n.Tests+s.Totals.Tests, n.Failed+s.Totals.Failed
					n.Error += s.Totals.Error
				}
				require.NotZero(t, n.Tests)
				require.Equal(t, status == cli.Against, n.Failed > 0, out)
				require.Equal(t, status == cli.BadInput, n.Error > 0, out)
			}
		})
	}
	everyCommand(func(words []string, n *kong.Node) {
		if _, has := n.Target.Addr().Interface().(cli.Judge); has && !verbs[strings.Join(words, " ")] {
			t.Errorf("no line of %s is tested", strings.Join(words, " "))
		}
	})
}

// Two forms at once are refused in a line, and so is a form that there isn't.
func TestFormatsAlone(t *testing.T) {
	for line, says := range map[string]string{
		"run safe-none --json --format ktap": "kpsim: --json and --format can't be used together",
		"run safe-none --format tap":         `kpsim: --format: no format is called "tap"; did you mean "ktap"?`,
		"mutants --drawn 1 --format ktap":    "kpsim: --format: --barriers and --drawn measure and judge nothing",
	} {
		var errs bytes.Buffer
		require.Equal(t, cli.BadInput, run(strings.Fields(line), io.Discard, &errs))
		require.True(t, strings.HasPrefix(errs.String(), says), errs.String())
		require.Equal(t, 1, strings.Count(errs.String(), "\n"))
	}
}

// A panic leaves the cases that were judged before, and an error.
func TestFormatOfABug(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, cli.Bug, do(cli.New(&out, &errs), judging{}))
	require.Contains(t, out.String(), "not ok 2 kpsim")
	require.Contains(t, out.String(), "ok 1 before")
	require.Contains(t, filepath.ToSlash(errs.String()), "bug of the simulator")
}

// judging is a command that judges something, and has a fault.
type judging struct{}

func (judging) Formats() string { return "ktap" }

func (judging) Run(p *cli.Program) (int, error) {
	p.Judged.Add(verdict.Case{Group: "before", Name: "before"})
	panic("index out of range")
}
