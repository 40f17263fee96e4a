package inputs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/kprobes/mutants"
)

// Every fault says in which releases it was.
func TestReleases(t *testing.T) {
	for _, f := range mutants.Shipped() {
		assert.NotEmpty(t, mutants.Releases(f.Mutant), f.Mutant)
	}
}
