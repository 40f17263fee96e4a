package matrix

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/replay"
	"kpsim/traces"
)

var rerecord = flag.String("rerecord", "",
	"the folder to which kpsim matrix has written the traces of rows: write those of traces/corpus/matrix anew from "+
		"it; commit it by itself, and say why")

const kindsDir = "../../../traces/corpus/matrix"

// A kind of Sometimes cell: what is patched, how it is written or which sync is left
// out, and what was broken. What is waited for, and the column, say how easily.
func kindOf(r *Row, id string) string {
	return strings.ReplaceAll(r.Block.Name, "/", "-") + "-" + r.Name[strings.LastIndexByte(r.Name, '/')+1:] + "-" + id
}

// kindsOf returns of each kind the name of the trace of the first cell, and whether what was broken there is said of
// the
// block's row as-is, too.
func kindsOf(t Table) (kinds []string, names map[string]string, also map[string]bool) {
	names, also = make(map[string]string), make(map[string]bool)
	for _, r := range Rows() {
		for _, c := range Columns() {
			for i, id := range IDs(t[key(r.Name, c)]) {
				k := kindOf(&r, id)
				if names[k] != "" {
					continue
				}
				kinds = append(kinds, k)
				also[k] = slices.Contains(IDs(t[key(r.Block.Name+"/"+asIs.name, c)]), id)
				names[k] = strings.ReplaceAll("matrix-"+r.Name+"-"+c.Preempt+"-"+c.Fetch, "/", "-")
				if i > 0 {
					names[k] += "-" + id
				}
			}
		}
	}
	return kinds, names, also
}

// TestKinds: of each kind of Sometimes cell of the pages there is a trace, which
// breaks what it is said to; one of a sync left out doesn't where it is there.
// go test ./internal/eval/matrix -run Kinds -rerecord DIR takes them from where kpsim matrix wrote them.
func TestKinds(t *testing.T) {
	table := readPages(t)
	kinds, names, also := kindsOf(table)
	require.NotEmpty(t, kinds)
	for _, k := range kinds {
		path := filepath.Join(kindsDir, k+".kps")
		text, err := os.ReadFile(filepath.Join(*rerecord, names[k]+".kps"))
		if *rerecord != "" && !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll(kindsDir, 0o755))
			require.NoError(t, os.WriteFile(path, text, 0o644))
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err, "go test ./internal/eval/matrix -run Kinds -rerecord DIR writes it")
		f, err := traces.Parse(path, data)
		require.NoError(t, err)
		r, err := replay.Play(path, f, false)
		require.NoError(t, err)
		require.True(t, r.Same, "%s: %s", k, r.Why)
		require.Equal(t, k[strings.LastIndexByte(k, '-')+1:], r.Property.ID)
		r.Rig.Close()
		if f.Remark(traces.OriginMutant) == "" || also[k] {
			continue
		}
		f.Origin = slices.DeleteFunc(f.Origin, func(r traces.Remark) bool { return r.Key == traces.OriginMutant })
		right, err := replay.Play(path, f, false)
		require.NoError(t, err)
		require.Nil(t, right.Property, "%s: with the sync it is broken, too", k)
		right.Rig.Close()
	}
	files, err := filepath.Glob(filepath.Join(kindsDir, "*.kps"))
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(path string) bool { // of rows that the page hasn't yet
		return !slices.ContainsFunc(Rows(), func(r Row) bool {
			return strings.HasPrefix(filepath.Base(path), strings.ReplaceAll(r.Block.Name, "/", "-")+"-") &&
				table[key(r.Name, Columns()[0])] != ""
		})
	})
	require.Len(t, files, len(kinds), "a file of a kind that docs/matrix.md hasn't")
}
