package plan

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/ui/cli"
)

func load(t testing.TB, src string) (*Campaign, error) {
	file := filepath.Join(t.TempDir(), "c.star")
	require.NoError(t, os.WriteFile(file, []byte(src), 0o600))
	c := &Campaign{Name: "campaign", ID: "campaign-1"}
	err := Load(cli.New(io.Discard, io.Discard), c, file)
	if err != nil {
		require.NotContains(t, err.Error(), "\n")
		require.Contains(t, err.Error(), "c.star")
	}
	return c, err
}

// Lists multiply, in the order of the file; each search writes its traces to a folder of its own.
func TestLoad(t *testing.T) {
	c, err := load(t, `
campaign(name = "mine", priority = 7)
for s in ["safe-none", "torn-jump"]:
    explore(scenarios = [s], strategies = ["pct", "random"], seeds = [1, 2, 3], runs = 500)
fuzz(programs = 10, seeds = [5], islands = 2, size = 4, arch = "riscv64")
verify(scenarios = ["torn-jump"], deviations = 1)
`)
	require.NoError(t, err)
	require.Equal(t, "mine", c.Name)
	require.Equal(t, 7, c.Priority)
	require.Len(t, c.Searches, 2*2*3+2)
	titles, folders := make(map[string]bool), make(map[string]bool)
	for _, s := range c.Searches {
		titles[strings.Join(s.Words(), " ")] = true
		folders[s.Flags.Traces] = true
	}
	require.Len(t, titles, len(c.Searches))
	require.Len(t, folders, len(c.Searches))
	require.True(t, titles["kpsim explore torn-jump --runs 500 --strategy random --seed 3"], titles)
	require.True(t, titles["kpsim-campaign fuzz --seed 5 --each 3 --islands 2 --size 4 --programs 10 "+
		"--arch riscv64"], titles)
	require.True(t, titles["kpsim verify torn-jump --deviations 1"], titles)

	data, err := c.Marshal()
	require.NoError(t, err)
	d, err := Read(data)
	require.NoError(t, err)
	again, err := d.Marshal()
	require.NoError(t, err)
	require.Equal(t, string(data), string(again))
}

func TestLoadWrong(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`campaign(name = "x")`, "asks for nothing"},
		{`explore(scenario = ["safe-none"])`, `explore has no scenario; did you mean "scenarios"?`},
		{`explore(scenarios = "safe-none")`, "scenarios: give a list"},
		{`explore(scenarios = [3])`, "scenarios: give texts"},
		{`explore(scenarios = ["safe-none"], runs = -1)`, "runs: give a number from 0"},
		{`explore(scenarios = ["safe-none"], runs = 1 << 70)`, "runs: give a number from 0"},
		{`explore(scenarios = ["safe-nun"])`, "safe-nun"},
		{`explore(scenarios = ["safe-none"], strategies = ["luck"])`, "luck"},
		{`explore(scenarios = ["safe-none"], kernels = ["none"])`, "none: no such file"},
		{`explore(scenarios = ["safe-none"], seeds = range(20000))`, "more than 10000"},
		{`explore(scenarios = ["safe-none"], seeds = range(200), strategies = ["pct"] * 200)`, "multiply to 40000"},
		{`explore("safe-none")`, "name each argument"},
		{`fuzz(seeds = [1])`, "say how long"},
		{`fuzz(programs = 1, arch = "vax")`, "vax"},
		{`verify()`, "name what to verify"},
		{"def f():\n    f()\nf()", "f"},
		{"[i for i in range(1 << 40)]", "too many steps"},
		{"explore(", "got end of file"},
		{`load("x.star", "y")`, "a campaign is one file"},
	} {
		_, err := load(t, "campaign(name = \"c\")\n"+c.src+"\n")
		require.ErrorContains(t, err, c.want, c.src)
	}
}

// The file of a scenario isn't one of a campaign.
func TestIsFile(t *testing.T) {
	dir := t.TempDir()
	for name, src := range map[string]string{"a.star": "campaign(name = \"a\")", "b.star": "scenario(\"campaign(\")"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(src), 0o600))
	}
	_, ok := IsFile([]string{filepath.Join(dir, "a.star")})
	require.True(t, ok)
	for _, args := range [][]string{{filepath.Join(dir, "b.star")}, {"safe-none"}, {filepath.Join(dir, "none.star")},
		nil} {
		_, ok = IsFile(args)
		require.False(t, ok, args)
	}
}

// Whatever a stranger sends is an error, and no panic.
func FuzzRead(f *testing.F) {
	c, err := load(f, "campaign(name = \"c\")\nexplore(scenarios = [\"torn-jump\"], runs = 100)\nfuzz(programs = "+
		"3)\nverify(scenarios = [\"torn-jump\"])\n")
	require.NoError(f, err)
	data, err := c.Marshal()
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"searches":[null]}`))
	f.Add([]byte(`{"searches":[{"flags":{},"scenarios":[{}],"points":[1],"canary":[""],"bundle":[1]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Read(b)
		if err != nil {
			return
		}
		for i, s := range c.Searches {
			s.Needs()
			s.Words()
			for j := range s.Scenarios {
				n := s.Units(j)
				require.Positive(t, n)
				u := s.Unit("c-1", i, j, Runs, n-1)
				require.Equal(t, s.Shards(j), u.To)
			}
		}
	})
}
