// Package deploy has no code: its tests hold the files here, and docs/campaigns.md, against the
// program.
package deploy

import (
	"debug/elf"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is kpsim-campaign, as the Containerfile builds it but for -trimpath.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(compiled(m))
}

func compiled(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kpsim")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "kpsim-campaign")
	cmd := exec.Command("go", "build", "-o", program, "kpsim/campaign/cmd/kpsim-campaign")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(string(out))
	}
	return m.Run()
}

// sources are the files that have command lines.
var sources = []string{"Containerfile", "kubernetes.yaml", "slurm.sh", "kpsim-campaign.service",
	"kpsim-worker@.service", "README.md", "../../docs/campaigns.md", "../../README.md"}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

var (
	inCode    = regexp.MustCompile("`[^`\n]+`")
	called    = regexp.MustCompile(`(?:^|[\s/` + "`" + `])kpsim-campaign ([a-z]+(?:\s.*)?)$`)
	continued = regexp.MustCompile(`\\\n[#\s]*`)
	ends      = regexp.MustCompile(`\s*(?:[|;&>]|\s#\s).*$`)
	variables = regexp.MustCompile(`\$\{[A-Za-z_]+:-([^}]*)\}|\$\{[A-Za-z_]+\}|\$[A-Za-z_]+`)
	specifier = regexp.MustCompile(`%[a-zA-Z]`)
	wordlists = regexp.MustCompile(`"\$\{options\[@\]\}"|\$KPSIM_OPTIONS`)
)

// commandLines returns the arguments of each kpsim-campaign that a text calls. Of a page that is
// what stands in blocks and between back quotes.
func commandLines(path, text string) (list [][]string) {
	text = continued.ReplaceAllString(text, " ")
	for _, line := range strings.Split(text, "\n") {
		parts := []string{line}
		if strings.HasSuffix(path, ".md") && !strings.HasPrefix(line, "    ") {
			parts = nil
			for _, code := range inCode.FindAllString(line, -1) {
				parts = append(parts, strings.Trim(code, "`"))
			}
		}
		for _, p := range parts {
			if m := called.FindStringSubmatch(p); m != nil {
				list = append(list, words(m[1]))
			}
		}
	}
	return list
}

// words splits a line as a shell does. A variable is its default, or 1.
func words(line string) (list []string) {
	line = wordlists.ReplaceAllString(line, "")
	line = variables.ReplaceAllStringFunc(line, func(v string) string {
		if m := variables.FindStringSubmatch(v); m[1] != "" {
			return m[1]
		}
		return "1"
	})
	line = ends.ReplaceAllString(specifier.ReplaceAllString(line, "1"), "")
	for _, w := range strings.Fields(line) {
		list = append(list, strings.Trim(w, `"'`))
	}
	return list
}

// files are the values of flags that must be there.
var files = regexp.MustCompile(`(--tls-(?:cert|key)[ =])\S+`)

// check says whether the program takes arguments. It reads all of them before it prints the help.
func check(args []string) (said string, ok bool) {
	args = strings.Split(files.ReplaceAllString(strings.Join(args, " "), "${1}"+program), " ")
	out, err := exec.Command(program, append(args, "--help")...).CombinedOutput()
	return string(out), err == nil
}

// TestCommandLines: the program takes each command line of these files. A flag that is renamed
// fails here.
func TestCommandLines(t *testing.T) {
	n := 0
	for _, path := range sources {
		list := commandLines(path, read(t, path))
		if path == "kubernetes.yaml" {
			for _, c := range containers(t) {
				list = append(list, c.args)
			}
		}
		for _, args := range list {
			said, ok := check(args)
			require.True(t, ok, "%s: kpsim-campaign %s\n%s", path, strings.Join(args, " "), said)
			n++
		}
	}
	require.GreaterOrEqual(t, n, 15) // else they aren't found
}

// TestCommandLinesNotices: what is wrong in a command line is noticed, wherever it stands.
func TestCommandLinesNotices(t *testing.T) {
	for _, c := range []struct {
		path, text string
		found, ok  bool
	}{
		{"a.sh", "kpsim-campaign work --cores \"${N:-4}\" &", true, true},
		{"a.sh", "kpsim-campaign work --nats \"$N\" \\\n\t--cores 4 \"${options[@]}\" &", true, true},
		{"a.sh", "kpsim-campaign work --nats \"$N\" \\\n\t--kores 4", true, false},
		{"a.sh", "kpsim-campaign worc", true, false},
		{"a.service", "ExecStart=/usr/bin/kpsim-campaign serve --dir %S/x", true, true},
		{"a.service", "ExecStart=/usr/bin/kpsim-campaign serve --folder %S/x", true, false},
		{"a.service", "systemctl enable kpsim-campaign", false, false},
		{"a.md", "as kpsim-campaign is", false, false},
		{"a.md", "as `kpsim-campaign status --watch` does", true, true},
		{"a.md", "    kpsim-campaign results --watch", true, false},
	} {
		list := commandLines(c.path, c.text)
		require.Equal(t, c.found, len(list) == 1, c.text)
		if c.found {
			_, ok := check(list[0])
			require.Equal(t, c.ok, ok, c.text)
		}
	}
}

// TestStatic: the program needs no library, as the empty image requires.
func TestStatic(t *testing.T) {
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type)
	}
}

var (
	from      = regexp.MustCompile(`(?m)^FROM (\S+)`)
	argGo     = regexp.MustCompile(`(?m)^ARG GO=\S+/golang:(\d+\.\d+\.\d+)-\S+$`)
	toolchain = regexp.MustCompile(`(?m)^toolchain go(\S+)$`)
	user      = regexp.MustCompile(`(?m)^USER ([1-9]\d*):([1-9]\d*)$`)
	fixed     = regexp.MustCompile(`:(\d+\.\d+\.\d+\S*|COMMIT)$|@sha256:[0-9a-f]{64}$`)
)

// TestContainerfile: the compiler is the toolchain of go.mod, no image floats, and the program runs as
// no user that there is.
func TestContainerfile(t *testing.T) {
	text := read(t, "Containerfile")
	compiler := argGo.FindStringSubmatch(text)
	require.NotNil(t, compiler)
	require.Equal(t, toolchain.FindStringSubmatch(read(t, "../go.mod"))[1], compiler[1])
	for _, m := range from.FindAllStringSubmatch(text, -1) {
		require.Contains(t, []string{"${GO}", "scratch"}, m[1])
	}
	require.Regexp(t, `CGO_ENABLED=0`, text)
	require.NotRegexp(t, `(?m)^[^#]*-(ldflags|tags|gcflags)`, text, "they are part of the name of a build")
	require.Regexp(t, user, text)
	require.NotRegexp(t, `(?m)^(FROM|ARG)[^#]*:latest`, text)
}

// TestUnits: systemd takes the units, and they are as closed as they were.
func TestUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze is here")
	}
	dir := t.TempDir()
	for _, name := range []string{"kpsim-campaign.service", "kpsim-worker@.service"} {
		text := read(t, name)
		require.Contains(t, text, "/usr/local/bin/kpsim-campaign ")
		text = strings.ReplaceAll(text, "/usr/local/bin/kpsim-campaign ", program+" ")
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		out, err := exec.Command(analyze, "verify", path).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NotContains(t, string(out), name, "systemd-analyze verify")
		out, err = exec.Command(analyze, "security", "--offline=true", "--threshold=20", path).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
