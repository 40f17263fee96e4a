package fetch

import (
	"fmt"
	"slices"
	"strings"
)

// A Model says which bytes a fetch may see.
type Model uint8

// The models, each weaker than the one before: what a fetch may see under one
// it may see under the next.
const (
	Coherent Model = iota // the newest version of each byte
	Stale                 // of each chunk a version not yet ruled out, read once an instruction
	Mixing                // of each byte so
)

var modelNames = [...]string{"coherent", "stale", "mixing"}

func (m Model) String() string {
	if int(m) < len(modelNames) {
		return modelNames[m]
	}
	return fmt.Sprintf("Model(%d)", uint8(m))
}

// Names lists the models' names, in the order of the constants.
func Names() []string { return modelNames[:] }

// Parse returns the model of that name.
func Parse(name string) (Model, error) {
	if m := slices.Index(modelNames[:], name); m >= 0 {
		return Model(m), nil
	}
	return 0, fmt.Errorf("no fetch model is called %q; there are %s", name, strings.Join(modelNames[:], ", "))
}
