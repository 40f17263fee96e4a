package kpsimtest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/traces"
)

// failure writes a witness to the test's folder in testdata, and returns what is to be said of it.
func failure(t TB, in *inputs.Input, o *outcome, w *shrink.Witness) string {
	place := ""
	if w.Place != "" {
		place = " at " + w.Place
	}
	says := fmt.Sprintf("%s: %s%s, in %d of %d schedules: %s\n", in.Name, w.Property.Name, place,
		o.broken[w.Property.Name], o.runs, w.Message)
	in.FoundIn(w.File)
	name := inputs.TraceName(in.Name + "-" + w.Property.Name)
	path := filepath.Join("testdata", inputs.TraceName(t.Name()), name+".kps") // two tests may search one scenario
	text, err := inputs.TraceText(path, w.File)
	if err == nil {
		err = write(path, text)
	}
	if err != nil {
		return says + fmt.Sprintf("    its trace can't be saved: %v:\n%s", err, text)
	}
	for line := range strings.Lines(traces.FormatSchedule(w.Schedule)) {
		says += "    " + line
	}
	says += "    to see why:  " + explains(path)
	if draws(t) {
		says += "\n    as a test of its own:\n\n" + ownTest(name, path, w.File)
	}
	return says
}

// ownTest returns a test of what was drawn and shrunk.
func ownTest(name, path string, f *traces.File) string {
	text := "`\n" + f.Scenario + "`"
	if strings.Count(text, "`") > 2 {
		text = strconv.Quote(f.Scenario)
	}
	return fmt.Sprintf("func Test%s(t *testing.T) {\n\tkpsimtest.Never(t, %s,\n\t\tkpsimtest.Witness(%q))\n}\n",
		camel(name), text, path)
}

// command is the program that explains a witness.
const command = "kpsim/cmd/kpsim"

// explains returns the line that explains a trace. It has no set-up that the module has: the program is a tool of the
// module, or lies where the module's go.mod says that kpsim is.
func explains(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	mod := goMod()
	for _, tool := range mod.Tool {
		if tool.Path == command {
			return cli.Line("go", "tool", "kpsim", "explain", abs) // it is typed anywhere in the module
		}
	}
	for _, r := range mod.Replace {
		if dir := r.New.Path; r.Old.Path == "kpsim" && r.New.Version == "" {
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(filepath.Dir(mod.at), dir)
			}
			return cli.Line("go", "run", "-C", dir, "./cmd/kpsim", "explain", abs)
		}
	}
	return cli.Line("go", "run", command, "explain", abs)
}

// A module is what a go.mod says, as go mod edit -json prints it.
type module struct {
	at      string
	Tool    []struct{ Path string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// goMod reads the go.mod of the module that is tested. It says nothing if it can't be read.
func goMod() (mod module) {
	at, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return mod
	}
	mod.at = strings.TrimSpace(string(at))
	text, err := exec.Command("go", "mod", "edit", "-json", mod.at).Output()
	if err == nil {
		err = json.Unmarshal(text, &mod)
	}
	if err != nil {
		return module{at: mod.at}
	}
	return mod
}

// camel returns the name of a test about a trace.
func camel(name string) string {
	var b strings.Builder
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, word := range strings.FieldsFunc(name, apart) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
