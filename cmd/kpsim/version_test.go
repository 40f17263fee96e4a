package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"kpsim/internal/cli"
)

func TestVersionJSON(t *testing.T) {
	var out, errs, flag bytes.Buffer
	if status := run([]string{"version", "--json"}, &out, &errs); status != cli.OK {
		t.Fatalf("status %d: %s", status, &errs)
	}
	var b map[string]any
	if err := json.Unmarshal(out.Bytes(), &b); err != nil || len(b) != 10 || b["source"] == "" || b["kpsim"] == nil || b["modules"] == nil || !strings.HasPrefix(b["go"].(string), "go1.") {
		t.Errorf("%v: %s", err, &out)
	}
	if modified, ok := b["modified"]; !ok || modified != nil { // go test notes no commit
		t.Errorf("modified: %v", modified)
	}
	out.Reset()
	if run([]string{"version"}, &out, &errs); run([]string{"--version"}, &flag, &errs) != cli.OK || flag.String() != out.String() {
		t.Errorf("--version prints\n%s, version\n%s", &flag, &out)
	}
}
