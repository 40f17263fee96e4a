package inputs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Help lists the editions: that of no document has no name.
func TestEditionNames(t *testing.T) {
	names := EditionNames()
	require.NotContains(t, names, "")
	require.Equal(t, "2.6", names[0])
}
