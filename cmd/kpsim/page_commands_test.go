package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var inline = regexp.MustCompile("`(?:go run ./cmd/)?kpsim ([^`]+)`")

// TestPageCommands: what prose says of a command is one.
func TestPageCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	pages = append(pages, "../../README.md", "../../CONTRIBUTING.md")
	n := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range inline.FindAllStringSubmatch(string(text), -1) {
			line, _, _ := strings.Cut(m[1], " > ")
			if strings.ContainsAny(line, "|(<…") {
				continue // more than a command, or the drawing of one
			}
			line = strings.TrimSuffix(line, " --help") // it ends the program
			_, err := newParser(verbs, io.Discard,
				io.Discard).Parse(strings.Fields(strings.ReplaceAll(line+" ", " N ", " 1 ")))
			if err != nil && (strings.HasPrefix(err.Error(), "expected ") || strings.Contains(err.Error(), "<EOL>")) {
				err = nil // its name alone, without what it is about
			}
			assert.NoError(t, err, "%s: %s", page, m[0])
			n++
		}
	}
	require.Greater(t, n, 30)
}
