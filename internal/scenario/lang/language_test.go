package lang

import (
	flags "flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/smp/kernel"
)

const reference = "../../../docs/scenarios.md"

var updatePage = flags.Bool("update-page", false, "write the tables of docs/scenarios.md anew; read the diff")

// tables are what docs/scenarios.md has from the code, by title.
func tables() map[string]string {
	cell := strings.NewReplacer("|", "\\|")
	m := make(map[string]string)
	for _, c := range chapters {
		t := "| call | what it says |\n|---|---|\n"
		for _, v := range c.verbs {
			sig := v.sig
			if v.name() == "machine" {
				sig = "machine(…)"
			}
			t += "| `" + sig + "` | " + cell.Replace(v.says) + " |\n"
		}
		m[c.title] = t
	}
	t := "| parameter | what it says |\n|---|---|\n"
	nothing := defaultMachine()
	for _, r := range scenario.Settings {
		if r.Says != "" {
			t += "| `" + r.Word + " = " + settingValue(r, &nothing) + "` | " + cell.Replace(r.Says) + " |\n"
		}
	}
	m["machine()"] = t
	return m
}

// TestReferencePage: the tables of the page are those of the code, and none is missing.
func TestReferencePage(t *testing.T) {
	raw, err := os.ReadFile(reference)
	require.NoError(t, err)
	all := tables()
	const begin, end = "<!-- made from internal/scenario, ", "<!-- end -->\n"
	page, rest, found := strings.Cut(string(raw), begin)
	for found {
		title, after, _ := strings.Cut(rest, " -->\n")
		require.Contains(t, all, title)
		_, after, closed := strings.Cut(after, end)
		require.True(t, closed, title)
		page += begin + title + " -->\n\n" + all[title] + "\n" + end
		delete(all, title)
		var before string
		before, rest, found = strings.Cut(after, begin)
		page += before
	}
	require.Empty(t, all, "the page has no place for it")
	if *updatePage {
		require.NoError(t, os.WriteFile(reference, []byte(page), 0o644))
		return
	}
	require.Equal(t, page, string(raw), "go test ./internal/scenario/lang -run ReferencePage -update-page")
}

// shared are the parameters that the page explains for all calls together.
var shared = []string{"name", "at", "offset", "size", "hex", "errno", "symbol", "disabled", "cpu", "at_most", "f", "k",
	"ks", "l", "s", "m", "p", "d", "on", "file"}

// TestReferenceIsWhole: what is said of a call says what each of its parameters is, and of
// a setting what each of its values is.
func TestReferenceIsWhole(t *testing.T) {
	for _, v := range language {
		require.NotEmpty(t, v.says, v.sig)
		if v.name() == "machine" {
			continue
		}
		_, params, _ := strings.Cut(strings.TrimSuffix(v.sig, ")"), "(")
		for p := range strings.SplitSeq(params, ", ") {
			p, _, _ = strings.Cut(p, " = ")
			if p = strings.TrimPrefix(p, "*"); p != "" && !slices.Contains(shared, p) {
				assert.Regexp(t, "`"+p+"\\b", v.says, v.sig)
			}
		}
	}
	nothing := defaultMachine()
	for _, r := range scenario.Settings {
		if r.Word == "engine" || r.Kind != scenario.ValueWord {
			continue
		}
		for i, w := range r.Words() {
			if uint64(i) != r.Get(&nothing) { // the default is in the signature
				require.Contains(t, r.Says, "`\""+w+"\"`", r.Word)
			}
		}
	}
}

// The page of patchers says what each kernel routine does that one may call.
func TestServicesPage(t *testing.T) {
	const path, head = "../../../docs/cross-modifying-code.md", "| name | what it does |\n|---|---|\n"
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	before, after, found := strings.Cut(string(raw), head)
	require.True(t, found)
	_, after, _ = strings.Cut(after, "\n\n")
	page := before + head
	kernel.Services(func(name, says string) { page += "| `" + name + "` | " + says + " |\n" })
	if page += "\n" + after; *updatePage {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
		return
	}
	require.Equal(t, page, string(raw), "go test ./internal/scenario/lang -run ServicesPage -update-page")
}
