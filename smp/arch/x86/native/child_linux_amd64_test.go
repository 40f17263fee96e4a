package native

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch/x86"
)

// areaEnv names, in the environment of a child, the file that its area lies in.
const areaEnv = "KPSIM_NATIVE_AREA"

// inChild runs body in a process of its own, where it may die: the test says
// then what code it died of.
func inChild(t *testing.T, body func(h *pair, features map[string]bool)) {
	t.Helper()
	if os.Getenv(areaEnv) != "" {
		h, err := newHost()
		require.NoError(t, err)
		defer h.lock()()
		features := h.features()
		body(newPair(h.text, h), features)
		return
	}
	name := filepath.Join(t.TempDir(), "area")
	require.NoError(t, os.WriteFile(name, make([]byte, pageSize), 0o600))
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v"}
	if end, ok := t.Deadline(); ok { // code that never ends is reported, too
		args = append(args, fmt.Sprintf("-test.timeout=%v", time.Until(end)*9/10))
	}
	flag.Visit(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "native.") || strings.HasPrefix(f.Name, "rapid.") {
			args = append(args, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), areaEnv+"="+name)
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && bytes.Contains(out, []byte("--- PASS")):
		t.Logf("%s", out)
	case bytes.Contains(out, []byte("--- FAIL")) && !bytes.Contains(out, []byte("fatal error")):
		t.Errorf("%s", out)
	default:
		area, _ := os.ReadFile(name)
		n := little(area[0x500:], 8)
		t.Errorf("the child died (%v) of % x\n%s", err, area[0x400:0x400+min(n, maxCode)], out)
	}
}

// modes are those that the kernel lets programs run. That one is missing is printed: .ci/run
// shows the lines that begin so.
func modes(t *testing.T, features map[string]bool) []x86.Mode {
	if features[has32] {
		t.Log("COMPARED with this processor: 64-bit and 32-bit mode")
		return []x86.Mode{x86.Mode64, x86.Mode32}
	}
	t.Log("COMPARED with this processor: 64-bit mode; NOT COMPARED: 32-bit mode, in which this kernel runs no code")
	return []x86.Mode{x86.Mode64}
}

// TestNative compares every form with the processor that the test runs on.
func TestNative(t *testing.T) {
	inChild(t, func(h *pair, features map[string]bool) { tryAll(t, h, features, modes(t, features)) })
}
