package view

import (
	"maps"
	"slices"
	"testing"

	"kpsim/properties"
)

// Every property has a row that says what decides its violations, and no other has.
func TestDecidingRows(t *testing.T) {
	var ids []string
	for _, p := range properties.All {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	if rows := slices.Sorted(maps.Keys(deciding)); !slices.Equal(ids, rows) {
		t.Errorf("properties %v\nrows       %v", ids, rows)
	}
}
