package packagetest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// A workflow is what the test reads of one.
type workflow struct {
	On          map[string]any    `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Env         map[string]string `yaml:"env"`
	Jobs        map[string]struct {
		Container string `yaml:"container"`
		Minutes   int    `yaml:"timeout-minutes"`
		Steps     []step `yaml:"steps"`
	} `yaml:"jobs"`
}

type step struct {
	Uses string            `yaml:"uses"`
	Run  string            `yaml:"run"`
	With map[string]string `yaml:"with"`
	Env  map[string]string `yaml:"env"`
}

// The workflow runs .ci/run and nothing beside it, for pushes and pull requests, with Go of
// go.mod, and with the kernels where .ci/run looks for them. It may only read; each action is
// pinned to a commit, and its release stands behind; no command has text from outside in it.
func TestWorkflow(t *testing.T) {
	clone, err := filepath.Abs("../../..")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(clone, ".github/workflows/ci.yml"))
	require.NoError(t, err)
	var w workflow
	require.NoError(t, yaml.Unmarshal(text, &w))
	require.Contains(t, w.On, "push")
	require.Contains(t, w.On, "pull_request")
	require.NotContains(t, w.On, "pull_request_target")
	require.Equal(t, map[string]string{"contents": "read"}, w.Permissions)

	job, ok := w.Jobs["run"]
	require.True(t, ok)
	require.Len(t, w.Jobs, 1)
	require.Equal(t, "debian:12", job.Container)
	require.NotZero(t, job.Minutes)
	with := map[string]map[string]string{}
	for _, s := range job.Steps {
		if s.Uses != "" {
			require.Regexp(t, `^actions/[a-z-]+@[0-9a-f]{40}$`, s.Uses)
			require.Regexp(t, regexp.QuoteMeta(s.Uses)+` # v\d+\.\d+\.\d+\n`, string(text))
			with[regexp.MustCompile(`@.*`).ReplaceAllString(s.Uses, "")] = s.With
		}
		require.NotContains(t, s.Run, "${{")
		require.Empty(t, s.Env)
	}
	require.Equal(t, "go.mod", with["actions/setup-go"]["go-version-file"])
	require.Equal(t, "**/go.sum", with["actions/setup-go"]["cache-dependency-path"])
	require.Equal(t, "0", with["actions/checkout"]["fetch-depth"], "tags, for scripts/package")
	require.Equal(t, "${{ env.KPSIM_KERNELS }}", with["actions/cache"]["path"])
	require.True(t, filepath.IsAbs(w.Env["KPSIM_KERNELS"]))
	require.Equal(t, "./.ci/run", job.Steps[len(job.Steps)-1].Run)

	s, err := os.Stat(filepath.Join(clone, ".ci/run"))
	require.NoError(t, err)
	require.NotZero(t, s.Mode()&0o100, "git keeps that it can be run")
	ci, err := os.ReadFile(filepath.Join(clone, ".ci/run"))
	require.NoError(t, err)
	require.Contains(t, string(ci), "KPSIM_KERNELS=${KPSIM_KERNELS:-")
	require.Regexp(t, `(?m)^\t?go run "\$actionlint" \.github/workflows/\*\.yml docs/ci/\*\.yml$`, string(ci),
		"what is wrong with a workflow shows before it is pushed")
	module, err := os.ReadFile(filepath.Join(clone, "go.mod"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^go \d+\.\d+\.\d+$`, string(module), "a release, which is what setup-go installs")
}
