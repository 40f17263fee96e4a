package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/ui/cli"
	"kpsim/internal/version"
)

func TestVersionJSON(t *testing.T) {
	var out, errs, flag bytes.Buffer
	if status := run([]string{"version", "--json"}, &out, &errs); status != cli.OK {
		t.Fatalf("status %d: %s", status, &errs)
	}
	var b map[string]any
	if err := json.Unmarshal(out.Bytes(), &b); err != nil || len(b) != 10 || b["source"] == "" || b["modules"] == nil ||
		!strings.HasPrefix(b["go"].(string), "go1.") {
		t.Errorf("%v: %s", err, &out)
	}
	// What is known depends on how the test was built, that all of it is said doesn't.
	said, err := json.Marshal(map[string]any{"version": b["version"], "commit": b["commit"], "modified": b["modified"],
		"source": b["source"]})
	if err != nil {
		t.Fatal(err)
	}
	known, err := json.Marshal(version.This())
	if err != nil {
		t.Fatal(err)
	}
	named, err := json.Marshal(b["kpsim"])
	if err != nil {
		t.Fatal(err)
	}
	require.JSONEq(t, string(known), string(said))
	require.JSONEq(t, string(known), string(named))
	out.Reset()
	if run([]string{"version"}, &out, &errs); run([]string{"--version"}, &flag, &errs) != cli.OK ||
		flag.String() != out.String() {
		t.Errorf("--version prints\n%s, version\n%s", &flag, &out)
	}
}
