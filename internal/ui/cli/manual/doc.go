// Package manual makes the man pages of kpsim from the model of the command line, as --help does.
// So a page can't lag behind the program.
//
// What it is: Pages returns a page for the program and for each command that --help lists; Page
// returns one. A command's help is divided into sections by its words: "Examples:" begins one,
// "Exit status" another. Indented lines are kept, unless all of them have two columns, which
// become a list.
//
// What it is not: it knows no command. A man page has no text that --help lacks, except the names
// of other pages.
//
// Its rule: a page is plain ASCII, in the macros of man(7), and passes groff and mandoc without
// warnings. The same model, date and version give the same bytes.
//
// Its limits: help with another layout becomes one long DESCRIPTION.
package manual
