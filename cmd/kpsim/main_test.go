package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"kpsim/internal/ui/cli"
	"kpsim/sim"
)

// TestMain makes this very test kpsim if it is called so. What kpsim does from outside is
// tested in scripttest and docstest.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kpsim": main})
}

// thisProgram is the path of kpsim: of this very test, which is that if it is called so.
func thisProgram(t *testing.T) string {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kpsim := filepath.Join(t.TempDir(), "kpsim")
	if err := os.Symlink(exe, kpsim); err != nil {
		t.Fatal(err)
	}
	return kpsim
}

// panicking is a command with a fault of the simulator in it.
type panicking struct{ v any }

func (c panicking) Run(p *cli.Program) (int, error) {
	p.Doing = "scenario torn-jump, strategy portfolio, seed 7"
	panic(c.v)
}

// A bug is printed with all that is needed to report it, and is exit status 3.
func TestBug(t *testing.T) {
	for _, v := range []any{&sim.BugError{Message: "cpu 1: frame stack empty", Stack: []byte("panicking.Run\n")},
		"index out of range"} {
		var out, errs bytes.Buffer
		if status := do(cli.New(&out, &errs), panicking{v}); status != cli.Bug {
			t.Errorf("status %d", status)
		}
		for _, want := range []string{"bug of the simulator", "panicking.Run",
			"scenario torn-jump, strategy portfolio, seed 7", "Please open an issue"} {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("no %q in\n%s", want, &errs)
			}
		}
		if out.Len() > 0 {
			t.Errorf("printed %s", &out)
		}
	}
}
