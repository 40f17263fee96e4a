package rules

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// The rows are the answers of real kernels for probes at each byte:
// testdata/KERNEL/KIND.csv.gz, of the functions in SET_bytes.csv.gz. testdata/README
// explains their columns and how they were recorded.
//
// KPSIM_ORACLE names a directory of more rows in the same form; if a file is missing
// there, the test is skipped.

var recorded = []struct {
	name   string
	kernel *Kernel
}{{"k61", &K61}, {"k612", &K612}, {"k61i386", &K61I386}}

// recordings returns the directories of rows there are for a kernel.
func recordings(name string) (dirs []string) {
	if d := os.Getenv("KPSIM_ORACLE"); d != "" {
		for _, d := range strings.Split(d, ":") {
			dirs = append(dirs, filepath.Join(d, name))
		}
		return dirs
	}
	return []string{filepath.Join("testdata", name)}
}

// readRows reads a file; nil if there is none.
func readRows(t testing.TB, dir, kind string) [][]string {
	f, err := os.Open(filepath.Join(dir, kind+".csv.gz"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	c := csv.NewReader(z)
	c.FieldsPerRecord = -1 // a second probe that was not tried has no columns
	rows, err := c.ReadAll()
	require.NoError(t, err)
	return rows[1:]
}

func number(t testing.TB, s string) int {
	if s == "" { // not said of a probe that was refused
		return 0
	}
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

func address(t testing.TB, s string) arch.Addr {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 16, 64)
	require.NoError(t, err)
	return arch.Addr(n)
}

func bytesOf(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

// readFunctions reads the functions of the rows, with the facts that their bytes don't
// show.
func readFunctions(t testing.TB, dir, set, kernel string) map[string]*Function {
	var all []*Function
	for _, r := range readRows(t, dir, set+"_bytes") {
		f := &Function{Name: r[0], Addr: address(t, r[1]), Size: number(t, r[2]), Code: bytesOf(t, r[3])}
		require.LessOrEqual(t, f.Size, len(f.Code), "%s", f.Name)
		all = append(all, f)
	}
	at := make(map[arch.Addr][]*Function) // two modules may have been at one address, one after the other
	for _, f := range all {
		at[f.Addr] = append(at[f.Addr], f)
	}
	byName := make(map[string]*Function)
	for _, f := range all {
		for next := follows(f, at); next != nil && len(f.Code) < f.Size+maxLen; next = follows(f, at) {
			f.Code = append(f.Code[:len(f.Code):len(f.Code)], next.Code[:next.Size]...)
		}
		if set == "hand" {
			declare(f, kernel)
		} else if len(f.Code) < f.Size+maxLen {
			// what text_modules.py puts behind the last one
			f.Code = append(f.Code[:len(f.Code):len(f.Code)], bytes.Repeat([]byte{x86.Int3}, maxLen)...)
		}
		byName[f.Name] = f
	}
	return byName
}

// follows returns the function after f's code in memory, as far as it was recorded: the
// one at that address, or the one of f's module there.
func follows(f *Function, at map[arch.Addr][]*Function) *Function {
	here := at[f.Addr+arch.Addr(len(f.Code))]
	if len(here) == 1 {
		return here[0]
	}
	for _, g := range here {
		if module(g.Name) == module(f.Name) {
			return g
		}
	}
	return nil
}

// module is what the names of a module's functions have in common, where rows
// are of several modules: all but the number.
func module(name string) string { return name[:strings.LastIndexByte(name, '_')+1] }
