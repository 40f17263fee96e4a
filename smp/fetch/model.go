package fetch

import "fmt"

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

// Parse returns the model of that name.
func Parse(name string) (Model, error) {
	for m, s := range modelNames {
		if s == name {
			return Model(m), nil
		}
	}
	return 0, fmt.Errorf("fetch: no model %q: want coherent, stale or mixing", name)
}
