package matrix

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/properties/harness"
	"kpsim/traces"
)

var rerecord = flag.Bool("rerecord", false, "search one cell of each kind again and write traces/corpus/matrix anew; commit it by itself, and say why")

const kindsDir = "../../traces/corpus/matrix"

// A kind of Sometimes cell: what is patched, how it is written or which sync is left
// out, and what was broken. What is waited for, and the column, say how easily.
func kindOf(r *Row, short string) string {
	id, _, _ := strings.Cut(short, "/")
	return r.Block.Name + "-" + r.Name[strings.LastIndexByte(r.Name, '/')+1:] + "-" + id
}

// kindsOf returns the first cell of each kind.
func kindsOf(t Table) (kinds []string, cells map[string]func() (*Cell, error)) {
	cells = make(map[string]func() (*Cell, error))
	for _, r := range Rows() {
		for _, c := range Columns() {
			if t.At(r.Name, c) != Sometimes {
				continue
			}
			if k := kindOf(&r, t[key(r.Name, c)]); cells[k] == nil {
				kinds = append(kinds, k)
				cells[k] = func() (*Cell, error) { return search(&r, c, Quick, new(atomic.Bool)) }
			}
		}
	}
	return kinds, cells
}

// TestKinds: of each kind of Sometimes cell of docs/matrix.md there is a trace, which
// breaks what it is said to; one of a sync left out doesn't where it is there.
// go test ./properties/matrix -run Kinds -rerecord writes them.
func TestKinds(t *testing.T) {
	page, err := os.ReadFile("../../docs/matrix.md")
	require.NoError(t, err)
	table, err := ReadMarkdown(string(page))
	require.NoError(t, err)
	kinds, cells := kindsOf(table)
	require.NotEmpty(t, kinds)
	for _, k := range kinds {
		path := filepath.Join(kindsDir, k+".kps")
		if *rerecord {
			c, err := cells[k]()
			require.NoError(t, err)
			require.NotNil(t, c.Witness, k)
			require.NoError(t, os.MkdirAll(kindsDir, 0o755))
			require.NoError(t, os.WriteFile(path, c.Witness.File.Marshal(), 0o644))
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err, "go test ./properties/matrix -run Kinds -rerecord writes it")
		f, err := traces.Parse(path, data)
		require.NoError(t, err)
		r, err := harness.PlayFile(path, f, false)
		require.NoError(t, err)
		require.True(t, r.Same, "%s: %s", k, r.Why)
		require.Equal(t, k[strings.LastIndexByte(k, '-')+1:], r.Property.ID)
		r.Rig.Close()
		if f.Remark(traces.OriginMutant) == "" {
			continue
		}
		f.Origin = slices.DeleteFunc(f.Origin, func(r traces.Remark) bool { return r.Key == traces.OriginMutant })
		right, err := harness.PlayFile(path, f, false)
		require.NoError(t, err)
		require.Nil(t, right.Property, "%s: with the sync it is broken, too", k)
		right.Rig.Close()
	}
	files, err := filepath.Glob(filepath.Join(kindsDir, "*.kps"))
	require.NoError(t, err)
	require.Len(t, files, len(kinds), "a file of a kind that docs/matrix.md hasn't")
}
