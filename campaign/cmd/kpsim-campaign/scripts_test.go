package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/proctest"
)

// programs compiles kpsim-campaign, and kpsim beside which its reports are held.
func programs(t *testing.T) (dir string) {
	dir = t.TempDir()
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	if proctest.Race {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "kpsim/cmd/kpsim", "kpsim/campaign/cmd/kpsim-campaign")...).
		CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// TestScripts runs both programs as a user does. Each script has a folder of its own for servers,
// $DIR, which is the default one.
func TestScripts(t *testing.T) {
	dir := programs(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", dir+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			e.Setenv("DIR", filepath.Join(e.WorkDir, "cache", "kpsim", "campaign"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": cmdStatus, "line": cmdLine,
			"await": cmdAwait,
			"until": cmdUntil, "key": cmdKey},
	})
}

// status N COMMAND: runs it, and wants this exit status.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command args...")
	}
	if got := proctest.ExitStatus(ts, ts.Exec(args[1], args[2:]...)); args[0] != strconv.Itoa(got) {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// line PATTERN: standard error is that line and no other, standard output is empty.
func cmdLine(ts *testscript.TestScript, neg bool, args []string) {
	if got := ts.ReadFile("stderr"); !regexp.MustCompile(`^kpsim-campaign: ` + args[0] + `.*\n$`).MatchString(got) {
		ts.Fatalf("stderr isn't the line %s", args[0])
	}
	if ts.ReadFile("stdout") != "" {
		ts.Fatalf("there is something on stdout")
	}
}

// patience is how long a script waits for something that must happen.
const patience = 2 * time.Minute

// await FILE: waits until it is there.
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if data, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && len(data) > 0 {
			return
		}
	}
	ts.Fatalf("%s doesn't come", args[0])
}

// until PATTERN COMMAND: runs it again and again, until it succeeds and prints that.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	pattern := regexp.MustCompile(args[0])
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ts.Exec(args[1], args[2:]...) == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s doesn't print %s; at last\n%s", strings.Join(args[1:], " "), args[0], ts.ReadFile("stdout"))
}

// key FILE: writes a key there that no server knows.
func cmdKey(ts *testscript.TestScript, neg bool, args []string) {
	pair, err := nkeys.CreateUser()
	ts.Check(err)
	seed, err := pair.Seed()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), seed, 0o600))
}
