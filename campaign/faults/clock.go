package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// clockVar is how many seconds a program's clock is ahead of the computer's.
const clockVar = "KPSIM_CLOCK"

// Go programs read the clock without libc, so libfaketime has no hold on them. Instead they are built with a time.Now
// that adds the offset from the environment. Everything in the process sees it: the NATS server, its client, and our
// code. Monotonic time is unchanged; between two computers it differs anyway, because it counts from the start of
// each.
const (
	clockIs     = "\tsec, nsec, mono := runtimeNow()\n"
	clockBecome = clockIs + "\tsec += clockAhead\n"
	clockFrom   = `
var clockAhead = func() (n int64) {
	s, _ := syscall.Getenv("` + clockVar + `")
	minus := len(s) > 0 && s[0] == '-'
	for _, c := range s {
		if c >= '0' && c <= '9' {
			n = 10*n + int64(c-'0')
		}
	}
	if minus {
		return -n
	}
	return n
}()
`
)

// overlay writes the overlay with which go build uses that time.Now, and returns its path.
func overlay(dir string) (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	path := filepath.Join(strings.TrimSpace(string(out)), "src", "time", "time.go")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	changed := strings.Replace(string(text), clockIs, clockBecome, 1)
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"syscall\"\n", 1)
	if strings.Count(changed, "clockAhead") != 1 || strings.Count(changed, `"syscall"`) != 1 {
		return "", fmt.Errorf("%s of %s reads the clock in a way that isn't known here", path, runtime.Version())
	}
	to := filepath.Join(dir, "time.go")
	if err := os.WriteFile(to, []byte(changed+clockFrom), 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: to}})
	if err != nil {
		return "", err
	}
	to = filepath.Join(dir, "overlay.json")
	return to, os.WriteFile(to, list, 0o600)
}

func clockEnv(ahead time.Duration) string {
	return fmt.Sprintf("%s=%d", clockVar, int64(ahead/time.Second))
}
