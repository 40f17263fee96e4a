package kpsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// engineWords are words of engines: those who stand below the waist don't know them.
var engineWords = regexp.MustCompile(`(?i)[kj]probe|kretp|detour|slot(mem|size)|insn_?slot|optimi[sz]|unopt|jump_?label|static_?call|ftrace`)

// belowWaist are the packages that know no engine.
var belowWaist = []string{"smp", "smp/kapi", "smp/smpev", "smp/kernel", "smp/cycles"}

// No identifier and no string below the waist has a word of an engine.
func TestNoEngineBelowTheWaist(t *testing.T) {
	for _, dir := range belowWaist {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			check := func(at token.Pos, word string) {
				if engineWords.MatchString(word) {
					t.Errorf("%v: %s is a word of an engine's", fset.Position(at), word)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					check(n.Pos(), n.Name)
				case *ast.BasicLit:
					if n.Kind == token.STRING {
						check(n.Pos(), n.Value)
					}
				}
				return true
			})
		}
	}
}
