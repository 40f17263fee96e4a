package flags

import (
	"slices"

	"github.com/alecthomas/kong"
)

// Meant translates habits of other programs to kpsim's command line: help explore, explore help,
// explore -help, -v.
func Meant(at *kong.Node, args []string) []string {
	if len(args) == 0 {
		return args
	}
	before, last := args[:len(args)-1], args[len(args)-1]
	switch {
	case len(args) == 1 && slices.Contains([]string{"--version", "-version", "-v", "-V"}, last):
		return []string{"version"}
	case args[0] == "help":
		words := slices.DeleteFunc(slices.Clone(args), func(w string) bool { return w == "help" })
		return append(words, "--help")
	case last == "-help", last == "help" && onlyCommands(at, before):
		return append(slices.Clone(before), "--help")
	}
	return args
}

func onlyCommands(at *kong.Node, words []string) bool {
	for _, w := range words {
		if at = child(at, w); at == nil {
			return false
		}
	}
	return true
}
