package kpsim

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// shippedPrograms are the programs that users get: their modules' folders and their packages.
var shippedPrograms = []struct{ name, module, pkg string }{
	{"kpsim", ".", "./cmd/kpsim"},
	{"campaign", "campaign", "./cmd/kpsim-campaign"},
}

// forTests are packages, and modules, that only tests import.
var forTests = []string{
	"testing", "pgregory.net/rapid", "github.com/stretchr/testify", "github.com/rogpeppe/go-internal",
	"github.com/chromedp/chromedp", "net/http/httptest", "kpsim/internal/testkit", "kpsim/kpsimtest",
}

// listed asks the go tool of all packages that a program links.
func listed(t *testing.T, module, pkg, format string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-f", format, pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off") // as users build it
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v\n%s", module, err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// No package that ships imports what is for tests: rapid and testing were a seventh of what each
// command takes to start.
func TestShippedImports(t *testing.T) {
	for _, program := range shippedPrograms {
		imports := listed(t, program.module, program.pkg, `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`)
		if len(imports) < 100 {
			t.Fatalf("%s: only %d packages are listed", program.name, len(imports))
		}
		for _, finding := range importsForTests(imports) {
			t.Errorf("%s: %s", program.name, finding)
		}
	}
	planted := importsForTests([]string{"kpsim/sim fmt testing", "kpsim/a testing/quick", "kpsim/b kpsim/kpsimtest",
		"kpsim/c testingground", "testing testing/internal"})
	if want := 3; len(planted) != want {
		t.Errorf("of what is planted %d are found, not %d: %v", len(planted), want, planted)
	}
}

// TestImportsForTests: no program and no library, shipped or not, imports what is for tests, but for packages
// that are for tests themselves.
func TestImportsForTests(t *testing.T) {
	var packages []string
	for _, f := range tree(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		words := "kpsim/" + filepath.ToSlash(filepath.Dir(f.path))
		for _, i := range f.file.Imports {
			words += " " + strings.Trim(i.Path.Value, `"`)
		}
		packages = append(packages, words)
	}
	for _, finding := range importsForTests(packages) {
		t.Error(finding)
	}
}

// importsForTests finds, among packages each with what it imports, those that import what is for
// tests.
func importsForTests(packages []string) (findings []string) {
	isForTests := func(path string) bool {
		return slices.ContainsFunc(forTests, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
	}
	for _, line := range packages {
		words := strings.Fields(line)
		if isForTests(words[0]) {
			continue // what imports it is the fault
		}
		for _, path := range words[1:] {
			if isForTests(path) {
				findings = append(findings,
					fmt.Sprintf("%s imports %s, which is for tests: move what needs it to a package that only tests import", words[0], path))
			}
		}
	}
	return findings
}

// dependencyRow is a row of docs/dependencies.md.
var dependencyRow = regexp.MustCompile(`(?m)^\| (\S+\.\S+/?\S*) \| (both|kpsim|campaign) \| ([^|]+) \| (v\S+) \| ([A-Z][\w.-]+) \| (\d{4}-\d\d) \|$`)

// freeLicences are those that let what is linked be passed on under any licence.
var freeLicences = []string{"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "0BSD"}

// docs/dependencies.md has what the shipped programs link, no more and no less, with the versions
// of go.mod and licences that allow it.
func TestDependencies(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]string{} // by module: version and programs
	for _, program := range shippedPrograms {
		for _, m := range listed(t, program.module, program.pkg,
			`{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}`) {
			path, version, ok := strings.Cut(strings.TrimSpace(m), " ")
			if !ok || path == "kpsim" {
				continue
			}
			in := program.name
			if was, both := linked[path]; both && !strings.HasSuffix(was, " "+in) {
				in = "both"
			}
			linked[path] = version + " " + in
		}
	}
	_, why, _ := strings.Cut(string(page), "Old, and why they stay:")
	written, newest := map[string]string{}, time.Time{}
	for _, row := range dependencyRow.FindAllStringSubmatch(string(page), -1) {
		if day, err := time.Parse("2006-01", row[6]); err == nil && day.After(newest) {
			newest = day
		}
	}
	for _, row := range dependencyRow.FindAllStringSubmatch(string(page), -1) {
		path, in, version, licence, released := row[1], row[2], row[4], row[5], row[6]
		written[path] = version + " " + in
		if !slices.Contains(freeLicences, licence) {
			t.Errorf("%s: %s isn't one of the licences that are taken: %v", path, licence, freeLicences)
		}
		day, err := time.Parse("2006-01", released)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		short := strings.TrimSuffix(strings.TrimPrefix(path, "github.com/"), "/v2")
		if short = strings.TrimPrefix(short, "prometheus/"); newest.Sub(day) > 2*365*24*time.Hour &&
			!strings.Contains(why, short[strings.LastIndex(short, "/")+1:]) {
			t.Errorf("%s: its last release is of %s; replace it, or say below the table why it stays", path, released)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(linked)) {
		if written[path] != linked[path] {
			t.Errorf("docs/dependencies.md: %s is linked as %q, and the page says %q", path, linked[path],
				written[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(written)) {
		if linked[path] == "" {
			t.Errorf("docs/dependencies.md: %s isn't linked into a shipped program", path)
		}
	}
}
