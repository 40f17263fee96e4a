package kpsim

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// x86Rooms hold what is known of x86, beside files called arch_x86*.go or *_x86.go.
var x86Rooms = []string{"smp/arch/x86", "smp/arch/x86/native"}

// x86Files are the exceptions of the rule arch, each with its reason.
var x86Files = map[string]string{
	"kprobes/rules/class.go":   "what the kernel's own decoder of x86 says of an opcode",
	"kprobes/survey/survey.go": "which bytes the compilers of x86 pad with",
}

// x86Name matches the registers of x86 as identifiers and as words.
var x86Name = regexp.MustCompile(`^(?i:[re](?:[abcd]x|[sd]i|[sb]p)|r(?:[89]|1[0-5]))$`)

// x86Opcodes are the bytes that patching writes and looks for: int3, call, jmp, and
// the long nop.
var x86Opcodes = []int64{0xcc, 0xe8, 0xe9, 0x0f1f}

// checkArch looks for x86's opcodes and register names.
func (h *house) checkArch(dir, file string, r *room, f *ast.File) {
	rel, _ := filepath.Rel(h.root, file)
	base := path.Base(file)
	if x86Files[filepath.ToSlash(rel)] != "" || strings.HasPrefix(base, "arch_x86") ||
		strings.HasSuffix(base, "_x86.go") {
		return
	}
	for _, room := range x86Rooms {
		if dir == room {
			return
		}
	}
	found := func(n ast.Node, what string) {
		h.report(n.Pos(), "arch", "%s is x86's: ask arch.Arch, or put it in a file called *_x86.go", what)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			switch {
			case n.Kind == token.INT && opcode(r, n):
				found(n, n.Value)
			case n.Kind == token.STRING:
				if s, err := strconv.Unquote(n.Value); err == nil && x86Name.MatchString(s) {
					found(n, n.Value)
				}
			}
		case *ast.CompositeLit:
			for i := 1; i < len(n.Elts); i++ {
				if intOf(r, n.Elts[i-1]) == 0x0f && intOf(r, n.Elts[i]) == 0x1f {
					found(n.Elts[i], "0x0f, 0x1f")
				}
			}
		case *ast.SelectorExpr:
			if p, ok := r.info.Uses[n.Sel].(*types.Const); ok && x86Name.MatchString(n.Sel.Name) {
				found(n.Sel, p.Pkg().Name()+"."+n.Sel.Name)
			}
		}
		return true
	})
}

// opcode reports whether a number is one of x86Opcodes, or a byte of 0x90, and written
// in hexadecimal: other numbers count something.
func opcode(r *room, n *ast.BasicLit) bool {
	if !strings.HasPrefix(n.Value, "0x") && !strings.HasPrefix(n.Value, "0X") {
		return false
	}
	v := intOf(r, n)
	for _, op := range x86Opcodes {
		if v == op {
			return true
		}
	}
	b, ok := r.info.TypeOf(n).Underlying().(*types.Basic)
	return v == 0x90 && ok && b.Kind() == types.Uint8
}

// intOf returns the value of a constant, -1 if an expression is none.
func intOf(r *room, e ast.Expr) int64 {
	if tv, ok := r.info.Types[e]; ok && tv.Value != nil {
		if v, exact := constant.Int64Val(constant.ToInt(tv.Value)); exact {
			return v
		}
	}
	return -1
}

// An exception that names no file is taken off the list.
func TestArchExceptions(t *testing.T) {
	for file := range x86Files {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("layers_arch_test.go: %v", err)
		}
	}
}
