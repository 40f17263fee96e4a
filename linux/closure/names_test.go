package closure

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
)

var update = flag.Bool("update", false, "write names.txt and known.txt anew from the kernels at hand")

// series are those whose kernels with DWARF names.txt is made from.
var series = []string{"6.1", "6.12"}

// The lists of names are what DWARF says of the sets' files.
func TestNames(t *testing.T) {
	if !*update && testing.Short() {
		t.Skip("reads the DWARF of two kernels")
	}
	if !*update {
		t.Skip("names.txt is checked by go test ./linux/closure -run TestNames -update, and git diff; see TestFiles too")
	}
	write := func(t *testing.T, list, of string, series []string, kernel func(t testing.TB, series string) string) {
		rows := map[string]map[string][]string{} // file, function, series
		for _, f := range files() {
			rows[f] = map[string][]string{}
		}
		for _, s := range series {
			units(t, kernel(t, s), func(file, name string, alone bool) {
				had := rows[file][name]
				if alone && !slices.Contains(had, s) {
					had = append(had, s)
				}
				rows[file][name] = had
			})
		}
		var b strings.Builder
		fmt.Fprintf(&b, "# Functions of the sets' files, and the series of Debian's kernels%s in which each is compiled by "+
			"itself.\n# Made by go test ./linux/closure -run TestNames -update.\n", of)
		for _, f := range files() {
			if len(rows[f]) == 0 {
				continue
			}
			fmt.Fprintf(&b, "\nfile %s\n", f)
			for _, name := range slices.Sorted(maps.Keys(rows[f])) {
				fmt.Fprintln(&b, strings.TrimSpace(name+" "+strings.Join(rows[f][name], " ")))
			}
		}
		require.NoError(t, os.WriteFile(list, []byte(b.String()), 0o644))
	}
	t.Run("x86", func(t *testing.T) { write(t, "names.txt", "", series, kerneltest.Debug) })
	for _, processor := range []string{"riscv64", "arm64", "ppc64le"} {
		t.Run(processor, func(t *testing.T) {
			write(t, "names-"+processor+".txt", " for "+processor, []string{"6.12"},
				func(t testing.TB, series string) string { return kerneltest.DebugOn(t, processor, series) })
		})
	}
}

func files() (out []string) {
	for _, s := range Sets {
		out = append(out, s.Files...)
	}
	return out
}

// units calls f with each function that is defined in one of the sets' files, or compiled
// by itself in its unit.
func units(t *testing.T, path string, f func(file, name string, alone bool)) {
	e, err := elf.Open(path)
	require.NoError(t, err)
	defer e.Close()
	d, err := e.DWARF()
	require.NoError(t, err)
	info, err := e.Section(".debug_info").Data()
	require.NoError(t, err)
	r := d.Reader()
	for at := 0; at+12 < len(info); at += 4 + int(binary.LittleEndian.Uint32(info[at:])) {
		head := 11
		if binary.LittleEndian.Uint16(info[at+4:]) >= 5 {
			head = 12
		}
		r.Seek(dwarf.Offset(at + head))
		unit, err := r.Next()
		require.NoError(t, err)
		if unit == nil || unit.Tag != dwarf.TagCompileUnit {
			continue
		}
		path, _ := unit.Val(dwarf.AttrName).(string)
		file := ""
		for _, x := range files() {
			if len(x) > len(file) && (path == x || strings.HasSuffix(path, "/"+x)) {
				file = x
			}
		}
		if file != "" {
			unitFunctions(t, d, r, unit, file, f)
		}
	}
}

func unitFunctions(t *testing.T, d *dwarf.Data, r *dwarf.Reader, unit *dwarf.Entry, file string,
	f func(file, name string, alone bool)) {
	lr, err := d.LineReader(unit)
	require.NoError(t, err)
	lines := lr.Files()
	only := map[string]bool{}
	for _, s := range Sets {
		if slices.Contains(s.Files, file) {
			for _, n := range s.Only {
				only[n] = true
			}
		}
	}
	other := d.Reader()
	for {
		e, err := r.Next()
		require.NoError(t, err)
		if e == nil || e.Tag == 0 || e.Tag == dwarf.TagCompileUnit {
			return
		}
		if e.Children {
			r.SkipChildren()
		}
		if e.Tag != dwarf.TagSubprogram {
			continue
		}
		_, low := e.Val(dwarf.AttrLowpc).(uint64)
		alone := low || e.Val(dwarf.AttrRanges) != nil
		named := e
		for _, a := range []dwarf.Attr{dwarf.AttrAbstractOrigin, dwarf.AttrSpecification, dwarf.AttrAbstractOrigin} {
			if off, ok := named.Val(a).(dwarf.Offset); ok {
				other.Seek(off)
				named, err = other.Next()
				require.NoError(t, err)
			}
		}
		name, _ := named.Val(dwarf.AttrName).(string)
		decl, _ := named.Val(dwarf.AttrDeclFile).(int64)
		here := decl > 0 && int(decl) < len(lines) && lines[decl] != nil && strings.HasSuffix(lines[decl].Name, file)
		inlined := named.Val(dwarf.AttrInline) != nil
		if name == "" || !alone && (!here || !inlined) || len(only) > 0 && !only[name] {
			continue
		}
		f(file, name, alone)
	}
}
