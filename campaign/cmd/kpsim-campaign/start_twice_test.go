package main

import (
	"io"
	"testing"

	"github.com/alecthomas/kong"

	"kpsim/internal/testkit/flagstest"
)

// A flag that is given twice is refused, or both of its values are taken.
func TestTwice(t *testing.T) {
	parser := func() *kong.Kong { return newParser(new(commands), io.Discard, io.Discard) }
	flagstest.Twice(t, parser().Model.Node, func(args []string) (*kong.Context, error) { return parser().Parse(args) })
}
