//go:build !(linux && amd64)

package native

import (
	"testing"

	"kpsim/smp/arch/x86"
)

func rerecord(t *testing.T, mode x86.Mode, name string) { t.Skip("recording needs linux/amd64") }
