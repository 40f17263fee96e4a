package version

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stamped is what go build notes in a clone.
func stamped(main, modified string) *debug.BuildInfo {
	return &debug.BuildInfo{Main: debug.Module{Path: main, Version: "(devel)"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "c0ffee"}, {Key: "vcs.modified", Value: modified}}}
}

// What the linker says goes before what Go says; of another module's commit nothing is taken.
func TestOf(t *testing.T) {
	defer func() { version, commit, source = "", "", "" }()
	tagged := stamped(Module, "false")
	tagged.Main.Version = "v1.2.3"
	derived := stamped(Module, "true")
	derived.Main.Version = "v0.0.0-20260102030405-c0ffeec0ffee+dirty"
	required := stamped("example.org/driver", "false")
	required.Deps = []*debug.Module{{Path: Module, Version: "v0.0.0",
		Replace: &debug.Module{Path: "example.org/kpsim", Version: "v1.4.0"}}}
	folder := stamped("example.org/driver", "false")
	folder.Deps = []*debug.Module{{Path: Module, Version: "v0.0.0", Replace: &debug.Module{Path: "../kpsim"}}}
	devel := stamped("example.org/driver", "false") // as go install notes a folder
	devel.Deps = []*debug.Module{{Path: Module, Version: "v0.0.0",
		Replace: &debug.Module{Path: "../kpsim", Version: "(devel)"}}}
	for _, c := range []struct {
		version, commit, source string
		build                   *debug.BuildInfo
		want                    string
	}{
		{"", "", "", nil, "unreleased (commit not known), from module kpsim"},
		{"", "", "", &debug.BuildInfo{}, "unreleased (commit not known), from module kpsim"},
		{"", "", "", stamped(Module, "false"), "unreleased (commit c0ffee), from module kpsim"},
		{"", "", "", stamped(Module+"/campaign", "true"), "unreleased (commit c0ffee, modified), from module kpsim"},
		{"", "", "", stamped("example.org/driver", "true"), "unreleased (commit not known), from module kpsim"},
		{"", "", "", tagged, "v1.2.3 (commit c0ffee), from module kpsim"},
		{"", "", "", derived, "unreleased (commit c0ffee, modified), from module kpsim"},
		{"", "", "", required, "v1.4.0 (commit not known), from module example.org/kpsim"},
		{"", "", "", folder, "unreleased (commit not known), from module kpsim"},
		{"", "", "", devel, "unreleased (commit not known), from module kpsim"},
		{"1.0-1", "deadbeef", "https://example.org/kpsim", stamped("", "true"),
			"1.0-1 (commit deadbeef), from https://example.org/kpsim"},
		{"1.0-1", "deadbeef-dirty", "", tagged, "1.0-1 (commit deadbeef, modified), from module kpsim"},
		{"1.0-1", "", "", tagged, "1.0-1 (commit c0ffee), from module kpsim"},
	} {
		version, commit, source = c.version, c.commit, c.source
		require.Equal(t, c.want, Of(c.build).String())
	}
	version, commit = "", ""
	require.Equal(t, "unreleased (commit c0ffee, perhaps modified), from module kpsim",
		Info{Commit: "c0ffee", Source: "module kpsim"}.String())
}

// The commit of a clone is read where git keeps it: in a file of its own, packed, detached,
// and in a worktree. What isn't a clone of kpsim has none.
func TestHead(t *testing.T) {
	h := strings.Repeat("0a", 20)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"loose": {map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": h + "\n"}, h},
		"packed": {map[string]string{".git/HEAD": "ref: refs/heads/main\n",
			".git/packed-refs": "# pack-refs with: peeled\n" + strings.Repeat("1", 40) + " refs/heads/maint\n" + h +
				" refs/heads/main\n^" + strings.Repeat("2", 40) + "\n"}, h},
		"detached": {map[string]string{".git/HEAD": h + "\n"}, h},
		"worktree": {map[string]string{".git": "gitdir: ../main/w\n", "../main/w/HEAD": "ref: refs/heads/x\n",
			"../main/w/commondir": "..\n", "../main/refs/heads/x": h + "\n"}, h},
		"none":      {nil, ""},
		"unborn":    {map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, ""},
		"reftable":  {map[string]string{".git/HEAD": "ref: refs/heads/.invalid\n"}, ""},
		"elsewhere": {map[string]string{".git/HEAD": "ref: ../../secret\n", "secret": h}, ""},
		"other":     {map[string]string{"go.mod": "module other\n", ".git/HEAD": h + "\n"}, ""},
		"no hash": {map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": "<script>\n"},
			""},
		"empty HEAD":  {map[string]string{".git/HEAD": ""}, ""},
		"git is long": {map[string]string{".git": strings.Repeat("gitdir: ", 1<<18)}, ""},
	} {
		clone := filepath.Join(t.TempDir(), "clone")
		if c.files["go.mod"] == "" {
			write(t, filepath.Join(clone, "go.mod"), "module kpsim\n\ngo 1.26\n")
		}
		for path, text := range c.files {
			write(t, filepath.Join(clone, path), text)
		}
		require.Equal(t, c.want, head(clone), name)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// Only what go run has compiled just now names the clone's commit.
func TestByGoRun(t *testing.T) {
	for exe, want := range map[string]bool{
		"/tmp/go-build89317510/b001/exe/kpsim":                                true,
		"/home/a/.cache/go-build/0b/" + strings.Repeat("0b", 32) + "-d/kpsim": true,
		"/home/a/go/bin/kpsim":                                                false,
		"/tmp/go-build1/b001/version.test":                                    false,
		"/home/a/exe/kpsim":                                                   false,
	} {
		require.Equal(t, want, byGoRun(exe), exe)
	}
}
