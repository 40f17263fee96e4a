package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kpsim/scripts/drawn-faults/on"
)

// A trial is the result of one search for one fault: a line of the results.
type trial struct {
	*Fault
	Search  string  `json:"search"`
	Far     string  `json:"far"`               // on.Reached, on.Changed, or neither: "never reached"
	How     string  `json:"how"`               // one of those below
	By      string  `json:"by,omitempty"`      // the property or scenario that noticed
	Shown   string  `json:"shown,omitempty"`   // a digest of the search's output, if it ended
	Seconds float64 `json:"seconds"`           // until it was noticed or the search ended
	Clean   []int   `json:"reached,omitempty"` // without a fault: the numbers of those reached
}

// How a search ended.
const (
	unnoticed = "not noticed"
	late      = "time is over" // not noticed within the limit
	violation = "violation"    // a property was broken that shouldn't be
	missing   = "missing"      // an expected violation, or a canary, wasn't found
	refused   = "refused"      // a scenario isn't run any more
	crash     = "crash"        // kpsim reports a bug of its own, or Go does
	status    = "status"       // against expectation, but no line says why
)

const neverReached = "never reached"

func (t *trial) noticed() bool { return t.How != unnoticed && t.How != late }

// search runs one search with fault n, or with none if n is negative, until something is
// noticed or the limit is over.
func (o *options) search(binary, args string, n int) (*trial, error) {
	dir, err := os.MkdirTemp("", "drawn-faults")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), o.Limit)
	defer cancel()
	words := append(strings.Fields(args), "--json", "--workers", "1", "--traces", filepath.Join(dir, "traces"))
	cmd := exec.CommandContext(ctx, "sh",
		append([]string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, o.Memory<<10), binary}, words...)...)
	note := filepath.Join(dir, "note")
	chosen := on.None
	if n >= 0 {
		chosen = fmt.Sprint(n)
	}
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", on.Note+"="+note, on.Chosen+"="+chosen)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &trial{Search: args, How: unnoticed, Far: neverReached}
	if t.How, t.By, t.Shown = first(out); t.How != unnoticed {
		t.Seconds = time.Since(began).Seconds()
		cancel()
	}
	err = cmd.Wait()
	if t.Seconds == 0 {
		t.Seconds = time.Since(began).Seconds()
	}
	var exit *exec.ExitError
	switch {
	case t.How != unnoticed:
	case ctx.Err() != nil:
		t.How, t.Shown = late, ""
	case errors.As(err, &exit):
		t.How, t.By = ended(exit.ExitCode(), said.String())
	case err != nil:
		return nil, err
	}
	far, err := os.ReadFile(note)
	switch {
	case err != nil:
	case n >= 0:
		t.Far = string(far)
	default:
		for _, l := range strings.Fields(string(far)) {
			n, err := strconv.Atoi(l)
			if err != nil {
				return nil, err
			}
			t.Clean = append(t.Clean, n)
		}
	}
	return t, nil
}

// ended says what an exit status and standard error mean.
func ended(code int, said string) (how, by string) {
	for _, l := range strings.Split(said, "\n") {
		if strings.Contains(l, "bug of the simulator") || strings.HasPrefix(l, "panic:") ||
			strings.HasPrefix(l, "fatal error:") {
			return crash, line(l)
		}
	}
	switch code {
	case 1:
		return status, "exit status 1"
	case 2:
		lines := strings.Split(strings.TrimSpace(said), "\n")
		return refused, line(lines[len(lines)-1])
	}
	return crash, fmt.Sprintf("exit status %d", code)
}

// A row is a line of the searches' JSON, as far as it matters.
type row struct {
	Scenario    string            `json:"scenario"`
	Edition     string            `json:"edition"`
	Preempt     string            `json:"preempt"`
	Property    string            `json:"property"`
	Observation string            `json:"observation"`
	Expected    *bool             `json:"expected"`
	Reason      string            `json:"reason"`
	Violations  uint64            `json:"violations"`
	Broken      map[string]uint64 `json:"broken"`
	Seed        *uint64           `json:"seed"`
	Program     string            `json:"program"`
	Seeds       []uint64          `json:"seeds"`
	Trace       string            `json:"trace"`
}

// first reads lines until one is against expectation, and returns how; otherwise it returns a digest of all lines
// without times and names of files.
func first(out io.Reader) (how, by, shown string) {
	all := fnv.New64a()
	in := bufio.NewScanner(out)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var r row
		if json.Unmarshal(in.Bytes(), &r) != nil {
			continue
		}
		if how, by := r.against(); how != "" {
			return how, by, ""
		}
		var any map[string]json.RawMessage
		if json.Unmarshal(in.Bytes(), &any) != nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(any)) {
			if key != "schedules_per_s" && key != "trace" && key != "older_traces" {
				fmt.Fprintf(all, "%s %s\n", key, any[key])
			}
		}
	}
	return unnoticed, "", fmt.Sprintf("%016x", all.Sum64())
}

// against returns how a row is against expectation, "" if it isn't.
func (r *row) against() (how, by string) {
	switch {
	case r.Expected != nil && *r.Expected:
	case r.Expected != nil && r.Observation == "Sometimes":
		return violation, r.Scenario + ": " + r.Property
	case r.Expected != nil:
		return missing, fmt.Sprintf("%s: %s: %s", r.Scenario, r.Property, r.Reason)
	case r.Program != "" && r.Property != "":
		return violation, r.Program + ": " + r.Property
	case r.Seed != nil && r.Property != "":
		return violation, fmt.Sprintf("seed %d: %s", *r.Seed, r.Property)
	case r.Violations > 0:
		where := strings.TrimSpace(r.Edition + " " + r.Preempt)
		if len(r.Seeds) > 0 {
			where = fmt.Sprintf("%s seed %d", where, r.Seeds[0])
		}
		var names []string
		for name := range r.Broken {
			names = append(names, name)
		}
		if len(names) > 1 {
			names = []string{fmt.Sprintf("%d properties", len(names))}
		}
		return violation, where + ": " + strings.Join(names, "")
	}
	return "", ""
}
