package era

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
)

// leaves lists the fields of a struct, and of the structs in it.
func leaves(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Type.Kind() == reflect.Struct {
			names = append(names, leaves(f.Type)...)
		} else {
			names = append(names, f.Name)
		}
	}
	return names
}

// TestEveryFieldHasARow: each field of Settings is one row's, but for what the build's
// preemption, the processor and mutants say.
func TestEveryFieldHasARow(t *testing.T) {
	fields := slices.DeleteFunc(leaves(reflect.TypeFor[Settings]()), func(n string) bool {
		return n == "Preemption" || n == "Unchecked" || n == "Bits32" || n == "Decoder"
	})
	require.Len(t, Table, len(fields), fields)
	for i := range Table {
		r := &Table[i]
		for v := range r.Values {
			s := Of(rules.EditionNone, false)
			r.Set(&s, uint8(v))
			require.EqualValues(t, v, r.Get(&s), r.Word)
			for k := range Table {
				if o := &Table[k]; o != r {
					require.Equal(t, o.Preset(rules.EditionNone, false), o.Get(&s), "%s changes %s", r.Word, o.Word)
				}
			}
		}
	}
}

// TestWordsOnce: no two settings have the same word, and no setting two values of one word.
func TestWordsOnce(t *testing.T) {
	seen := make(map[string]bool)
	for i := range Table {
		r := &Table[i]
		require.False(t, seen[r.Word], r.Word)
		seen[r.Word] = true
		words := slices.Sorted(slices.Values(r.Values))
		require.Len(t, slices.Compact(words), len(r.Values), r.Word)
		require.NotEmpty(t, r.Says, r.Word)
		require.NotEmpty(t, r.Means, r.Word)
	}
}

// TestBuild: the rows of the build are last, and no edition decides them.
func TestBuild(t *testing.T) {
	for i := range Table {
		r := &Table[i]
		require.Equal(t, i >= len(ByEdition), r.Build, r.Word)
		for _, e := range rules.AllEditions() {
			if r.Build {
				require.Zero(t, r.Preset(e, true), r.Word)
			}
		}
	}
}
