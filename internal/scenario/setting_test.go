package scenario

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	_ "kpsim/linux/boot" // another engine
)

// TestEveryFieldHasASetting: each field of Machine is what one row of machine() sets, and no row sets two.
func TestEveryFieldHasASetting(t *testing.T) {
	fields := make(map[string]string)
	for _, r := range Settings {
		var m Machine
		switch r.Kind {
		case ValueBuild:
			continue
		case ValueName:
			*r.Name(&m) = "x"
		case ValueWord, ValueSwitch:
			for n := range uint64(max(len(r.Words()), 2)) { // a word's number may be no field's zero
				if r.Set(&m, n); m != (Machine{}) {
					require.Equal(t, n, r.Get(&m), r.Word)
					break
				}
			}
		default:
			r.Set(&m, 2)
			require.EqualValues(t, 2, r.Get(&m), r.Word)
		}
		v, set := reflect.ValueOf(m), 0
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Field(i).IsZero() {
				continue
			}
			if set++; name != "Settings" {
				require.NotContains(t, fields, name, r.Word)
			}
			fields[name] = r.Word
		}
		require.Equal(t, 1, set, r.Word)
	}
	require.Len(t, fields, reflect.TypeFor[Machine]().NumField())
}
