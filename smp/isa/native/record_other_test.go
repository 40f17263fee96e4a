//go:build !(linux && amd64)

package native

import (
	"testing"

	"kpsim/smp/isa"
)

func rerecord(t *testing.T, mode isa.Mode, name string) { t.Skip("recording needs linux/amd64") }
